"""Load tools from a Python file, a module, or one function of either.

Loading a file of tools runs it. It offers its `__all__`, else its `@tool` functions, else every
public function that is defined (not imported) in it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import itertools
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from azent.errors import ToolsFileError
from azent.tools.tool import options_of

Function = Callable[..., Any]

IN_A_FILE = "azent_tools_"  # the prefix of the module names of tools files


def load_tools(source: str) -> list[Function]:
    """Return the functions of "file.py", "package.module", "file.py:name" or "module:name".

    Raises ToolsFileError if it is missing, does not import, or offers no function.
    """
    place, wanted = _split(source)
    module = _module(place)
    if wanted:
        return [_named(module, name, source) for name in wanted.split(",")]
    found = offered(module, source)
    if not found:
        hint = "Define a function in it, or name its tools in __all__."
        raise ToolsFileError(f"{source} has no functions to offer", hint)
    return found


def offered(module: ModuleType, source: str = "") -> list[Function]:
    """Return the functions that a module offers as tools, in the order of their definitions.

    Raises ToolsFileError that names `source`, for an `__all__` with other things than functions.
    """
    source, named = source or module.__name__, getattr(module, "__all__", None)
    if named is not None:
        return [_named(module, name, source) for name in _names(named, source)]
    members = [value for name, value in vars(module).items() if not name.startswith("_")]
    marked = [value for value in members if callable(value) and options_of(value)]
    own = [value for value in members if _is_own(value, module)]
    return marked or own


def _names(given: Any, source: str) -> Iterable[str]:
    if isinstance(given, list | tuple) and all(isinstance(each, str) for each in given):
        return given
    hint = 'It is a list of names: __all__ = ["first", "second"].'
    raise ToolsFileError(f"{source}: __all__ is {given!r}", hint)


def _split(source: str) -> tuple[str, str]:
    """Split a source at its last colon, except the colon of a drive (C:\\x.py)."""
    place, colon, names = source.rpartition(":")
    return (place, names) if colon and len(place) > 1 and "\\" not in names else (source, "")


def _named(module: ModuleType, name: str, source: str) -> Function:
    function: Function | None = getattr(module, name.strip(), None)
    if callable(function):
        return function
    own = [n for n, value in vars(module).items() if n[:1] != "_" and _is_own(value, module)]
    hint = f"Functions: {', '.join(own) or 'none'}."
    raise ToolsFileError(f"{source}: there is no function {name!r}", hint)


def _is_own(value: Any, module: ModuleType) -> bool:
    """Return whether a function is defined in the module, not imported."""
    return inspect.isfunction(value) and value.__module__ == module.__name__


def _module(place: str) -> ModuleType:
    path = Path(place).expanduser()
    if path.suffix == ".py" or path.exists():
        return _from_file(path)
    with _plain_errors(place):
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if f"{place}.".startswith(f"{error.name}."):
                hint = "Name a Python file of functions, or a module."
                raise ToolsFileError(f"there is no file or module {place!r}", hint) from error
            raise


def _from_file(path: Path) -> ModuleType:
    if path.is_dir():
        raise ToolsFileError(f"{path} is a folder", "Name a Python file of functions in it.")
    if not path.is_file():
        raise ToolsFileError(f"there is no file {path}", "Name a Python file of functions.")
    name = _free_name(f"{IN_A_FILE}{path.stem}")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise ToolsFileError(f"{path} is not a Python file", "A file of tools ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look a function's module up there
    sys.path.insert(0, str(path.resolve().parent))  # its own neighbours import as in a script
    try:
        with _plain_errors(str(path)):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def _free_name(name: str) -> str:
    """Return a module name that is not in use; earlier functions still look theirs up."""
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in sys.modules)


@contextmanager
def _plain_errors(place: str) -> Iterator[None]:
    """Turn any exception of a file of tools into one ToolsFileError."""
    try:
        yield
    except ToolsFileError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}{_last_line(error, place)}"
        hint = "It is run as it is, so it must import without arguments."
        raise ToolsFileError(f"{place} does not import: {reason}", hint) from error


def _last_line(error: BaseException, place: str) -> str:
    """Return the line of the file where an error happened, as " (line 3)", or ""."""
    if isinstance(error, SyntaxError):
        return ""
    wanted = str(Path(place).resolve())
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == wanted]
    return f" (line {lines[-1]})" if lines else ""
