"""Make the JSON Schemas of types: plain ones here, all others by asking pydantic.

A test checks that both give the same schemas.
"""

from __future__ import annotations

import collections.abc
import datetime
import enum
import inspect
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import typing_extensions
from pydantic import AliasChoices, AliasPath, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from azent.messages import ALIASES
from azent.schema.annotations import SCALARS, has_plain_values, text_in
from azent.schema.docstrings import parse_docs

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


# ---- types that are not plain, as pydantic describes them ----------------------------------------


def pydantic_schemas(adapters: Mapping[str, TypeAdapter[Any]], returned: bool = False) -> Json:
    """Return an object schema with a property for each adapter, and the definitions used.

    With `returned`, it describes values written as JSON instead of values read from it.
    """
    mode: Literal["serialization", "validation"] = "serialization" if returned else "validation"
    wanted = [(name, mode, adapter) for name, adapter in adapters.items()]
    made, definitions = TypeAdapter.json_schemas(wanted, schema_generator=_Writer)
    return {"properties": {name: each for (name, _), each in made.items()}, **definitions}


class _Writer(GenerateJsonSchema):
    """A generator of pydantic's schemas that adds descriptions and aliases of fields."""

    # A default that JSON cannot hold is left out of the schema; that is no cause for a warning.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def model_schema(self, schema: Any) -> Json:
        return _explained(super().model_schema(schema), schema["cls"])

    def model_fields_schema(self, schema: Any) -> Json:
        return self._with_aliases(super().model_fields_schema(schema), schema["fields"])

    def dataclass_args_schema(self, schema: Any) -> Json:
        fields = {field["name"]: field for field in schema["fields"]}
        return self._with_aliases(super().dataclass_args_schema(schema), fields)

    def _with_aliases(self, made: Json, fields: Mapping[str, Any]) -> Json:
        return with_aliases(made, fields) if self.mode == "validation" else made

    def dataclass_schema(self, schema: Any) -> Json:
        return _explained(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: Any) -> Json:
        made = self._with_aliases(super().typed_dict_schema(schema), schema["fields"])
        return _explained(made, schema.get("cls"))

    def named_tuple_schema(self, schema: Any) -> Json:
        return _named(super().named_tuple_schema(schema), schema["cls"])

    def call_schema(self, schema: Any) -> Json:  # a NamedTuple, for older versions of pydantic
        return _named(super().call_schema(schema), schema["function"])

    # Inside a class these are not replaced, and pydantic would accept no JSON for them.

    def enum_schema(self, schema: Any) -> Json:
        if self.mode == "validation" and not has_plain_values(schema["cls"]):
            raise TypeError(f"the values of {schema['cls'].__name__} are not those of JSON")
        return super().enum_schema(schema)

    def literal_schema(self, schema: Any) -> Json:
        odd = [each for each in schema["expected"] if not isinstance(each, SCALARS)]
        if self.mode == "validation" and odd:
            raise TypeError(f"the literal {odd[0]!r} is not a value of JSON")
        return super().literal_schema(schema)

    def is_subclass_schema(self, schema: Any) -> Json:
        raise TypeError("a class cannot be given as JSON")


def _explained(made: Json, kind: Any) -> Json:
    """Return the schema of a class with its summary and the descriptions of its fields."""
    docstring = inspect.cleandoc(getattr(kind, "__doc__", None) or "")
    if docstring.startswith(f"{getattr(kind, '__name__', '')}("):
        docstring = ""  # a dataclass without one is given its signature
    docs = parse_docs(docstring)
    texts = {**docs.parameters, **_annotated_texts(kind)}
    if made.get("description", docstring) == docstring:
        made = {**made, "description": docs.text}
    for name, field in made.get("properties", {}).items():
        names = [name, *(place[0] for place in made.get(ALIASES, {}).get(name, ()))]
        if text := next((texts[each] for each in names if each in texts), ""):
            field.setdefault("description", text)
    return {key: value for key, value in made.items() if key != "description" or value}


def _named(made: Json, kind: Any) -> Json:
    """Return the schema of a NamedTuple with each item described by its name."""
    texts = _annotated_texts(kind)
    names = getattr(kind, "_fields", ())
    for name, item in zip(names, made.get("prefixItems", ()), strict=False):
        item.setdefault("description", f"{name}: {texts[name]}" if name in texts else name)
    return made


def _annotated_texts(kind: Any) -> dict[str, str]:
    """Return the texts in a class's `Annotated` hints by field; {} if they cannot be resolved."""
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception:
        return {}
    found = {name: [text_in(each) for each in _metadata(hint)] for name, hint in hints.items()}
    return {name: text for name, texts in found.items() for text in texts if text}


def _metadata(hint: Any) -> tuple[Any, ...]:
    while get_origin(hint) in (typing.Required, typing.NotRequired, typing_extensions.ReadOnly):
        (hint,) = get_args(hint)
    return getattr(hint, "__metadata__", ())


# ---- other names of the fields of pydantic models ------------------------------------------------
# They are kept under azent's own keyword in the schema that calls are validated against, and
# removed from the schema that a model sees.

Place = Sequence[str | int]


def with_aliases(made: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a class with the aliases of its fields added.

    `fields` are those of pydantic's core schema, by their Python names.
    """
    found: dict[str, list[Place]] = {}
    for name, field in fields.items():
        places = [*_places(field.get("validation_alias", name)), [name]]
        shown = next((p[0] for p in places if len(p) == 1 and p[0] in made["properties"]), None)
        others = [place for place in places if place != [shown]]
        if shown is not None and others:
            found[str(shown)] = others
    return {**made, ALIASES: found} if found else made


def aliases_of(field: FieldInfo) -> list[Place]:
    """Return the aliases that a parameter's `Field` declares."""
    alias = field.validation_alias or field.alias
    if isinstance(alias, AliasChoices | AliasPath):
        return _places(alias.convert_to_aliases())
    return _places(alias) if alias else []


def without_aliases(schema: Any) -> Any:
    """Return the schema without aliases, as a model sees it."""
    if isinstance(schema, list):
        return [without_aliases(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_aliases(each) for key, each in schema.items() if key != ALIASES}


def _places(alias: str | Sequence[Any]) -> list[Place]:
    """Return an alias of pydantic's core schema (a name, a path, a list of paths) as paths."""
    if isinstance(alias, str):
        return [[alias]]
    return list(alias) if alias and isinstance(alias[0], list) else [alias]
