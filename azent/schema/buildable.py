"""Annotations as pydantic can build them from JSON in its strict mode.

Most pass through as they are. What pydantic refuses, or would build only in part, is replaced by
its next of kin: a `typing.TypedDict` (refused before Python 3.12), an enum whose values JSON does
not have (offered by name), a `Literal` of enum members, an abstract collection.
"""

from __future__ import annotations

import collections.abc
import enum
import functools
import operator
import types
import typing
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions
from pydantic import BeforeValidator, Field, WithJsonSchema

_KIN: dict[Any, Any] = {
    typing.LiteralString: str,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Container: list,
    collections.abc.Reversible: list,
    bytearray: bytes,
}
_SCALARS = (str, int, float, bool, types.NoneType)


def text_in(metadata: Any) -> str | None:
    """The text that one piece of `Annotated` metadata holds: a string, a `Doc`, a `Field`."""
    if isinstance(metadata, str):
        return metadata
    for attribute in ("documentation", "description"):
        if isinstance(text := getattr(metadata, attribute, None), str):
            return text
    return None


def buildable(hint: Any, replaced: dict[Any, Any] | None = None) -> Any:
    """The annotation to give to pydantic for this one.

    `replaced` holds the classes that are being replaced, so that recursive ones come to an end.
    TypeError: no JSON value can become such an object.
    """
    replaced = {} if replaced is None else replaced
    origin = get_origin(hint)
    if hint is type or origin is type:
        raise TypeError("a class cannot be given as JSON")
    if origin is Literal:
        return _literal(hint)
    if origin is Annotated:
        base, *metadata = get_args(hint)
        return Annotated[(buildable(base, replaced), *map(_as_field, metadata))]
    return _class(hint, replaced) if origin is None else _generic(hint, origin, replaced)


def has_plain_values(kind: type[enum.Enum]) -> bool:
    """Can JSON hold all values of this enum?"""
    return all(isinstance(member.value, _SCALARS) for member in kind)


def _class(hint: Any, replaced: dict[Any, Any]) -> Any:
    if isinstance(hint, type) and issubclass(hint, enum.Enum) and not has_plain_values(hint):
        return _chosen(hint, {member.name: member for member in hint})
    if type(hint).__module__ == "typing" and typing.is_typeddict(hint):
        return replaced[hint] if hint in replaced else _typed_dict(hint, replaced)
    return _KIN.get(hint, hint) if isinstance(hint, collections.abc.Hashable) else hint


def _literal(hint: Any) -> Any:
    values = get_args(hint)
    if not any(isinstance(value, enum.Enum) for value in values):
        return hint
    return _chosen(hint, {getattr(value, "value", value): value for value in values})


def _chosen(hint: Any, choices: dict[Any, Any]) -> Any:
    """An annotation for one of several objects, each standing for a JSON value."""
    pick = BeforeValidator(lambda given: choices.get(given, given))
    return Annotated[hint, pick, WithJsonSchema({"enum": list(choices)})]


def _typed_dict(hint: Any, replaced: dict[Any, Any]) -> Any:
    """The same `TypedDict` as one of typing_extensions; keys are set late, as they may recur."""
    kin: Any = typing_extensions.TypedDict(hint.__name__, {})  # type: ignore[misc]  # a variable
    replaced[hint] = kin
    keys = typing.get_type_hints(hint, include_extras=True)
    kin.__annotations__ = {key: buildable(each, replaced) for key, each in keys.items()}
    kin.__required_keys__, kin.__optional_keys__ = hint.__required_keys__, hint.__optional_keys__
    kin.__doc__, kin.__module__ = hint.__doc__, hint.__module__
    return kin


def _generic(hint: Any, origin: Any, replaced: dict[Any, Any]) -> Any:
    kin = _KIN.get(origin, origin)
    given = get_args(hint)
    inner = tuple(each if each is ... else buildable(each, replaced) for each in given)
    if kin is origin and all(new is old for new, old in zip(inner, given, strict=True)):
        return hint
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, inner)
    return kin[inner]


def _as_field(metadata: Any) -> Any:
    """Texts as pydantic knows them; all else as it is."""
    known = isinstance(metadata, str) or hasattr(metadata, "documentation")
    return Field(description=text_in(metadata)) if known else metadata
