"""Make the JSON Schema of a function, and what is needed to call it later.

Each function is introspected once. The cache holds no reference to the function, so that an unused
function is freed together with its schema.
"""

from __future__ import annotations

import collections.abc
import enum
import functools
import inspect
import json
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from azent.errors import SchemaError
from azent.messages import ALIASES, Spec
from azent.schema.annotations import (
    SCALARS,
    Scope,
    Unresolved,
    buildable,
    has_plain_values,
    local_names,
    text_in,
)
from azent.schema.docstrings import Docs, own_docs, read_docs
from azent.schema.references import inlined_own, without_references
from azent.schema.signature import EMPTY, Parameter, Signature, name_of, read_signature
from azent.schema.types import Json, plain_schema, pydantic_schemas, without_aliases


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


# ---- the parameters of a function as one schema, what it returns as another ----------------------

EXTRA = "**"  # where the schema of `**kwargs` is kept among those of the parameters
_LONGEST_DEFAULT = 500
_UNSHOWN: Any = object()

Adapters = dict[str, TypeAdapter[Any]]


def parameters_schema(
    function: Callable[..., Any], name: str, signature: Signature, texts: Mapping[str, str]
) -> tuple[Json, Adapters]:
    """Return the JSON Schema of a function's parameters with aliases, and pydantic's adapters.

    - `function`: the function
    - `name`: its name in errors
    - `signature`: its parameters
    - `texts`: descriptions of parameters from the docstring
    Raises SchemaError if JSON cannot hold the type of a parameter.
    """
    offered = [each for each in signature.parameters if not each.is_context]
    hints = {each.name: each.hint for each in offered}
    if signature.extra is not EMPTY:
        hints[EXTRA] = signature.extra
    made, definitions, adapters = _schemas(function, name, hints)
    whole: Json = {
        "type": "object",
        "properties": {each.name: _property(each, made[each.name], texts) for each in offered},
        "required": [each.name for each in offered if each.is_required],
    }
    if aliases := {each.name: each.aliases for each in offered if each.aliases}:
        whole[ALIASES] = aliases
    if EXTRA in made:
        whole["additionalProperties"] = made[EXTRA] or True
    return inlined_own({**whole, **definitions}) if adapters else whole, adapters


def returns_schema(function: Callable[..., Any], hint: Any, text: str) -> Json:
    """Return the JSON Schema of a function's return value, {} if its annotation does not tell."""
    hint, text = _returned(hint, text)
    made = _returned_schema(function, hint)
    return {**made, "description": text} if text else made


def adapter_for(
    hint: Any, function: Callable[..., Any], scope: Scope | None = None
) -> TypeAdapter[Any]:
    """Return pydantic's adapter for an annotation; all parameters of a function share `scope`."""
    scope = scope or Scope(local_names(function))
    adapter: TypeAdapter[Any] = TypeAdapter(buildable(hint, scope))
    if not adapter.pydantic_complete:
        adapter.rebuild(force=True, _types_namespace=dict(scope.names))
    return adapter


def _schemas(
    function: Callable[..., Any], name: str, hints: Mapping[str, Any]
) -> tuple[dict[str, Json], Json, Adapters]:
    """Return the schema of each annotation by name, their definitions, and the adapters."""
    plain = {parameter: plain_schema(hint) for parameter, hint in hints.items()}
    made = {parameter: schema for parameter, schema in plain.items() if schema is not None}
    asked = {parameter: hint for parameter, hint in hints.items() if parameter not in made}
    if not asked:
        return made, {}, {}
    try:
        scope = Scope(local_names(function))
        adapters = {each: adapter_for(hint, function, scope) for each, hint in asked.items()}
        described = pydantic_schemas(adapters)
    except Exception:
        for parameter, hint in asked.items():
            _refuse_unfit(function, name, parameter, hint)
        raise
    return {**made, **described.pop("properties")}, described, adapters


def _refuse_unfit(function: Callable[..., Any], name: str, parameter: str, hint: Any) -> None:
    """Raise SchemaError if this parameter's type has no JSON Schema."""
    try:
        pydantic_schemas({parameter: adapter_for(hint, function)})
    except Exception as error:
        reason = str(error).strip().partition("\n")[0].partition(". ")[0]
        raise SchemaError(
            f"{name}: parameter {parameter!r} is of a type that JSON cannot hold: {reason}",
            "Use another type, fix it with functools.partial, or take it from azent.Context.",
        ) from error


def _property(parameter: Parameter, schema: Json, texts: Mapping[str, str]) -> Json:
    schema = {key: value for key, value in schema.items() if key != "default"}
    if (default := _shown_default(parameter)) is not _UNSHOWN:
        schema["default"] = default
    text = parameter.text or texts.get(parameter.name) or schema.pop("description", "")
    return {**schema, "description": text} if text else schema


def _shown_default(parameter: Parameter) -> Any:
    """Return a default as JSON if it is short and JSON can hold it, else `_UNSHOWN`."""
    default = parameter.default
    if parameter.field is not None and parameter.field.default_factory is None:
        default = parameter.field.default
    if default is EMPTY:
        return _UNSHOWN
    try:
        value = _as_json(default)
        is_scalar = isinstance(value, bool | int | None)
        is_short = is_scalar or len(json.dumps(value, allow_nan=False)) <= _LONGEST_DEFAULT
    except Exception:
        return _UNSHOWN
    return value if is_short else _UNSHOWN


def _as_json(value: Any) -> Any:
    """Return a value as JSON: enums as offered, sets in a fixed order."""
    if isinstance(value, enum.Enum):
        return value.value if has_plain_values(type(value)) else value.name
    if isinstance(value, set | frozenset):
        return sorted(map(_as_json, value), key=repr)
    if type(value) in (list, tuple):
        return [_as_json(each) for each in value]
    if type(value) is dict:
        return {_as_json(key): _as_json(each) for key, each in value.items()}
    return value if type(value) in SCALARS else to_jsonable_python(value)


def _returned(hint: Any, text: str) -> tuple[Any, str]:
    """Return the type and text of what is left after awaiting or iterating a result."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        texts = [found for each in arguments[1:] if (found := text_in(each))]
        return _returned(arguments[0], texts[-1] if texts else text)
    if origin in (collections.abc.Awaitable, collections.abc.Coroutine):
        return _returned(arguments[-1], text)
    if isinstance(origin, type) and issubclass(
        origin, collections.abc.Iterator | collections.abc.AsyncIterable
    ):
        return list[arguments[0]], text  # type: ignore[valid-type]
    return hint, text


def _returned_schema(function: Callable[..., Any], hint: Any) -> Json:
    if hint is EMPTY or isinstance(hint, Unresolved):
        return {}
    if (plain := plain_schema(hint)) is not None:
        return plain
    try:
        described = pydantic_schemas({"it": adapter_for(hint, function)}, returned=True)
        return without_references(inlined_own({**described.pop("properties")["it"], **described}))
    except Exception:  # a call does not need the schema of the returned value
        return {}
