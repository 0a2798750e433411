"""Introspect a function into a JSON Schema and the facts needed to call it later.

Each function is introspected once. The cache holds no reference to the function, so that an unused
function is freed together with its schema.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from azent.messages import Spec
from azent.schema.aliases import without_aliases
from azent.schema.docs import Docs, own_docs, read_docs
from azent.schema.offer import parameters_schema, returns_schema
from azent.schema.signature import Signature, name_of, read_signature


@dataclass(frozen=True, slots=True)
class Introspected:
    """An introspected function."""

    function: Callable[..., Any]
    name: str
    spec: Spec  # shared, read-only; spec["accepts"] is a schema with aliases, if any
    is_async: bool
    is_generator: bool
    signature: Signature
    adapters: dict[str, TypeAdapter[Any]]  # pydantic's, by parameter; plain types on first use


_seen: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def function_to_json(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> dict[str, Any]:
    """Return a function's JSON Schema: {"name", "description", "parameters", "returns"}.

    Raises SchemaError if the function cannot be offered to a model.
    """
    spec = introspect(function, name=name, description=description).spec
    copied: dict[str, Any] = _copy({key: spec[key] for key in spec if key != "accepts"})
    return copied


def introspect(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> Introspected:
    """Return what azent knows of a function, from a cache after the first call.

    Raises SchemaError if the function cannot be offered to a model.
    """
    key = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(key, types.FunctionType | functools.partial):
        return Introspected(function, **_facts(function, name, description))
    known = _seen.setdefault(key, {})
    asked = (key is function, name, description)
    if asked not in known:
        known[asked] = _facts(function, name, description)
    return Introspected(function, **known[asked])


def _facts(function: Any, name: str | None, description: str | None) -> dict[str, Any]:
    """Return the fields of Introspected except the function itself."""
    name = name_of(function, name)
    signature = read_signature(function, name)
    docs = _docs(function)
    accepted, adapters = parameters_schema(function, name, signature, docs.parameters)
    parameters = without_aliases(accepted)
    spec = {
        "name": name,
        "description": docs.text if description is None else description,
        "parameters": parameters,
        "returns": returns_schema(function, signature.returns, docs.returns),
        **({} if parameters == accepted else {"accepts": accepted}),
    }
    called = function if inspect.isroutine(function) else _called(function)
    return {
        "name": name,
        "spec": spec,
        "is_async": inspect.iscoroutinefunction(called),
        "is_generator": inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called),
        "signature": signature,
        "adapters": adapters,
    }


def _called(function: Any) -> Any:
    """Return the function that runs when a callable is called."""
    is_instance = not isinstance(function, functools.partial | type)
    return type(function).__call__ if is_instance else function


def _docs(function: Any) -> Docs:
    """Return the docstrings of a callable merged; of a class and its `__init__`, the class wins."""
    while isinstance(function, functools.partial) and function.__doc__ == functools.partial.__doc__:
        function = function.func
    if inspect.isroutine(function) or isinstance(function, functools.partial):
        return read_docs(function)
    is_class = isinstance(function, type)
    runs = vars(function).get("__init__") if is_class else type(function).__call__
    inner = own_docs(runs) if isinstance(runs, types.FunctionType) else Docs()
    outer = own_docs(function)
    near, far = (outer, inner) if is_class else (inner, outer)
    return Docs(near.text or far.text, {**far.parameters, **near.parameters}, near.returns)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value
