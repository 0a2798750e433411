"""Get the JSON Schemas of complex types from pydantic, with the texts of their authors."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import typing_extensions
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from azent.messages import ALIASES
from azent.schema.aliases import with_aliases
from azent.schema.buildable import SCALARS, has_plain_values, text_in
from azent.schema.docs import parse_docs
from azent.schema.plain import Json


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
