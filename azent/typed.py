"""Answers of a type: what decoding is held to, what the model is shown, what value it gives.

The type stands as the one parameter of a function, so that its schema, the coercion of what the
model wrote and the objects made of it are those of every function's arguments. What is no JSON
object travels in one, under the name "value": servers and models know objects best.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from azent.errors import SchemaError
from azent.literals import literal
from azent.messages import Call, Problem
from azent.reply import value_schema
from azent.schema import Introspected, InvalidArguments, build, introspect
from azent.validate import checked

VALUE = "value"
FENCE = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Typed:
    """A type of answers: `schema` is shown to the model, `held` is what decoding is held to.

    `wrapped` is whether a value travels in an object, under the name "value".
    """

    taker: Introspected
    schema: Mapping[str, Any]
    held: dict[str, Any]
    wrapped: bool


def typed(hint: Any) -> Typed:
    """Answers of the type that an annotation means. Raises SchemaError for what is not JSON."""

    if inspect.isroutine(hint):
        raise SchemaError(f"answers cannot be of the type {hint!r}", "A function is no type.")

    def answer(value: Any) -> None:
        """Takes the answer."""

    answer.__annotations__ = {VALUE: hint}
    try:
        taker = introspect(answer)
    except SchemaError as error:
        said = f"answers cannot be of the type {hint!r}: {error}"
        raise SchemaError(said, "Use a type that JSON can hold.") from error
    whole = taker.spec["parameters"]
    inner = whole["properties"][VALUE]
    held = value_schema(_without_required_nulls(whole))
    if inner.get("type") != "object":
        return Typed(taker, whole, {"type": "object", **held}, wrapped=True)
    definitions = {"$defs": whole["$defs"]} if "$defs" in whole else {}
    return Typed(taker, {**inner, **definitions}, held["properties"][VALUE], wrapped=False)


def read_value(text: str, kind: Typed) -> tuple[Any, str, Problem | None]:
    """The value that a text writes down, its JSON, and what is wrong with it."""
    try:
        given = literal(_unfenced(text))
    except ValueError:
        return None, text, Problem("malformed", "the answer is not JSON")
    readings = [_built(each, kind) for each in _unwrapped(given, kind)]
    return next((each for each in readings if each[2] is None), readings[0])


def _unfenced(text: str) -> str:
    fenced = FENCE.fullmatch(text)
    return fenced[1] if fenced else text


def _unwrapped(given: Any, kind: Typed) -> Iterator[Any]:
    """What may be the value: that under its name where it travels so, or all of it."""
    if kind.wrapped and isinstance(given, Mapping) and given.keys() == {VALUE}:
        yield given[VALUE]
    yield given


def _built(given: Any, kind: Typed) -> tuple[Any, str, Problem | None]:
    spec = kind.taker.spec
    whole = {VALUE: _with_nulls(given, spec["parameters"]["properties"][VALUE])}
    call, _ = checked(Call(spec["name"], whole), {spec["name"]: spec})
    shown = json.dumps(call.tool_input.get(VALUE), ensure_ascii=False, default=str)
    if call.problem:
        return None, shown, _problem(call.problem, kind)
    try:
        _, keywords = build(kind.taker, call.tool_input)
    except InvalidArguments as error:
        return None, shown, _problem(error.problem, kind)
    return keywords[VALUE], shown, None


def _problem(problem: Problem, kind: Typed) -> Problem:
    """The problem in terms of what the model wrote."""
    said = problem.message.removeprefix(f"{kind.taker.name}: ")
    return Problem(problem.kind, said if kind.wrapped else said.replace(f"$.{VALUE}", "$"))


# ---- null ----------------------------------------------------------------------------------------
# Grammars are given no null: leaving a key out says the same. Where the type demands the key, it is
# left out for the grammar, and filled in afterwards.


def _without_required_nulls(schema: Any) -> Any:
    """The schema, asking for no key that may be null."""
    if isinstance(schema, list):
        return [_without_required_nulls(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    copied = {key: _without_required_nulls(each) for key, each in schema.items()}
    if isinstance(copied.get("required"), list):
        parts = schema.get("properties", {})
        copied["required"] = [key for key in copied["required"] if not _may_be_null(parts.get(key))]
    return copied


def _with_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value, with null for each key that is asked for, was left out, and may be null."""
    if isinstance(value, list):
        return [_with_nulls(each, schema.get("items", {})) for each in value]
    if not isinstance(value, dict):
        return value
    parts = schema.get("properties", {})
    missing = [key for key in schema.get("required", ()) if key not in value]
    filled = {key: _with_nulls(each, parts.get(key, {})) for key, each in value.items()}
    return {**filled, **{key: None for key in missing if _may_be_null(parts.get(key))}}


def _may_be_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(map(_may_be_null, branches))
    )
