"""Draw docs/ask.svg: a terminal on which `azent ask` has answered.

    python scripts/picture.py

The command runs for real, on a pseudo-terminal; only the model follows a script.
"""

from __future__ import annotations

import io
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.scripted_ollama import ScriptedOllama
from tests.terminal import ROOT, TIMES, Terminal

PICTURE = ROOT / "docs" / "ask.svg"
COLUMNS = 80
QUESTION = "What is (2123 + 2321) * 312?"
ADD = '{"tools": [{"tool": "add", "tool_input": {"a": 2123, "b": 2321}}]}'
MULTIPLY = '{"tools": [{"tool": "multiply", "tool_input": {"a": 4444, "b": 312}}]}'
ANSWER = "The sum is 4444, and **4444 * 312 = 1,386,528**."
COLOURS = {"brown": "yellow", "default": None}  # what pyte calls otherwise than rich


def main() -> None:
    """Draw the picture."""
    PICTURE.write_text(drawn(), "utf-8")


def drawn() -> str:
    """The picture as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    tools = str(ROOT / "examples" / "arithmetic.py")
    console.print(Text(f'$ azent ask "{QUESTION}" -t examples/arithmetic.py', "bold"))
    script = (ADD, MULTIPLY, '{"tools": []}', ANSWER)
    with ScriptedOllama(*script) as server, tempfile.TemporaryDirectory() as folder:
        arguments = ["ask", QUESTION, "-m", "scripted", "-t", tools]
        with Terminal(arguments, server.url, Path(folder), columns=COLUMNS) as terminal:
            terminal.end()
    for line in lines_of(terminal):
        console.print(line)
    return console.export_svg(title="azent", unique_id="azent")


def lines_of(terminal: Terminal) -> list[Text]:
    """The lines of a screen with their colours, without the time that calls took."""
    rows = [row for row in terminal.rows() if "".join(cell.data for cell in row).strip()]
    return [_line(row) for row in rows]


def _line(row: list[Any]) -> Text:
    line = Text()
    for (colour, bold), cells in groupby(row, lambda cell: (cell.fg, cell.bold)):
        words = TIMES.sub("0.0 s", "".join(cell.data for cell in cells))
        line.append(words, Style(color=COLOURS.get(colour, colour), bold=bold))
    line.rstrip()
    return line


if __name__ == "__main__":
    main()
