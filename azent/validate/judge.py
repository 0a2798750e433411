"""Validate an input against its schema with jsonschema.

Schemas may come from anywhere, so nothing is fetched: an external `$ref` is a problem.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from azent.errors import SchemaError
from azent.messages import Problem
from azent.validate.faults import problem_of
from azent.validate.formats import format_checker
from azent.validate.prepared import Target, following, prepared
from azent.validate.unions import counting, validator_class

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
