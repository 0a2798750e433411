"""How far one question travels through azent: modules, calls, and changes from module to module.

    python benchmarks/path.py

A question with one call and its answer is asked of `Scripted`; then one clean protocol reply is
read. Counted are the calls of azent's own functions, the modules that they are in, and how often a
call goes from one module into another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import azent

PACKAGE = str(Path(azent.__file__).parent)
CALL = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
ANSWER = '{"answer": "5"}'


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main() -> None:
    tell("one call and its answer", ask)
    tell("one clean reply, read", lambda: azent.read_reply(CALL, [add]))


def ask() -> None:
    model = azent.Scripted(CALL, ANSWER)
    azent.Agent(model, [add], prompts="default", encoder=None).ask("What is 2 + 3?")


def tell(what: str, action: Callable[[], Any]) -> None:
    """Print the counts of an action that ran once before, so that first-time work is left out."""
    action()
    modules: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE):
            modules.append(file)

    sys.setprofile(note)
    action()
    sys.setprofile(None)
    changes = sum(one != other for one, other in pairwise(modules))
    print(f"{what}: {len(set(modules))} modules, {len(modules)} calls, {changes} changes of module")


if __name__ == "__main__":
    main()
