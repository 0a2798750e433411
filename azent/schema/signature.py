"""Read the parameters of any kind of callable, as its author declared them.

A callable that cannot be offered to a model is refused when it is registered; the error names the
function and the parameter and gives advice.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import typing_extensions
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from azent.errors import SchemaError
from azent.messages import Context
from azent.schema.annotations import Unresolved, resolve, text_in
from azent.schema.types import Place, aliases_of, plain_schema, pydantic_schemas

Kind = inspect._ParameterKind
EMPTY: Any = inspect.Parameter.empty
_UNPACK = (typing.Unpack, typing_extensions.Unpack)
_QUALIFIERS = {typing.Required: True, typing.NotRequired: False, typing_extensions.ReadOnly: None}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that a model fills in, or azent does if `is_context`."""

    name: str
    kind: Kind
    hint: Any  # the annotation, or the type of the default, or Any
    is_required: bool
    text: str = ""
    default: Any = EMPTY  # the function's own default
    field: FieldInfo | None = None  # a pydantic `Field` with a default, to be passed
    is_context: bool = False
    aliases: tuple[Place, ...] = ()  # further names by pydantic


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters and return type of a function; `extra` is the annotation of `**kwargs`."""

    parameters: tuple[Parameter, ...]
    returns: Any
    extra: Any = EMPTY


def read_signature(function: Callable[..., Any], name: str) -> Signature:
    """Return the parameters of a function, except bound ones, with annotations resolved.

    Raises SchemaError without a signature, or if an annotation cannot be resolved.
    """
    found = _inspected(function, name)
    hints = {each.name: each.annotation for each in found.parameters.values()}
    resolved = resolve({**hints, "return": found.return_annotation}, function)
    parameters: list[Parameter] = []
    extra = EMPTY
    for each in found.parameters.values():
        hint = _checked(resolved[each.name], each.name, name)
        if each.kind is Kind.VAR_KEYWORD and get_origin(hint) in _UNPACK:
            parameters.extend(_unpacked(get_args(hint)[0], each.name, name))
        elif each.kind is Kind.VAR_KEYWORD:
            extra = hint
        elif each.kind is not Kind.VAR_POSITIONAL and each.name not in _bound(function):
            parameters.append(_parameter(each, hint))
    returns = function if isinstance(function, type) else resolved["return"]
    return Signature(tuple(parameters), returns, extra)


def name_of(function: Any, name: str | None) -> str:
    """Return the name to offer a function under. Raises SchemaError if it is invalid."""
    while name is None and isinstance(function, functools.partial):
        function = function.func
    own = getattr(function, "__name__", None) or type(function).__name__
    chosen = own if name is None else name
    if chosen == "<lambda>":
        raise SchemaError("a lambda has no name", "Pass name=..., or use def.")
    if not chosen or not all(part.isidentifier() for part in chosen.replace("-", ".").split(".")):
        raise SchemaError(
            f"{chosen!r} cannot be the name of a function for a model",
            "Use letters, digits, '_', '-' and '.', and begin with a letter.",
        )
    return chosen


def _inspected(function: Callable[..., Any], name: str) -> inspect.Signature:
    if isinstance(function, functools.partial):  # the inner function lacks the bound arguments
        function = functools.partial(function.func, *function.args, **function.keywords)
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"{name}: {error}",
            "Give a function with a signature: wrap this one in `def` with typed parameters.",
        ) from None
    _refuse_unbound(function, found, name)
    _refuse_starred(found, name)
    return found


def _refuse_unbound(function: Any, found: inspect.Signature, name: str) -> None:
    """Raise SchemaError for a method taken from its class, which still needs `self`."""
    first = next(iter(found.parameters), "")
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    if first in ("self", "cls") and owner and not owner.endswith("<locals>"):
        raise SchemaError(
            f"{name}: the parameter {first!r} is not bound",
            f"Give the method of an instance: {owner.rpartition('.')[2]}().{name}.",
        )


def _refuse_starred(found: inspect.Signature, name: str) -> None:
    if {each.kind for each in found.parameters.values()} == {Kind.VAR_POSITIONAL}:
        raise SchemaError(
            f"{name}: it takes nothing but *{next(iter(found.parameters))}, which has no names",
            "Declare a parameter for each value, or one list.",
        )


def _bound(function: Any) -> frozenset[str]:
    """Return the names of keywords that a partial has fixed."""
    return frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()


def _checked(hint: Any, parameter: str, name: str) -> Any:
    if isinstance(hint, Unresolved):
        raise SchemaError(
            f"{name}: the annotation {hint.annotation!r} of parameter {parameter!r} cannot be "
            f"resolved ({hint.reason})",
            "Import or define the type where the function can see it, not under TYPE_CHECKING.",
        )
    return hint


def _parameter(found: inspect.Parameter, hint: Any) -> Parameter:
    default, field = found.default, None
    if isinstance(default, FieldInfo):
        hint, default = Annotated[Any if hint is EMPTY else hint, default], EMPTY
    fields = [each for each in _metadata(hint) if isinstance(each, FieldInfo)]
    if default is EMPTY:
        field = next((each for each in reversed(fields) if not each.is_required()), None)
    hint = _type_of(default) if hint is EMPTY else hint
    return Parameter(
        found.name,
        found.kind,
        hint,
        is_required=default is EMPTY and field is None,
        text=_text(hint),
        default=default,
        field=field,
        is_context=_is_context(hint),
        aliases=tuple(place for each in fields for place in aliases_of(each)),
    )


def _type_of(default: Any) -> Any:
    """Return the type of a default, or Any if there is none or JSON cannot hold it."""
    kind = type(default)
    if default is EMPTY or default is None:
        return Any
    if plain_schema(kind) is None:
        try:
            pydantic_schemas({"it": TypeAdapter(kind)})
        except Exception:
            return Any
    return kind


def _text(hint: Any) -> str:
    """Return the last text in the metadata of an `Annotated` annotation, or ""."""
    texts = [text for each in _metadata(hint) if (text := text_in(each))]
    return texts[-1] if texts else ""


def _metadata(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__metadata__", ()) if get_origin(hint) is Annotated else ()


def _is_context(hint: Any) -> bool:
    """Return whether an annotation is `Context`, or a union with it."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_context(get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return any(map(_is_context, get_args(hint)))
    kind = origin or hint
    return isinstance(kind, type) and issubclass(kind, Context)


def _unpacked(keys: Any, parameter: str, name: str) -> Iterator[Parameter]:
    """Yield a parameter for each key of the TypedDict that annotates `**kwargs`."""
    try:
        hints = typing.get_type_hints(keys, include_extras=True)
    except Exception as error:
        _checked(Unresolved(keys, f"{type(error).__name__}: {error}"), parameter, name)
        raise
    for key, hint in hints.items():
        # `__required_keys__` of the class is wrong if its annotations are postponed.
        is_required = key in getattr(keys, "__required_keys__", ())
        while (qualifier := get_origin(hint)) in _QUALIFIERS:
            (hint,) = get_args(hint)
            says = _QUALIFIERS[qualifier]
            is_required = is_required if says is None else says
        yield Parameter(key, Kind.KEYWORD_ONLY, hint, is_required, _text(hint))
