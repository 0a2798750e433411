"""Is an input what its schema asks for? jsonschema judges; `faults` says the verdict in sentences.

Schemas may come from elsewhere, so nothing is fetched: a `$ref` that leads out of the schema is a
problem.
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

# What a schema brings about where a keyword has a value of the wrong kind ("properties": []).
_UNFIT = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError)
_MOST_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Judge:
    """A schema made ready: `schema` as it is judged by, and jsonschema's validator for it.

    `target` gives a part of the schema with its references followed; {} allows anything.
    """

    schema: Mapping[str, Any]
    validator: Any
    target: Target

    def allows(self, value: Any, schema: Any) -> bool:
        """Does `value` fit a part of this schema?"""
        with counting():
            return next(self.validator.descend(value, schema), None) is None

    def faults(self, value: Any, schema: Any) -> int:
        """How many faults a value has by a part of this schema, as far as they are counted."""
        with counting():
            found = self.validator.descend(value, schema)
            return len(list(itertools.islice(found, _MOST_ERRORS)))


class _Same:
    """A schema as a key: equal only to itself, and kept alive so that its id stays its own."""

    __slots__ = ("schema",)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema


def judge_for(schema: Mapping[str, Any], trusted: bool) -> Judge:
    """The judge of a schema, made once for each schema object: it must not change afterwards.

    Of schemas of others few are kept: each request of a client brings new ones, as large as it may.
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
    """The judge of a prepared schema; what `format` asks of our own, pydantic sees to."""
    import referencing

    registry: Any = referencing.Registry()
    validator = validator_class()(schema, registry=registry, format_checker=formats)
    return Judge(schema, validator, following(schema))


def verdict(tool: str, tool_input: dict[str, Any], judge: Judge) -> Problem | None:
    """What is wrong with an input, or None: the kind of the gravest fault, a sentence for each."""
    with counting():
        found = list(itertools.islice(judge.validator.iter_errors(tool_input), _MOST_ERRORS))
    return problem_of(tool, found) if found else None


def unusable(tool: str, error: Exception) -> Problem:
    """The problem of a call whose schema cannot be judged by; any other error is raised again."""
    import jsonschema
    import referencing.exceptions

    if isinstance(error, RecursionError):
        return Problem("too_deep", f"{tool}: the input or its schema is nested too deep")
    if isinstance(error, referencing.exceptions.Unresolvable):
        return Problem("invalid_argument", f"{tool}: its schema refers to {error.ref!r}, not given")
    if isinstance(error, (SchemaError, re.error, jsonschema.exceptions.UnknownType, *_UNFIT)):
        return Problem("invalid_argument", f"{tool}: its schema cannot be used: {error}")
    raise error
