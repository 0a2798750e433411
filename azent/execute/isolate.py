"""A call in a process of its own, which can be killed, and which dies with this one.

The process is a fresh interpreter (`worker`), not a fork: a copy of a process with threads may hang
on any lock that one of them held. So it has to find the function again: it imports the function's
module, or runs the module's file where that is not importable by name. The payload goes in by its
standard input, which stays open for as long as this process lives; the outcome comes back by its
standard output.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import Any

from azent.errors import SchemaError, ToolFailed, UsageError
from azent.execute.outcome import Told
from azent.execute.worker import LOADING, MAIN, receive, send

HINT = "Define it at the top level of a module, where another process can import it."


class Isolated:
    """A function with its arguments, run in a process of its own."""

    def __init__(self, function: partial[Any]) -> None:
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self) -> Any:
        """What the function returns. Raises ToolFailed where it did, Told for all else."""
        payload = _payload(self._function)
        process = self._start()
        with process:
            said = _exchange(process, payload)
            self.stop()  # and whatever it has started
        if not said:
            raise Told(_ending(process.returncode))
        kind, value = _Unpickler.loads(said)
        if kind == "returned":
            return value
        raise ToolFailed(value) if kind == "failed" else Told(value)

    def stop(self) -> None:
        """Kill the process, and those that it started."""
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
    """The code that the process begins with: it finds modules where this process does.

    Only not in the current folder, where anyone may have put some: what depends on it is left out.
    """
    places = [place for place in sys.path if os.path.isabs(place)]
    places.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return f"import sys; sys.path[:] = {places!r}; from azent.execute.worker import main; main()"


def check_isolation(function: Any) -> None:
    """Raise SchemaError for a function that no other process could find."""
    try:
        pickle.dumps(function)
    except Exception as error:
        raise SchemaError(f"{function!r} cannot run in a process of its own", HINT) from error
    name = _module_of(function)
    if name == "__main__" and getattr(sys.modules[name], "__file__", None) is None:
        raise SchemaError(f"{function!r} is defined in no file", HINT)


def refuse_while_loading() -> None:
    """Raise UsageError in a script that is only being loaded, to find a function in it."""
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
    """The name of the module that a callable is found in."""
    while isinstance(function, partial):
        function = function.func
    owner = function if hasattr(function, "__qualname__") else type(function)
    return str(owner.__module__)


def _exchange(process: subprocess.Popen[bytes], payload: bytes) -> bytes:
    """Give a process its payload, and take what it says; nothing where it died."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        send(process.stdin, payload)
    except BrokenPipeError:
        return b""
    return receive(process.stdout)


def _ending(code: int) -> str:
    """In words, how a process ended that said nothing."""
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


class _Unpickler(pickle.Unpickler):
    """Finds the classes of a script, which the worker knows by another name."""

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
