"""A schema as calls are judged by it: objects take the arguments that they name and no others.

JSON Schema lets unknown names through unless told otherwise, and a misspelt one would be dropped
in silence. Patterns that must not or cannot run are taken out, and what tells the alternatives of
a union apart is written beside them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from azent.schema.inline import check_ends, looked_up
from azent.validate.kinds import Schema
from azent.validate.unions import BRANCHES, UNIONS, branches_of

Target = Callable[[Any], Schema]

_DATA = ("enum", "const", "default", "examples", "example")
_NAMED = ("properties", "$defs", "definitions", "dependentSchemas", "patternProperties")
_DEFINITIONS = ("$defs", "definitions")
# Keywords beside `properties` that say something on other names, so that the object stays open.
_OPENING = (
    *("additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"),
    *("allOf", "anyOf", "oneOf", "$ref", "then", "else", "dependentSchemas"),
)
_NAMELESS = {"required", "description", "title", "not"}  # no other names where this is all
# Keywords under which each schema sees only a part of an object: nothing below them is closed.
_PARTIAL = ("allOf", "if", "then", "else", "not", "dependentSchemas", "contains", "propertyNames")


def prepared(schema: Schema, trusted: bool) -> dict[str, Any]:
    """The schema to judge by; `trusted` says whether its patterns may be evaluated.

    Raises SchemaError where its references lead nowhere, or back to themselves without end.
    """
    check_ends(schema)
    closed = _closed_root(schema)
    target = following(closed)
    return dict(_prepared(closed, _is_compiled if trusted else _is_never, target))


def following(whole: Schema) -> Target:
    """A function that follows the references of a schema; {} stands for what allows anything."""

    def target(part: Any) -> Schema:
        for _ in range(32):
            if not isinstance(part, Mapping):
                return {}
            if "$ref" not in part:
                return part
            inner = looked_up(whole, part["$ref"])
            rest = {key: value for key, value in part.items() if key != "$ref"}
            part = {**inner, **rest} if isinstance(inner, Mapping) else rest
        return {}

    return target


# ---- objects that take no other names ------------------------------------------------------------


def _closed_root(schema: Schema) -> dict[str, Any]:
    """The schema with its objects closed, the arguments themselves first of all.

    Where a reference stands under `allOf` or its like, what it refers to is a part of an object,
    and which definitions are wholes is not looked into: then only the arguments are closed.
    """
    is_whole = not any(_partial_references(schema, partial=False))
    closed = dict(_closed(schema, definitions=True)) if is_whole else dict(schema)
    is_open = "properties" not in schema or _names_more(schema)
    return closed if is_open else {**closed, "additionalProperties": False}


def _closed(node: Any, definitions: bool = False) -> Any:
    if not isinstance(node, Mapping):
        return node
    made = {key: _closed_value(node, key, value) for key, value in node.items()}
    for key in _DEFINITIONS if definitions else ():
        if isinstance(node.get(key), Mapping):
            made[key] = {name: _closed(each) for name, each in node[key].items()}
    is_closed = bool(node.get("properties")) and not _names_more(node)
    return {**made, "additionalProperties": False} if is_closed else made


def _closed_value(node: Schema, key: str, value: Any) -> Any:
    """The value of a keyword, the whole objects inside of it closed."""
    if key == "properties" and isinstance(value, Mapping):
        return {name: _closed(each) for name, each in value.items()}
    if key in ("items", "additionalProperties"):
        return _closed(value)
    is_list = key == "prefixItems" or (key in UNIONS and not _says_more(node))
    return [_closed(each) for each in value] if is_list and isinstance(value, list) else value


def _names_more(node: Schema) -> bool:
    """Does a schema say something on other names than those of its `properties`?"""
    return any(
        not (isinstance(part, Mapping) and part.keys() <= _NAMELESS)
        for key in _OPENING
        if key in node
        for part in (node[key] if key in ("allOf", *UNIONS) else [node[key]])
    )


def _says_more(node: Schema) -> bool:
    """Does a schema say something on names beside the alternatives that it has?"""
    beside = ("properties", *_OPENING)
    return sum(bool(node.get(key)) for key in beside) > 1


def _partial_references(node: Any, partial: bool) -> Iterator[str]:
    """The references that stand where only a part of an object is described."""
    if not isinstance(node, Mapping):
        return
    if "$ref" in node and (partial or _says_more(node)):
        yield str(node["$ref"])
    for key, value in node.items():
        if key in _DATA:
            continue
        below = partial or key in _PARTIAL or (key in UNIONS and _says_more(node))
        for each in _schemas(key, value):
            yield from _partial_references(each, below)


def _schemas(key: str, value: Any) -> list[Any]:
    if key in _NAMED:
        return list(value.values()) if isinstance(value, Mapping) else []
    return value if isinstance(value, list) else [value]


# ---- patterns, and the alternatives of unions ----------------------------------------------------


def _prepared(node: Any, is_kept: Callable[[str], bool], target: Target) -> Any:
    """The schema without patterns that are not kept, its unions' alternatives described."""
    if isinstance(node, list):
        return [_prepared(each, is_kept, target) for each in node]
    if not isinstance(node, Mapping):
        return node
    made = {
        key: value if key in _DATA else _prepared_value(key, value, is_kept, target)
        for key, value in node.items()
        if key != "pattern" or not isinstance(value, str) or is_kept(value)
    }
    unions = {key: made[key] for key in UNIONS if isinstance(made.get(key), list)}
    if unions:
        made[BRANCHES] = {k: branches_of(parts, node, target) for k, parts in unions.items()}
    return made


def _prepared_value(key: str, value: Any, is_kept: Callable[[str], bool], target: Target) -> Any:
    if key not in _NAMED or not isinstance(value, Mapping):
        return _prepared(value, is_kept, target)
    return {
        name: _prepared(each, is_kept, target)
        for name, each in value.items()
        if key != "patternProperties" or is_kept(name)
    }


def _is_never(pattern: str) -> bool:
    """A pattern of others is not evaluated: it can be written to take for ever."""
    return False


def _is_compiled(pattern: str) -> bool:
    """Is it a pattern of Python's? Those that only pydantic knows it judges when it builds."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
