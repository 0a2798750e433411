"""Schemas that come from elsewhere: from the clients of a server, or from servers of tools."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from azent.errors import SchemaError
from azent.schema.bounds import check_foreign


def with_choices_in_items(schema: Any) -> Any:
    """A schema whose lists have their choices where they belong: in the items.

    `{"type": "array", "enum": ["buzz", "trust"]}` is written often, and means a list of these; as
    it stands no value fits it. What needs no mending is the same object as before.
    """
    if isinstance(schema, list):
        items = [with_choices_in_items(each) for each in schema]
        return schema if all(map(operator.is_, items, schema)) else items
    if not isinstance(schema, Mapping):
        return schema
    parts = {key: with_choices_in_items(value) for key, value in schema.items()}
    if _is_misplaced(schema):
        choices = parts.pop("enum")
        return {**parts, "items": {**parts.get("items", {}), "enum": choices}}
    return schema if all(parts[key] is schema[key] for key in schema) else parts


def _is_misplaced(schema: Mapping[str, Any]) -> bool:
    """Is it a list that has to be one of some values, none of which is a list?"""
    choices, items = schema.get("enum"), schema.get("items", {})
    if schema.get("type") != "array" or not isinstance(choices, list) or not choices:
        return False
    return isinstance(items, dict) and not any(isinstance(choice, list) for choice in choices)


def foreign_parameters(name: str, given: Any) -> dict[str, Any]:
    """The JSON Schema of a function's parameters, looked through; without one, of no parameters.

    Raises SchemaError for what is none, or none of an object, and for one that is too large.
    """
    import jsonschema

    if given is not None and not isinstance(given, dict):
        raise SchemaError(f"the parameters of {name!r} are no JSON Schema")
    check_foreign(name, given or {})
    schema = {"type": "object", "properties": {}, **with_choices_in_items(given or {})}
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except (jsonschema.SchemaError, RecursionError) as error:
        said = getattr(error, "message", "it is nested too deeply")
        raise SchemaError(f"the parameters of {name!r} are no JSON Schema: {said}") from error
    if schema["type"] != "object":
        raise SchemaError(f"the parameters of {name!r} must be of the type 'object'")
    return schema
