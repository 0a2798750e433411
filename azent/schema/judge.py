"""Validate an input against its schema with jsonschema.

Schemas may come from anywhere, so nothing is fetched: an external `$ref` is a problem.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from azent.errors import SchemaError
from azent.messages import Problem
from azent.schema.faults import format_checker, problem_of
from azent.schema.names import Schema
from azent.schema.references import DEFINITIONS, NAMED, check_ends, leading_to, looked_up
from azent.schema.unions import BRANCHES, UNIONS, branches_of, counting, validator_class

# Errors caused by a keyword with a value of the wrong type ("properties": []).
_UNFIT = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError)
_MOST_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Judge:
    """A compiled schema."""

    schema: Mapping[str, Any]  # the prepared schema
    validator: Any  # jsonschema's
    target: Target  # resolves the references of a subschema; {} allows anything

    def allows(self, value: Any, schema: Any) -> bool:
        """Return whether a value is valid against a subschema."""
        with counting():
            return next(self.validator.descend(value, schema), None) is None

    def faults(self, value: Any, schema: Any) -> int:
        """Return the number of errors of a value against a subschema, `_MOST_ERRORS` at most."""
        with counting():
            found = self.validator.descend(value, schema)
            return len(list(itertools.islice(found, _MOST_ERRORS)))


class _Same:
    """A cache key for a schema, compared by identity; keeps the schema, so its id is unique."""

    __slots__ = ("schema",)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema


def judge_for(schema: Mapping[str, Any], trusted: bool) -> Judge:
    """Return the compiled schema, cached by identity: the schema must not change afterwards.

    Few third-party schemas are cached, because each request may bring new large ones.
    """
    same = _Same(schema)
    return _own_judge(same) if trusted else _foreign_judge(same)


@lru_cache(maxsize=4096)
def _own_judge(key: _Same) -> Judge:
    return _judge(prepared(key.schema, trusted=True), formats=None)


@lru_cache(maxsize=16)
def _foreign_judge(key: _Same) -> Judge:
    return _judge(prepared(key.schema, trusted=False), formats=format_checker())


def _judge(schema: Mapping[str, Any], formats: Any) -> Judge:
    """Return the compiled form of a prepared schema; formats of our own types pydantic checks."""
    import referencing

    registry: Any = referencing.Registry()
    validator = validator_class()(schema, registry=registry, format_checker=formats)
    return Judge(schema, validator, following(schema))


def verdict(tool: str, tool_input: dict[str, Any], judge: Judge) -> Problem | None:
    """Return the problem of an input, or None if it is valid."""
    with counting():
        found = list(itertools.islice(judge.validator.iter_errors(tool_input), _MOST_ERRORS))
    return problem_of(tool, found) if found else None


def unusable(tool: str, error: Exception) -> Problem:
    """Return the problem of a call whose schema is unusable; raise any other error again."""
    import jsonschema
    import referencing.exceptions

    if isinstance(error, RecursionError):
        return Problem("too_deep", f"{tool}: the input or its schema is nested too deep")
    if isinstance(error, referencing.exceptions.Unresolvable):
        return Problem("invalid_argument", f"{tool}: its schema refers to {error.ref!r}, not given")
    if isinstance(error, (SchemaError, re.error, jsonschema.exceptions.UnknownType, *_UNFIT)):
        return Problem("invalid_argument", f"{tool}: its schema cannot be used: {error}")
    raise error


# ---- a schema as calls are judged by it ----------------------------------------------------------
# JSON Schema accepts unknown names by default, and a misspelt one would be ignored silently.
# Patterns that must not or cannot be evaluated are removed, and unions get a description of their
# alternatives.

Target = Callable[[Any], Schema]

_DATA = ("enum", "const", "default", "examples", "example")
_NAMED = NAMED | DEFINITIONS
# Keywords beside `properties` that may allow other names, so that the object stays open.
_OPENING = (
    *("additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"),
    *("allOf", "anyOf", "oneOf", "$ref", "then", "else", "dependentSchemas"),
)
_NAMELESS = {
    "required",
    "description",
    "title",
    "not",
}  # a schema with only these allows no other names
# Keywords whose subschemas describe only a part of an object: nothing below them is closed.
_PARTIAL = ("allOf", "if", "then", "else", "not", "dependentSchemas", "contains", "propertyNames")


def prepared(schema: Schema, trusted: bool) -> dict[str, Any]:
    """Return the schema to validate against; `trusted` allows its patterns to be evaluated.

    Raises SchemaError if a reference is missing or endless.
    """
    check_ends(schema)
    closed = _closed_root(schema)
    target = following(closed)
    is_kept = _is_compiled if trusted else _is_never
    return dict(_prepared(_Lenient(is_kept).relaxed(closed), is_kept, target))


def following(whole: Schema) -> Target:
    """Return a function that resolves the references of a subschema; {} allows anything."""

    def target(part: Any) -> Schema:
        for _ in range(32):
            if not isinstance(part, Mapping):
                return {}
            if "$ref" not in part:
                return part
            inner = _found(whole, part["$ref"])
            rest = {key: value for key, value in part.items() if key != "$ref"}
            part = {**inner, **rest} if isinstance(inner, Mapping) else rest
        return {}

    return target


def _found(whole: Schema, ref: Any) -> Any:
    """Return the target of a reference, {} if there is none.

    `check_ends` has refused such references in schemas; other keywords may hold any.
    """
    try:
        return looked_up(whole, ref) if isinstance(ref, str) else {}
    except SchemaError:
        return {}


# ---- objects that take no other names ------------------------------------------------------------


def _closed_root(schema: Schema) -> dict[str, Any]:
    """Return the schema with its objects closed, at least the arguments themselves.

    A definition referenced under `allOf` or the like describes a part of an object, and must stay
    open; then only the arguments are closed.
    """
    is_whole = not any(_partial_references(schema, partial=False))
    closed = dict(_closed(schema, definitions=True)) if is_whole else dict(schema)
    is_open = "properties" not in schema or _names_more(schema)
    return closed if is_open else {**closed, "additionalProperties": False}


def _closed(node: Any, definitions: bool = False) -> Any:
    if not isinstance(node, Mapping):
        return node
    made = {key: _closed_value(node, key, value) for key, value in node.items()}
    for key in DEFINITIONS if definitions else ():
        if isinstance(node.get(key), Mapping):
            made[key] = {name: _closed(each) for name, each in node[key].items()}
    is_closed = bool(node.get("properties")) and not _names_more(node)
    return {**made, "additionalProperties": False} if is_closed else made


def _closed_value(node: Schema, key: str, value: Any) -> Any:
    """Return the value of a keyword with the complete objects inside it closed."""
    if key == "properties" and isinstance(value, Mapping):
        return {name: _closed(each) for name, each in value.items()}
    if key in ("items", "additionalProperties"):
        return _closed(value)
    is_list = key == "prefixItems" or (key in UNIONS and not _says_more(node))
    return [_closed(each) for each in value] if is_list and isinstance(value, list) else value


def _names_more(node: Schema) -> bool:
    """Return whether a schema allows other names than those in `properties`."""
    return any(
        not (isinstance(part, Mapping) and part.keys() <= _NAMELESS)
        for key in _OPENING
        if key in node
        for part in (node[key] if key in ("allOf", *UNIONS) else [node[key]])
    )


def _says_more(node: Schema) -> bool:
    """Return whether a schema names properties beside its alternatives."""
    beside = ("properties", *_OPENING)
    return sum(bool(node.get(key)) for key in beside) > 1


def _partial_references(node: Any, partial: bool) -> Iterator[str]:
    """Yield the references at places that describe only a part of an object."""
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
    """Return the schema without rejected patterns, its unions described."""
    if isinstance(node, list):
        return [_prepared(_as_object(each), is_kept, target) for each in node]
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
        name: _prepared(_as_object(each), is_kept, target)
        for name, each in value.items()
        if key != "patternProperties" or is_kept(name)
    }


def _as_object(schema: Any) -> Any:
    """Return `false` as an object: jsonschema tells no path for the errors of the boolean."""
    return {"not": {}} if schema is False else schema


class _Lenient:
    """Relaxes keywords that would reject legal values once a pattern below them is removed.

    `{"not": {"pattern": "^a"}}` without its pattern allows nothing, and the alternatives of a
    `oneOf` that differ in their patterns all fit.
    """

    def __init__(self, is_kept: Callable[[str], bool]) -> None:
        self._is_kept = is_kept
        self._lost: set[str] = set()  # the references that lead to a removed pattern

    def relaxed(self, schema: Schema) -> Schema:
        """Return a schema whose keywords allow what they allowed with the removed patterns."""
        self._lost = leading_to(schema, self._loses)
        return dict(self._relaxed(schema)) if self._lost or self._loses(schema) else schema

    def _relaxed(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._relaxed(each) for each in node]
        if not isinstance(node, Mapping):
            return node
        made = {key: self._value(key, value) for key, value in node.items()}
        for key, dropped in _RELAXED.items():
            part = {key: node[key]} if key == "patternProperties" and key in node else node.get(key)
            if self._loses(part):
                made = {name: value for name, value in made.items() if name not in dropped}
        if self._loses(node.get("oneOf")):
            made["allOf"] = [*made.get("allOf", ()), {"anyOf": made.pop("oneOf")}]
        return made

    def _value(self, key: str, value: Any) -> Any:
        if key in _NAMED and isinstance(value, Mapping):
            return {name: self._relaxed(each) for name, each in value.items()}
        return value if key in _DATA else self._relaxed(value)

    def _loses(self, node: Any) -> bool:
        """Return whether a pattern in a schema, or in what it refers to, is removed."""
        if isinstance(node, list):
            return any(map(self._loses, node))
        if not isinstance(node, Mapping):
            return False
        is_lost = str(node.get("$ref")) in self._lost
        return is_lost or any(self._loses_by(key, value) for key, value in node.items())

    def _loses_by(self, key: str, value: Any) -> bool:
        if key == "pattern" and isinstance(value, str):
            return not self._is_kept(value)
        if key in _DATA or key in DEFINITIONS:
            return False
        if key not in _NAMED or not isinstance(value, Mapping):
            return self._loses(value)
        is_lost = key == "patternProperties" and not all(map(self._is_kept, value))
        return is_lost or any(map(self._loses, value.values()))


# The keywords to leave out where a keyword loses a pattern.
_RELAXED = {
    "not": ("not",),
    "if": ("if", "then", "else"),
    "contains": ("maxContains",),
    "patternProperties": ("additionalProperties", "unevaluatedProperties"),
}


def _is_never(pattern: str) -> bool:
    """Return False: a third party's pattern may take forever to evaluate."""
    return False


def _is_compiled(pattern: str) -> bool:
    """Return whether Python can compile a pattern; pydantic checks others when it builds."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
