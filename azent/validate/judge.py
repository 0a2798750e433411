"""Is an input what its schema asks for? jsonschema judges; this says the verdict in sentences.

Schemas may come from elsewhere, so nothing is fetched (a `$ref` that leads out of the schema is a
problem) and, where they are not trusted, their regular expressions are not evaluated: a pattern
can be written to take forever.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from azent.messages import Problem, ProblemKind

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_REGEXES = ("pattern", "patternProperties")
_KINDS: dict[str, ProblemKind] = {
    "required": "missing_argument",
    "additionalProperties": "unexpected_argument",
    "unevaluatedProperties": "unexpected_argument",
}
_OPENING = (
    *("additionalProperties", "unevaluatedProperties", "patternProperties"),
    *("allOf", "anyOf", "oneOf", "$ref"),
)
# What a schema brings about where a keyword has a value of the wrong kind ("properties": []).
UNFIT = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError)
_ORDER = ("missing_argument", "unexpected_argument", "invalid_argument")


@dataclass(frozen=True, slots=True)
class Judge:
    """A schema made ready: `schema` as it is judged by, and jsonschema's validator for it."""

    schema: Mapping[str, Any]
    validator: Any

    def allows(self, value: Any, schema: Any) -> bool:
        """Does `value` fit a part of this schema?"""
        return next(self.validator.descend(value, schema), None) is None

    def target(self, schema: Any) -> Mapping[str, Any]:
        """A part of the schema with its references followed; {} for one that allows anything."""
        for _ in range(32):
            if not isinstance(schema, Mapping):
                return {}
            if not isinstance(reference := schema.get("$ref"), str):
                return schema
            inner = _at_pointer(self.schema, reference)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**inner, **rest} if isinstance(inner, Mapping) else rest
        return {}


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
    return _judge(_closed(key.schema))


@lru_cache(maxsize=16)
def _foreign_judge(key: _Same) -> Judge:
    return _judge(_closed(_without_regexes(key.schema)))


def _judge(schema: Mapping[str, Any]) -> Judge:
    import jsonschema
    import referencing

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return Judge(schema, kind(schema, registry=referencing.Registry()))


def _closed(schema: Any) -> dict[str, Any]:
    """A function takes the arguments that it names, and others only if its schema says so."""
    if "properties" not in schema or any(key in schema for key in _OPENING):
        return dict(schema)
    return {**schema, "additionalProperties": False}


def _without_regexes(schema: Any, names: bool = False) -> Any:
    """The schema without patterns; where `names`, keys are names of properties, not keywords."""
    if isinstance(schema, list):
        return [_without_regexes(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value
        if not names and key in ("enum", "const", "default", "examples")
        else _without_regexes(value, not names and key in ("properties", "$defs", "definitions"))
        for key, value in schema.items()
        if names or key not in _REGEXES
    }


def _at_pointer(schema: Mapping[str, Any], reference: str) -> Any:
    node: Any = schema
    if not reference.startswith("#"):
        return None
    for key in reference.removeprefix("#").split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        node = node.get(name) if isinstance(node, Mapping) else None
    return node


def verdict(tool: str, tool_input: dict[str, Any], judge: Judge) -> Problem | None:
    """What is wrong with an input, or None: the kind of the gravest fault, a sentence for each."""
    import jsonschema
    import referencing.exceptions

    try:
        found = list(judge.validator.iter_errors(tool_input))
    except referencing.exceptions.Unresolvable as error:
        return Problem("invalid_argument", f"{tool}: its schema refers to {error.ref!r}, not given")
    except (re.error, jsonschema.exceptions.UnknownType, *UNFIT) as error:
        return unusable(tool, error)
    except RecursionError:
        return Problem("too_deep", f"{tool}: the input is nested too deep")
    if not found:
        return None
    faults = [fault for error in found[:8] for fault in _faults(error)]
    kind = min((kind for kind, _ in faults), key=_ORDER.index)
    faults.sort(key=lambda fault: _ORDER.index(fault[0]))
    return Problem(kind, f"{tool}: " + "; ".join(sentence for _, sentence in faults))


def unusable(tool: str, error: Exception) -> Problem:
    """The problem of a call whose schema cannot be judged by."""
    return Problem("invalid_argument", f"{tool}: its schema cannot be used: {error}")


def _faults(error: ValidationError) -> Iterator[tuple[ProblemKind, str]]:
    kind = _KINDS.get(str(error.validator), "invalid_argument")
    yield kind, _sentence(error)


def _sentence(error: ValidationError) -> str:
    say = _SENTENCES.get(str(error.validator))
    return f"{say(error) if say else _foreign(error)} at {error.json_path}"


def _foreign(error: ValidationError) -> str:
    if error.validator in ("anyOf", "oneOf") and error.context:
        return _of_several(error)
    return _short(error.message)


def _of_several(error: ValidationError) -> str:
    wanted = [
        _article(inner.validator_value)
        for inner in error.context or ()
        if inner.validator == "type" and len(inner.relative_path) == 0
    ]
    if len(wanted) == len({inner.schema_path[0] for inner in error.context or ()}) and wanted:
        return f"{_quoted(error.instance)} is not {' or '.join(dict.fromkeys(wanted))}"
    furthest = max(error.context or (), key=lambda inner: len(inner.relative_path))
    return _sentence(furthest) + ", in the value"


def _missing(error: ValidationError) -> str:
    given = error.instance if isinstance(error.instance, dict) else {}
    required: Any = error.validator_value
    absent = [name for name in required if name not in given]
    this = next((name for name in absent if repr(name) in error.message), absent[0])
    return f"{this!r} is missing"


def _unexpected(error: ValidationError) -> str:
    known = list(error.schema.get("properties", ())) if isinstance(error.schema, Mapping) else []
    given: Any = error.instance
    extra = [name for name in given if name not in known]
    names = ", ".join(repr(name) for name in extra[:5])
    takes = f"it takes {', '.join(map(repr, known[:20]))}" if known else "it takes none"
    return f"there is no argument {names} ({takes})"


def _article(kind: Any) -> str:
    kinds = [kind] if isinstance(kind, str) else list(kind)
    return " or ".join(
        "null" if each == "null" else f"{'an' if each[0] in 'aeiou' else 'a'} {each}"
        for each in kinds
    )


def _quoted(value: Any) -> str:
    return _short(repr(value) if isinstance(value, str) else json.dumps(value, default=str))


def _quoted_list(values: Any) -> str:
    return ", ".join(_quoted(each) for each in list(values)[:20])


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


_SENTENCES: dict[str, Callable[[ValidationError], str]] = {
    "type": lambda error: f"{_quoted(error.instance)} is not {_article(error.validator_value)}",
    "enum": lambda error: (
        f"{_quoted(error.instance)} is not one of " + _quoted_list(error.validator_value)
    ),
    "const": lambda error: f"{_quoted(error.instance)} is not {_quoted(error.validator_value)}",
    "required": _missing,
    "additionalProperties": _unexpected,
    "minimum": lambda error: f"{_quoted(error.instance)} is less than {error.validator_value}",
    "maximum": lambda error: f"{_quoted(error.instance)} is more than {error.validator_value}",
    "minItems": lambda error: f"it needs {error.validator_value} items or more",
    "maxItems": lambda error: f"it takes {error.validator_value} items or fewer",
}
