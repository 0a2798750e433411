"""Agents within agents: how deep they go, and what one is said to be good for."""

from __future__ import annotations

import contextvars

from azent.errors import ToolFailed
from azent.toolbox import Toolbox

DEEPEST = 5

_depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth", default=0)


class one_deeper:
    """While it is entered, agents that are asked are one deeper. Raises ToolFailed at the end."""

    def __enter__(self) -> None:
        if _depth.get() >= DEEPEST:
            raise ToolFailed(f"agents within agents end at a depth of {DEEPEST}")
        self._token = _depth.set(_depth.get() + 1)

    def __exit__(self, *_: object) -> None:
        _depth.reset(self._token)


def about(toolbox: Toolbox) -> str:
    """A few words on an agent, for the one that may ask it."""
    able = ", ".join(tool.name for tool in toolbox)
    return f"Ask an assistant that has these functions: {able}." if able else "Ask an assistant."
