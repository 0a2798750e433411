"""Checks that an executor can send functions to its processes, before the first call does."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import TypeAlias

from azent.errors import SchemaError, UsageError
from azent.tools import Tool

Dumps: TypeAlias = Callable[[object], bytes]
HINT = "Let it hold no open files, locks or connections, and define it where they can import it."


def check_executor(executor: Executor | None, tools: Iterable[Tool]) -> None:
    """Check that an executor can run the tools.

    Raises SchemaError that names a tool which cannot be sent to the executor's processes, and
    UsageError for an object that is not an executor.
    """
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise UsageError(f"executor is {executor!r}", "Give a concurrent.futures.Executor.")
    dumps = _dumps_of(executor)
    if dumps is not None:
        check_sendable(dumps, tools)


def check_sendable(dumps: Dumps, tools: Iterable[Tool]) -> None:
    """Raise SchemaError that names the first tool which cannot be pickled by `dumps`."""
    for tool in tools:
        try:
            dumps(tool.function)
        except Exception as error:
            said = f"{tool.name} cannot be sent to another process: {error}"
            raise SchemaError(said, HINT) from error


def _dumps_of(executor: Executor | None) -> Dumps | None:
    """Return the pickling function of an executor, None if it runs in this process."""
    if isinstance(executor, ProcessPoolExecutor):
        return pickle.dumps
    if type(executor).__module__.partition(".")[0] == "distributed":
        import cloudpickle

        dumps: Dumps = cloudpickle.dumps
        return dumps
    return None
