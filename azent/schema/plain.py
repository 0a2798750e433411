"""Build the JSON Schemas of plain types without pydantic, which takes ten times as long.

A test checks that both give the same schemas.
"""

from __future__ import annotations

import collections.abc
import datetime
import enum
import pathlib
import types
import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from azent.schema.buildable import has_plain_values

Json = dict[str, Any]

_STRING: Json = {"type": "string"}
_ARRAY: Json = {"type": "array", "items": {}}
_PLAIN: dict[Any, Json] = {
    Any: {},
    object: {},
    str: _STRING,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    bytes: {**_STRING, "format": "binary"},
    datetime.datetime: {**_STRING, "format": "date-time"},
    datetime.date: {**_STRING, "format": "date"},
    datetime.time: {**_STRING, "format": "time"},
    datetime.timedelta: {**_STRING, "format": "duration"},
    uuid.UUID: {**_STRING, "format": "uuid"},
    pathlib.Path: {**_STRING, "format": "path"},
    list: _ARRAY,
    tuple: _ARRAY,
    set: {**_ARRAY, "uniqueItems": True},
    frozenset: {**_ARRAY, "uniqueItems": True},
    dict: {"type": "object", "additionalProperties": True},
}
_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}


def plain_schema(hint: Any) -> Json | None:
    """Return the schema of a type of plain parts, or None if pydantic is needed."""
    if get_origin(hint) is not None:
        make, arguments = _MAKERS.get(get_origin(hint)), get_args(hint)
        return make(arguments) if make and arguments else None  # `List` alone has none
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum(hint)
    known = _PLAIN.get(hint) if isinstance(hint, collections.abc.Hashable) else None
    return None if known is None else dict(known)


def _enum(kind: type[enum.Enum]) -> Json | None:
    is_custom = hasattr(kind, "__get_pydantic_core_schema__") or not has_plain_values(kind)
    return None if is_custom else _choice([member.value for member in kind])


def _choice(values: Sequence[Any]) -> Json | None:
    """Return the schema for one of several values, with their type if they share one."""
    kinds = {_NAMES.get(type(value)) for value in values}
    if None in kinds or not kinds:
        return None
    shared = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return {"enum": list(values), **shared}


def _list(arguments: Sequence[Any]) -> Json | None:
    items = plain_schema(arguments[0])
    return None if items is None else {"type": "array", "items": items}


def _set(arguments: Sequence[Any]) -> Json | None:
    made = _list(arguments)
    return None if made is None else {**made, "uniqueItems": True}


def _tuple(arguments: Sequence[Any]) -> Json | None:
    if len(arguments) == 2 and arguments[1] is ...:
        return _list(arguments)
    items = [plain_schema(each) for each in arguments]
    if not items or None in items:
        return None
    size = len(items)
    return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}


def _dict(arguments: Sequence[Any]) -> Json | None:
    key, value = arguments
    values = plain_schema(value) if key is str else None
    return None if values is None else {"type": "object", "additionalProperties": values or True}


def _union(arguments: Sequence[Any]) -> Json | None:
    branches = [plain_schema(each) for each in arguments]
    return {"anyOf": branches} if all(branches) else None


def _annotated(arguments: Sequence[Any]) -> Json | None:
    base, *metadata = arguments
    made = plain_schema(base)
    for each in metadata:
        made = None if made is None else _with(made, each)
    return made


def _with(schema: Json, metadata: Any) -> Json | None:
    """Return the schema with a piece of metadata applied, or None if pydantic is needed."""
    if isinstance(metadata, str):
        return {**schema, "description": metadata}
    if isinstance(metadata, FieldInfo):
        return _with_field(schema, metadata)
    attribute, keywords = _CONSTRAINTS.get(type(metadata), ("", {}))
    keyword = keywords.get(schema.get("type", ""))
    bound = getattr(metadata, attribute, None)
    is_plain = type(bound) in (int, float) and not schema.keys() & {keyword, *_NO_BOUNDS}
    return {**schema, keyword: bound} if keyword and is_plain else None


def _with_field(schema: Json, field: FieldInfo) -> Json | None:
    if any(getattr(field, name) for name in _FIELD_NOTES):
        return None
    made: Json | None = schema
    for each in field.metadata:
        made = None if made is None else _with(made, each)
    text = field.description
    return {**made, "description": text} if made is not None and text else made


_NO_BOUNDS = ("format", "enum", "prefixItems")  # pydantic knows which bounds these can have
_FIELD_NOTES = ("examples", "json_schema_extra", "deprecated", "discriminator")
_LEAST = {"string": "minLength", "array": "minItems", "object": "minProperties"}
_MOST = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}
_CONSTRAINTS: dict[type, tuple[str, dict[str, str]]] = {
    annotated_types.Ge: ("ge", dict.fromkeys(("integer", "number"), "minimum")),
    annotated_types.Gt: ("gt", dict.fromkeys(("integer", "number"), "exclusiveMinimum")),
    annotated_types.Le: ("le", dict.fromkeys(("integer", "number"), "maximum")),
    annotated_types.Lt: ("lt", dict.fromkeys(("integer", "number"), "exclusiveMaximum")),
    annotated_types.MinLen: ("min_length", _LEAST),
    annotated_types.MaxLen: ("max_length", _MOST),
}
_MAKERS: dict[Any, Callable[[Sequence[Any]], Json | None]] = {
    Annotated: _annotated,
    Literal: _choice,
    Union: _union,
    types.UnionType: _union,
    list: _list,
    collections.abc.Sequence: _list,
    collections.abc.Iterable: _list,
    collections.abc.Collection: _list,
    set: _set,
    frozenset: _set,
    collections.abc.Set: _set,
    tuple: _tuple,
    dict: _dict,
    collections.abc.Mapping: _dict,
}
