"""What the tests of reading share: the tools of the cases, and what a reply came to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from azent.messages import Reply, Spec, Specs

CASES = Path(__file__).resolve().parent / "cases"
TOOLS: dict[str, Spec] = json.loads((CASES / "tools.json").read_text("utf-8"))
Outcome = list[Any] | str


def specs(*names: str) -> Specs:
    """The tools of these names; all of them where none is named."""
    return {name: TOOLS[name] for name in names or TOOLS}


def outcome(reply: Reply) -> Outcome:
    """A reply as a case writes it: a list of [tool, input or problem], "none", or "error:..."."""
    if not reply.calls:
        return f"error:{reply.problem.kind}" if reply.problem else "none"
    return [
        [call.tool, f"error:{call.problem.kind}" if call.problem else call.tool_input]
        for call in reply.calls
    ]


def kinds(reply: Reply) -> set[str]:
    """The kinds of all problems of a reply and of its calls."""
    problems = [reply.problem, *(call.problem for call in reply.calls)]
    return {str(problem.kind) for problem in problems if problem}


def legal(reply: Reply) -> list[str]:
    """The names of the calls that would run."""
    return [call.tool for call in reply.calls if call.problem is None]
