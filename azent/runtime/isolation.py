"""Run a call in a process of its own, which can be killed and dies with this one.

The process is a fresh interpreter (see `worker`), not a fork: a forked copy of a process with
threads may deadlock on a lock that one of them held. So it has to find the function again: it
imports the function's module, or runs the module's file if that cannot be imported by name. The
payload is sent over standard input, which stays open as long as this process lives; the outcome
comes back over standard output.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from azent.errors import SchemaError, ToolFailed, UsageError
from azent.runtime.outcomes import RemoteError
from azent.runtime.worker import LOADING, MAIN, receive, send
from azent.tools.tool import Tool

HINT = "Define it at the top level of a module, where another process can import it."


class Isolated:
    """A function with its arguments, to be run in a process of its own."""

    def __init__(self, function: partial[Any]) -> None:
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self) -> Any:
        """Run the function and return its value.

        Raises ToolFailed if the function did, and RemoteError for any other exception.
        """
        payload = _payload(self._function)
        process = self._start()
        with process:
            answer = _exchange(process, payload)
            self.stop()  # and whatever it has started
        if not answer:
            raise RemoteError(_exit_reason(process.returncode))
        kind, value = _Unpickler.loads(answer)
        if kind == "returned":
            return value
        raise ToolFailed(value) if kind == "failed" else RemoteError(value)

    def stop(self) -> None:
        """Kill the process and all processes that it started."""
        with self._lock:
            self._stopped = True
            process, self._process = self._process, None
            if process is not None:
                _kill(process)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise ToolFailed("it was stopped")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _boot()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # so that Ctrl-C and its grandchildren are ours to handle
            )
            return self._process


def _boot() -> str:
    """Return the code that the process starts with, which sets this process's `sys.path`.

    Relative entries are left out, because anyone may have put modules into the current folder.
    """
    places = [place for place in sys.path if os.path.isabs(place)]
    places.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return f"import sys; sys.path[:] = {places!r}; from azent.runtime.worker import main; main()"


def check_isolation(function: Any) -> None:
    """Raise SchemaError for a function that another process could not import."""
    try:
        pickle.dumps(function)
    except Exception as error:
        raise SchemaError(f"{function!r} cannot run in a process of its own", HINT) from error
    name = _module_of(function)
    if name == "__main__" and getattr(sys.modules[name], "__file__", None) is None:
        raise SchemaError(f"{function!r} is defined in no file", HINT)


def refuse_while_loading() -> None:
    """Raise UsageError if this script is only loaded to find a function in it."""
    if getattr(sys.modules["__main__"], LOADING, False):
        raise UsageError(
            "this script was only to be loaded, for a function of it that runs isolated",
            'Put what the script does under `if __name__ == "__main__":`.',
        )


def _payload(function: partial[Any]) -> bytes:
    name = _module_of(function.func)
    module = sys.modules[name]
    spec = getattr(module, "__spec__", None)
    file = getattr(module, "__file__", None)
    where = {
        "name": name,
        "file": file and os.path.abspath(file),
        "package": spec.parent if spec else getattr(module, "__package__", None),
    }
    return pickle.dumps((where, pickle.dumps(function)))


def _module_of(function: Any) -> str:
    """Return the name of the module that defines a callable."""
    while isinstance(function, partial):
        function = function.func
    owner = function if hasattr(function, "__qualname__") else type(function)
    return str(owner.__module__)


def _exchange(process: subprocess.Popen[bytes], payload: bytes) -> bytes:
    """Send a payload to a process and return its answer, b"" if it died."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        send(process.stdin, payload)
    except BrokenPipeError:
        return b""
    return receive(process.stdout)


def _exit_reason(code: int) -> str:
    """Describe how a process ended that sent no answer."""
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


class _Unpickler(pickle.Unpickler):
    """An unpickler that finds the classes of a script, which the worker loads as `MAIN`."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class("__main__" if module == MAIN else module, name)

    @classmethod
    def loads(cls, data: bytes) -> Any:
        return cls(io.BytesIO(data)).load()


if sys.platform == "win32":

    def _kill(process: subprocess.Popen[bytes]) -> None:
        process.kill()

else:

    def _kill(process: subprocess.Popen[bytes]) -> None:
        """Kill its group, in which its watcher is left when it has ended by itself."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


# ---- tools that are sent to other processes ------------------------------------------------------

Dumps: TypeAlias = Callable[[object], bytes]
SENDABLE_HINT = (
    "Let it hold no open files, locks or connections, and define it where they can import it."
)


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
            message = f"{tool.name} cannot be sent to another process: {error}"
            raise SchemaError(message, SENDABLE_HINT) from error


def _dumps_of(executor: Executor | None) -> Dumps | None:
    """Return the pickling function of an executor, None if it runs in this process."""
    if isinstance(executor, ProcessPoolExecutor):
        return pickle.dumps
    if type(executor).__module__.partition(".")[0] == "distributed":
        import cloudpickle

        dumps: Dumps = cloudpickle.dumps
        return dumps
    return None
