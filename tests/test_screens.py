"""What stands on the screen at 60, 80 and 120 columns, kept in `tests/screens` to be compared.

AZENT_SCREENS=write pytest tests/test_screens.py writes them anew: look at the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from azent.cli.live import finished_blocks
from tests.scripted_ollama import Say, ScriptedOllama
from tests.terminal import Terminal

SCREENS = Path(__file__).parent / "screens"
WRITE = os.environ.get("AZENT_SCREENS") == "write"  # read before the tests' own world begins
CALLS = (
    '{"tools": [{"tool": "get_weather", "tool_input": {"location": "London, UK"}},'
    ' {"tool": "get_weather", "tool_input": {"location": "\\u001b[2J[red]Reykjavík[/red] 北京"}}]}'
)
WRONG = '{"tools": [{"tool": "get_weather", "tool_input": {"place": "London, UK"}}]}'
ANSWER = """# The weather

In **London** it is *12 °C* with light rain, <b>there</b> it is [sunny](http://example.org/sun). \
北京的天气很好。 \x1b[31mRed\x1b[0m [red]markup[/red] :smile:

- London: `12 °C`
- 北京: `18 °C`

| city | °C |
|---|--:|
| London | 12 |

```python
print("first")

print("second")
```

The end.
"""
TOOLS = """
import azent

@azent.tool(serial=True)
def get_weather(location: str) -> str:
    "Get the current weather at a location."
    return "12 °C and light rain" if location == "London, UK" else "18 °C and sunny"
"""
ASK = ["ask", "-m", "scripted", "The weather?", "-t", "weather.py"]
WIDTHS = [60, 80, 120]


@pytest.fixture(autouse=True)
def _weather(tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text(TOOLS, "utf-8")


def compare(name: str, seen: str) -> None:
    file = SCREENS / f"{name}.txt"
    if WRITE:
        file.write_text(seen, "utf-8")
    assert seen == file.read_text("utf-8")


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_answer(columns: int, tmp_path: Path) -> None:
    script = (WRONG, Say(CALLS, before=0.6, pause=0.01), '{"tools": []}', Say(ANSWER, pause=0.01))
    with ScriptedOllama(*script) as server:
        with Terminal(ASK, server.url, tmp_path, columns=columns) as terminal:
            terminal.wait_for("reading about")
            assert terminal.end() == 0
        compare(f"ask-{columns}", terminal.screen())


@pytest.mark.parametrize("columns", WIDTHS)
def test_models(columns: int, tmp_path: Path) -> None:
    names = ("qwen2.5-coder:1.5b", "hf.co/somebody/A-Rather-Long-Name-GGUF:Q4_K_M")
    with (
        ScriptedOllama("", models=names) as server,
        Terminal(
            ["models", "list"],
            server.url,
            tmp_path,
            columns=columns,
            env={"AZENT_ENCODER": "none"},
        ) as terminal,
    ):
        assert terminal.end() == 0
    compare(f"models-{columns}", terminal.screen())


def test_without_colours(tmp_path: Path) -> None:
    with (
        ScriptedOllama(CALLS, '{"tools": []}', "Done.") as server,
        Terminal(ASK, server.url, tmp_path, env={"NO_COLOR": "1"}) as terminal,
    ):
        assert terminal.end() == 0
    assert b"\x1b[31m" not in terminal.sent
    assert b"\x1b[36m" not in terminal.sent
    assert "Done." in terminal.screen()


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path) -> None:
    with (
        ScriptedOllama(CALLS, '{"tools": []}', "*Done*.") as server,
        Terminal(ASK, server.url, tmp_path, env={"TERM": "dumb"}) as terminal,
    ):
        assert terminal.end() == 0
    assert b"\x1b" not in terminal.sent
    assert "*Done*." in terminal.screen()


def test_an_answer_taller_than_the_screen(tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(100))
    with ScriptedOllama(Say(f"```\n{lines}\n```\n", pause=0.002)) as server:
        arguments = ["ask", "-m", "scripted", "Count", "--no-tools"]
        with Terminal(arguments, server.url, tmp_path) as terminal:
            assert terminal.end() == 0
    shown = [line.strip() for line in terminal.everything().splitlines() if "line " in line]
    assert shown == lines.splitlines()


def test_ctrl_c_leaves_the_screen_in_order(tmp_path: Path) -> None:
    with ScriptedOllama(Say(pieces=["slow "] * 1000, pause=0.05)) as server:
        arguments = ["ask", "-m", "scripted", "Hi", "--no-tools"]
        with Terminal(arguments, server.url, tmp_path) as terminal:
            terminal.wait_for("slow")
            terminal.interrupt()
            assert terminal.end() == 130
            assert server.saw_disconnect()
    assert terminal.screen().splitlines()[-1] == "azent: interrupted"
    assert terminal.sent.rindex(b"\x1b[?25h") > terminal.sent.rindex(b"\x1b[?25l")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", ""),
        ("one", ""),
        ("one\n\n", ""),
        ("one\n\ntwo", "one\n\n"),
        ("one\n\ntwo words", "one\n\n"),
        ("one\n\ntwo\n\nthree x", "one\n\ntwo\n\n"),
        ("```\na\n\nb", ""),
        ("```\na\n\nb\n```\n\nc d", "```\na\n\nb\n```\n\n"),
        ("~~~\n```\n\nb c\n", ""),
        ("- a\n\n- b c", ""),
        ("- a\n\n-", ""),
        ("1. a\n\n2. b c", ""),
        ("1. a\n\n   b c", ""),
        ("- a\n\nb c", "- a\n\n"),
    ],
)
def test_what_is_whole_of_an_answer(text: str, whole: str) -> None:
    assert text[: finished_blocks(text)] == whole
