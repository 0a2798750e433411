"""Resolve annotations given as strings and forward references.

Names are looked up as Python does: in the function's closure, among the locals of enclosing
functions that still run, then in its module.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An annotation with a name that cannot be found, and the reason."""

    annotation: Any
    reason: str


def resolve(annotations: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function with all names resolved.

    One that cannot be resolved becomes `Unresolved`; nothing is raised.
    """
    home = source_of(function)
    names = {**local_names(home), **_type_parameters(home)}
    try:
        return _evaluated(annotations, home, names)
    except Exception:
        return {name: _resolve_one(each, home, names) for name, each in annotations.items()}


def source_of(function: Any) -> Any:
    """Return the plain function behind a partial, method, wrapper, class or callable instance."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, types.MethodType | staticmethod):
            function = function.__func__
        elif isinstance(function, type):
            return vars(function).get("__init__", function)
        elif hasattr(function, "__globals__") or isinstance(function, types.BuiltinFunctionType):
            return function
        else:
            function = type(function).__call__
            if not hasattr(function, "__globals__"):
                return function


def local_names(function: Any) -> dict[str, Any]:
    """Return the names of a function's closure and of enclosing functions that still run."""
    function = source_of(function)
    if not isinstance(function, types.FunctionType) or "<locals>" not in function.__qualname__:
        return {}
    return {**_running_locals(function), **_closure(function)}


def _closure(function: types.FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a cell that is still empty
            found[name] = cell.cell_contents
    return found


def _running_locals(function: types.FunctionType) -> dict[str, Any]:
    parts = function.__qualname__.split(".<locals>")
    around = {".<locals>".join(parts[:count]) for count in range(1, len(parts))}
    found: dict[str, Any] = {}
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals is function.__globals__ and frame.f_code.co_qualname in around:
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def _resolve_one(annotation: Any, home: Any, names: dict[str, Any]) -> Any:
    try:
        return _evaluated({"it": annotation}, home, names)["it"]
    except Exception as error:
        return Unresolved(annotation, f"{type(error).__name__}: {error}")


def _evaluated(annotations: Mapping[str, Any], home: Any, names: dict[str, Any]) -> dict[str, Any]:
    scope = getattr(home, "__globals__", {})
    found = {name: _looked_up(each, names, scope) for name, each in annotations.items()}
    holder = types.SimpleNamespace(__annotations__=found)
    return typing.get_type_hints(holder, scope, names, include_extras=True)


def _looked_up(annotation: Any, names: dict[str, Any], scope: dict[str, Any]) -> Any:
    """Return the object that a one-word annotation names; most are, and this is fast."""
    if not isinstance(annotation, str):
        return annotation
    return names.get(annotation, scope.get(annotation, getattr(builtins, annotation, annotation)))


def _type_parameters(home: Any) -> dict[str, Any]:
    return {each.__name__: each for each in getattr(home, "__type_params__", ())}
