"""Schemas that come from elsewhere: from the clients of a server, or from servers of tools."""

from __future__ import annotations

from typing import Any

import jsonschema

from azent.errors import SchemaError


def foreign_parameters(name: str, given: Any) -> dict[str, Any]:
    """The JSON Schema of a function's parameters, looked through; without one, of no parameters.

    Raises SchemaError for what is none, or none of an object.
    """
    if given is not None and not isinstance(given, dict):
        raise SchemaError(f"the parameters of {name!r} are no JSON Schema")
    schema = {"type": "object", "properties": {}, **(given or {})}
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except (jsonschema.SchemaError, RecursionError) as error:
        said = getattr(error, "message", "it is nested too deeply")
        raise SchemaError(f"the parameters of {name!r} are no JSON Schema: {said}") from error
    if schema["type"] != "object":
        raise SchemaError(f"the parameters of {name!r} must be of the type 'object'")
    return schema
