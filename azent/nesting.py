"""Agents as tools of agents: the limit on their depth, and their default description."""

from __future__ import annotations

import contextvars

from azent.errors import ToolFailed
from azent.toolbox import Toolbox

DEEPEST = 5

_depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth", default=0)


class one_deeper:
    """A context manager that counts nested agents. Raises ToolFailed at the limit."""

    def __enter__(self) -> None:
        if _depth.get() >= DEEPEST:
            raise ToolFailed(f"agents within agents end at a depth of {DEEPEST}")
        self._token = _depth.set(_depth.get() + 1)

    def __exit__(self, *_: object) -> None:
        _depth.reset(self._token)


def about(toolbox: Toolbox) -> str:
    """Return the default description of an agent that is offered as a tool."""
    able = ", ".join(tool.name for tool in toolbox)
    return f"Ask an assistant that has these functions: {able}." if able else "Ask an assistant."
