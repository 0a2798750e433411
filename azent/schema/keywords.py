"""Which keywords of JSON Schema hold schemas, and how: what stands elsewhere is data."""

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
    """The schemas directly inside a schema, definitions apart."""
    for key, value in node.items():
        if key in LIST and isinstance(value, list):
            yield from value
        elif key in NAMED and isinstance(value, Mapping):
            yield from value.values()
        elif key in ONE:
            yield value
