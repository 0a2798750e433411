"""Check the shape, depth and size of a schema before other code reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from azent.errors import SchemaError
from azent.schema.keywords import DEFINITIONS, LIST, NAMED, children

_DEEPEST = 100
_MOST_NODES = 50_000
FOREIGN_NODES = 10_000  # validating a schema of this size takes about two seconds
FOREIGN_CHARACTERS = 1_000_000
_SHAPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(NAMED | DEFINITIONS, Mapping),
    **dict.fromkeys(LIST - {"items"} | {"enum", "required"}, list),
    **dict.fromkeys(("description", "format", "pattern"), str),
    "type": (str, list),
}
_OF_STRINGS = {"type", "required"}
_LESS = "Offer less at once: a function for each part of it."
_SHAPE = "It has to be a JSON Schema: https://json-schema.org."


def check_foreign(tool: str, schema: Any) -> None:
    """Raise SchemaError if a third party's parameters are too deep or large, or not JSON."""
    try:
        check_size(schema, FOREIGN_NODES)
        text = json.dumps(schema, default=str)
    except (SchemaError, TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"the parameters of {tool!r} are no JSON Schema: {error}") from error
    if len(text) > FOREIGN_CHARACTERS:
        raise SchemaError(f"the parameters of {tool!r} have {len(text):,} characters", _LESS)


def check_size(schema: Any, most_nodes: int = _MOST_NODES) -> None:
    """Raise SchemaError if a schema is too deep or has too many nodes; does not recurse."""
    if not isinstance(schema, Mapping):
        raise SchemaError(f"a schema must be an object, not {type(schema).__name__}")
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > _DEEPEST or count > most_nodes:
            raise too_large()
        values = node.values() if isinstance(node, Mapping) else node
        inner = [each for each in values if isinstance(each, Mapping | list)]
        waiting.extend((each, depth + 1) for each in inner)


def check_shape(schema: Mapping[str, Any]) -> None:
    """Raise SchemaError if a keyword has a value of the wrong type; later code relies on it."""
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            _check_keywords(node)
            defined = [each for key in DEFINITIONS for each in node.get(key, {}).values()]
            waiting += [*defined, *children(node)]
        elif not isinstance(node, bool):
            raise SchemaError(f"where a schema must stand there is {type(node).__name__}", _SHAPE)


def _check_keywords(node: Mapping[str, Any]) -> None:
    for key in node.keys() & _SHAPES.keys():
        if not _fits(key, node[key]):
            kind = type(node[key]).__name__
            raise SchemaError(f"{key!r} in a schema cannot be {kind}", _SHAPE)


def _fits(key: str, value: Any) -> bool:
    if not isinstance(value, _SHAPES[key]):
        return False
    if key in _OF_STRINGS and isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return True


def too_large() -> SchemaError:
    return SchemaError(
        "a schema is nested too deeply or is too large to be offered",
        _LESS,
    )
