"""The keywords of JSON Schema that contain subschemas; the values of all others are data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
LIST = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
DEFINITIONS = frozenset({"$defs", "definitions"})


def children(node: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the direct subschemas of a schema, except its definitions."""
    for key, value in node.items():
        if key in LIST and isinstance(value, list):
            yield from value
        elif key in NAMED and isinstance(value, Mapping):
            yield from value.values()
        elif key in ONE:
            yield value
