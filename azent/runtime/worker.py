"""Read one call, run it in this isolated process, and write the outcome.

The process exits when its standard input is closed, because the process that started it has ended.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Literal

MAIN = "__mp_main__"  # the name that a script is loaded by, as in multiprocessing
LOADING = "__azent_loading__"  # true in a script while it is being loaded

Outcome = tuple[Literal["returned", "raised", "failed"], Any]


def send(pipe: IO[bytes], payload: bytes) -> None:
    """Write a payload, with its length first so that the reader knows where it ends."""
    pipe.write(struct.pack(">Q", len(payload)) + payload)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Read and return one payload, b"" if the pipe was closed."""
    length = pipe.read(8)
    return pipe.read(struct.unpack(">Q", length)[0]) if len(length) == 8 else b""


def main() -> None:
    """Run the call from standard input, write its outcome, and exit."""
    request, answer = _own_pipes()
    where, call = pickle.loads(receive(request))
    _die_with_parent(request, answer)
    send(answer, _pickled(_outcome(where, call)))
    os._exit(0)  # do not wait for threads that the function left behind


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Return standard input and output for the worker's own use.

    The function that runs gets an empty standard input, and standard error as its output.
    """
    request, answer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return os.fdopen(request, "rb"), os.fdopen(answer, "wb")


def _outcome(where: Mapping[str, Any], call: bytes) -> Outcome:
    from azent.errors import ToolFailed
    from azent.runtime.outcomes import complete
    from azent.values.results import text_of

    try:
        _load(where)
        return "returned", complete(pickle.loads(call))
    except ToolFailed as error:
        return "failed", str(error)
    except Exception as error:
        return "raised", text_of(error)
    except BaseException as error:  # an exit is deliberate, so there is no retry
        return "failed", text_of(error)


def _pickled(outcome: Outcome) -> bytes:
    """Pickle an outcome; a value that cannot be pickled is replaced by its text."""
    from azent.values.results import text_of

    try:
        return pickle.dumps(outcome)
    except Exception:
        return pickle.dumps((outcome[0], text_of(outcome[1])))


def _load(where: Mapping[str, Any]) -> None:
    """Load the module that defines the function."""
    name, file = where["name"], where["file"]
    if name == "__main__":
        _load_script(file, where["package"])
        return
    if file is not None:
        _import_root(name, Path(file))
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        if file is None:
            raise
        _load_file(name, file)


def _import_root(name: str, file: Path) -> None:
    """Import the outermost package of a module from the folder that it was found in.

    So a module of the current folder is found although that is not on the search path. The folder
    is appended to the path, so that nothing in it can replace another module.
    """
    outermost, *inner = name.split(".")
    level = len(inner) + (file.stem == "__init__")
    folders = [str(folder) for folder in file.parents][level : level + 1]
    spec = PathFinder.find_spec(outermost, folders)
    if outermost in sys.modules or spec is None:
        return
    sys.path += folders
    module = importlib.util.module_from_spec(spec)
    sys.modules[outermost] = module
    if spec.loader is not None:  # it is None for a folder without __init__.py
        spec.loader.exec_module(module)


def _load_script(file: str, package: str | None) -> None:
    """Run a script up to its `__main__` guard; an error after the function is harmless."""
    module = ModuleType(MAIN)
    module.__file__, module.__package__ = file, package
    sys.modules[MAIN] = sys.modules["__main__"] = module
    setattr(module, LOADING, True)
    try:
        code = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
        exec(code, vars(module))
    except Exception as error:
        print(f"loading {file}: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        delattr(module, LOADING)


def _load_file(name: str, file: str) -> None:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(Path(file).parent))  # its own neighbours import as in a script
    spec.loader.exec_module(module)


if sys.platform == "win32":

    def _die_with_parent(request: IO[bytes], answer: IO[bytes]) -> None:
        """Start a thread that ends this process when the one that started it ends."""
        threading.Thread(target=_wait_for_end, args=(request,), daemon=True).start()

    def _wait_for_end(request: IO[bytes]) -> None:
        request.read(1)
        os._exit(1)

else:

    def _die_with_parent(request: IO[bytes], answer: IO[bytes]) -> None:
        """Start a watcher that ends this process and its children when the parent ends.

        The watcher is a process, because a function in C may block every thread of this one.
        """
        if os.fork():
            return
        answer.close()
        request.read(1)
        os.killpg(0, signal.SIGKILL)
