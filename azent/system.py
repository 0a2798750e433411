"""The system text of an agent: a text, or a function that makes it of the run's context."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeAlias

from azent.arguments import sendable, text
from azent.messages import Context

System: TypeAlias = str | Callable[..., str]


def system_text(system: System, context: object) -> str:
    """Return the system text of a run; a function may take the context's value.

    Raises UsageError for a text that cannot be sent.
    """
    if callable(system):
        value = context.value if isinstance(context, Context) else context
        made = system(value) if _takes_any(system) else system()
        return sendable("the system text", text("what the function `system` returned", made))
    return sendable("the system text", system)


def _takes_any(function: Callable[..., str]) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except ValueError:  # some builtins do not tell what they take
        return True
