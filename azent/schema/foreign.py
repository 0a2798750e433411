"""Schemas of third parties: clients of a server, or servers of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from azent.errors import SchemaError
from azent.schema.bounds import check_foreign
from azent.schema.drafts import modern
from azent.schema.inline import check_ends, inlined

_HINT = 'It has to be a JSON Schema: {"type": "object", "properties": {...}}.'


def object_schema(given: Any) -> Any:
    """Return a schema of parameters in JSON Schema 2020-12, with type object if it is implied.

    A schema that needs no change is the same object; one that cannot be fixed is unchanged.
    """
    schema = modern({} if given is None or given == [] else given)
    if not isinstance(schema, Mapping) or schema.get("type") == "object":
        return schema
    kinds = schema.get("type", [])
    is_object = isinstance(kinds, list) and (not kinds or "object" in kinds)
    is_nothing = kinds in ("null", ["null"])
    is_plain = is_object or is_nothing or bool(schema.get("properties"))
    return {**schema, "type": "object"} if is_plain else schema


def foreign_parameters(name: str, given: Any) -> dict[str, Any]:
    """Return the validated JSON Schema of a function's parameters; no parameters for None.

    Raises SchemaError if it is invalid, not of an object, or has an external reference. Patterns
    are not checked: those of third parties are never evaluated.
    """
    check_foreign(name, given or {})
    try:
        schema = _without_reference(_mapping(object_schema(given)))
        return _checked({"type": "object", "properties": {}, **schema})
    except SchemaError as error:
        said = f"the parameters of {name!r} are no JSON Schema: {error}"
        raise SchemaError(said, _HINT) from error


def _checked(schema: dict[str, Any]) -> dict[str, Any]:
    import jsonschema

    try:
        no_formats = jsonschema.FormatChecker(formats=())
        jsonschema.Draft202012Validator.check_schema(schema, format_checker=no_formats)
    except (jsonschema.SchemaError, RecursionError) as error:
        raise SchemaError(getattr(error, "message", "it is nested too deeply")) from error
    if schema["type"] != "object":
        raise SchemaError(f"they must be of the type 'object', not {schema['type']!r}")
    inlined(schema)  # refuses what is too large with its references
    check_ends(schema)
    return schema


def _without_reference(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with a `$ref` or `allOf` at its root resolved."""
    if not schema.keys() & {"$ref", "allOf"}:
        return schema
    return inlined({key: value for key, value in schema.items() if key != "type"})


def _mapping(schema: Any) -> Mapping[str, Any]:
    if isinstance(schema, Mapping):
        return schema
    raise SchemaError(f"it is {type(schema).__name__}")
