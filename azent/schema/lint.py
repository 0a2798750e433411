"""Find what small models find hard in a set of schemas, with advice.

An error breaks calls with any model; a warning costs accuracy with small ones. The limits are rules
of thumb.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from azent.messages import Spec, Specs

Severity = Literal["error", "warning"]
Place = tuple[str, Mapping[str, Any], int]  # path, schema, and in how many objects it stands

_DEEPEST = 2
_MOST_CHOICES = 20
_MOST_PARAMETERS = 10
_LONGEST_NAME = 64
_SHORTEST_LOOK_ALIKE = 5
_LONGEST_DESCRIPTION = 1000
_HARD_FORMATS = {
    "duration": "an ISO 8601 duration; take a number of seconds or minutes instead",
    "binary": "bytes; take text, or the path of a file",
    "regex": "a regular expression; take plain text to look for",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to fix in a tool: the parameter (a path, or ""), the rule and the advice."""

    tool: str
    parameter: str
    rule: str
    severity: Severity
    message: str


def lint(specs: Specs | Iterable[Spec]) -> tuple[Finding, ...]:
    """Return the findings on each schema, then those on pairs of schemas."""
    listed = list(specs.values() if isinstance(specs, Mapping) else specs)
    alone = [finding for spec in listed for finding in _in_one(spec)]
    return (*alone, *_between(listed))


# ---- one tool ------------------------------------------------------------------------------------


def _in_one(spec: Spec) -> Iterator[Finding]:
    name, parameters = spec["name"], spec.get("parameters", {})
    yield from (Finding(name, "", *found) for found in _in_whole(spec))
    for parameter, schema in parameters.get("properties", {}).items():
        if not any(_texts(schema)):
            sentence = 'Say what it is for: in the docstring, or with Annotated[type, "text"].'
            yield Finding(name, parameter, "parameter-without-text", "warning", sentence)
    for path, schema, depth in _places(parameters):
        yield from (Finding(name, path, *found) for found in _in_shape(schema, depth))


def _in_whole(spec: Spec) -> Iterator[tuple[str, Severity, str]]:
    description = spec.get("description") or ""
    properties = spec.get("parameters", {}).get("properties", {})
    if not description:
        hint = "" if properties else " If a decorator hides it, add functools.wraps to that."
        yield "no-description", "error", f"Say in its docstring what it does and when.{hint}"
    if len(description) > _LONGEST_DESCRIPTION:
        yield "long-description", "warning", f"Cut it from {len(description)} characters to a few."
    if len(spec["name"]) > _LONGEST_NAME:
        yield "long-name", "warning", f"Shorten the name to {_LONGEST_NAME} characters at most."
    if len(properties) > _MOST_PARAMETERS:
        sentence = f"It has {len(properties)} parameters: split it, or fix some of them."
        yield "many-parameters", "warning", sentence
    for one, other in _look_alikes(properties):
        sentence = f"Rename {one!r} or {other!r}: they are easily mixed up."
        yield "look-alike-names", "warning", sentence


def _texts(schema: Any) -> Iterator[str]:
    """Yield the descriptions of a schema and of its alternatives."""
    if isinstance(schema, Mapping):
        yield schema.get("description", "")
        for key in ("anyOf", "oneOf", "allOf"):
            yield from (text for branch in schema.get(key, ()) for text in _texts(branch))


def _in_shape(schema: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Severity, str]]:
    if depth > _DEEPEST and "properties" in schema:
        sentence = f"An object inside {depth} others: flatten it, or split the function."
        yield "deep-nesting", "warning", sentence
    if len(schema.get("enum", ())) > _MOST_CHOICES:
        sentence = f"{len(schema['enum'])} choices: take text and look it up, or group them."
        yield "huge-enum", "warning", sentence
    if "$ref" in schema:
        yield "recursive-type", "warning", "A type that contains itself: take a flat list instead."
    if "prefixItems" in schema:
        yield (
            "tuple-type",
            "warning",
            "Places without names: take one parameter for each, or a class.",
        )
    if len([each for each in schema.get("anyOf", ()) if each != {"type": "null"}]) > 1:
        yield "union-type", "warning", "Several types at once: choose one, or make two functions."
    if not schema.keys() - {"description", "default"}:
        yield "no-type", "warning", "Anything goes: say which type it has to be."
    if schema.get("format") in _HARD_FORMATS:
        yield "hard-type", "warning", f"Models seldom write {_HARD_FORMATS[schema['format']]}."


def _places(schema: Mapping[str, Any]) -> Iterator[Place]:
    """Yield each subschema with its path and depth."""
    waiting: list[Place] = [("", schema, 0)]
    while waiting:
        path, node, depth = waiting.pop(0)
        if path:
            yield path, node, depth
        waiting[:0] = [each for each in _inside(path, node, depth) if isinstance(each[1], Mapping)]


def _inside(path: str, node: Mapping[str, Any], depth: int) -> Iterator[Place]:
    for name, each in node.get("properties", {}).items():
        yield (f"{path}.{name}" if path else name), each, depth + bool(path)
    for key, step in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(node.get(key), Mapping) and node[key] and path:
            yield path + step, node[key], depth
    for branches in ("anyOf", "oneOf", "allOf"):
        yield from ((path, each, depth) for each in node.get(branches, ()) if path)


# ---- between tools -------------------------------------------------------------------------------


def _between(specs: list[Spec]) -> Iterator[Finding]:
    for one, other in _look_alikes([spec["name"] for spec in specs]):
        sentence = f"Rename it or {other!r}: they are easily mixed up."
        severity: Severity = "error" if _plain(one) == _plain(other) else "warning"
        yield Finding(one, "", "look-alike-names", severity, sentence)
    named: dict[str, str] = {}
    for spec in specs:
        first = named.setdefault(spec.get("description") or spec["name"], spec["name"])
        if first != spec["name"]:
            sentence = f"Say how it differs from {first!r}, which has the same description."
            yield Finding(spec["name"], "", "same-description", "warning", sentence)


def _look_alikes(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ by case, separators, word order or one letter."""
    forms = [(name, _plain(name), _words(name)) for name in names]
    for (one, plain, words), (other, other_plain, other_words) in itertools.combinations(forms, 2):
        if plain == other_plain or words == other_words or _is_near(plain, other_plain):
            yield one, other


def _plain(name: str) -> str:
    return re.sub(r"[-_. ]", "", name).casefold()


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return sorted(re.split(r"[-_. ]+", spaced.casefold()))


def _is_near(one: str, other: str) -> bool:
    """Return whether two long names differ by one letter; a digit does not count."""
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORTEST_LOOK_ALIKE or len(long) - len(short) > 1:
        return False
    pairs = zip(short, long, strict=False)
    start = next((index for index, (a, b) in enumerate(pairs) if a != b), len(short))
    skipped = short[start : start + len(short) + 1 - len(long)]
    is_same_after = short[start + len(skipped) :] == long[start + 1 :]
    return is_same_after and not (skipped + long[start : start + 1]).isdecimal()
