"""Read answers of a type, and write answers and events as JSON.

The type is treated as the only parameter of a function, so that schema, coercion and construction
are those of function arguments. A value that is not a JSON object is wrapped in one, under the name
"value", because servers and models handle objects best.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from azent.errors import SchemaError
from azent.messages import (
    Answer,
    Asking,
    Call,
    CallFinished,
    CallStarted,
    Chunk,
    Corrected,
    Event,
    Message,
    Problem,
    Replied,
    Shrunk,
    Thinking,
    Warning,
)
from azent.messages.json_forms import to_json
from azent.parsing.decoding_schema import value_schema
from azent.schema.build import InvalidArguments, build
from azent.schema.introspect import Introspected, introspect
from azent.schema.validate import checked
from azent.values.lenient_json import literal
from azent.values.results import text_of

VALUE = "value"
FENCE = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Typed:
    """A type of answers."""

    taker: Introspected  # a function whose only parameter has the type
    schema: Mapping[str, Any]  # the JSON Schema that the model reads
    held: dict[str, Any]  # the JSON Schema for constrained decoding
    wrapped: bool  # whether a value is wrapped in {"value": ...}


def typed(hint: Any) -> Typed:
    """Return the type of answers for an annotation. Raises SchemaError if JSON cannot hold it."""

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
    """Return the value that a text contains, its JSON, and the problem if it is invalid."""
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
    """Yield the candidates for the value: what is inside the wrapper, then the whole."""
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
    """Return the problem with the paths of what the model wrote."""
    said = problem.message.removeprefix(f"{kind.taker.name}: ")
    return Problem(problem.kind, said if kind.wrapped else said.replace(f"$.{VALUE}", "$"))


# ---- null ----------------------------------------------------------------------------------------
# Grammars are given no null: leaving a key out says the same. Where the type demands the key, it is
# left out for the grammar, and filled in afterwards.


def _without_required_nulls(schema: Any) -> Any:
    """Return the schema without `required` for keys that may be null."""
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
    """Return the value with null for each missing required key that may be null."""
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


# ---- answers and events as JSON ------------------------------------------------------------------


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON values."""
    return {
        "answer": answer.text,
        "value": _plain(answer.value),
        "calls": [{"tool": c.tool, "tool_input": c.tool_input} for c in answer.calls],
        "results": [{"tool": r.tool, "ok": r.ok, "text": r.text} for r in answer.results],
        "stopped": answer.stopped,
        "warnings": list(answer.warnings),
        "usage": {
            "prompt_tokens": answer.usage.prompt_tokens,
            "reply_tokens": answer.usage.reply_tokens,
            "requests": answer.usage.requests,
            "seconds": round(answer.usage.seconds, 3),
        },
    }


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as plain JSON values, with its name under "event"."""
    match event:
        case Asking(move, number, why):
            reason = {"why": why} if why else {}
            return {"event": "asking", "move": move, "number": number, **reason}
        case Chunk(text):
            return {"event": "chunk", "text": text}
        case Thinking(text):
            return {"event": "thinking", "text": text}
        case Replied(reply):
            return {"event": "replied", **_message_json(reply)}
        case CallStarted(call):
            return {"event": "call_started", **_call_json(call)}
        case CallFinished(call, result, seconds):
            outcome = {"ok": result.ok, "text": result.text, "seconds": round(seconds, 3)}
            return {"event": "call_finished", **_call_json(call), **outcome}
        case Corrected(problem):
            return {"event": "corrected", **asdict(problem)}
        case Shrunk(note):
            return {"event": "shrunk", **_message_json(note)}
        case Warning(text):
            return {"event": "warning", "text": text}
        case Answer():
            return {"event": "answer", **answer_json(event)}


def _call_json(call: Call) -> dict[str, Any]:
    return {"id": call.id, "tool": call.tool, "tool_input": call.tool_input}


def _message_json(message: Message) -> dict[str, Any]:
    return {name: value for name, value in to_json(message).items() if name != "kind"}


def _plain(value: Any) -> Any:
    """Return a value as JSON values; an object without a JSON form as its text."""
    if value is None or isinstance(value, str | int | float):
        return value
    text = text_of(value)
    try:
        return json.loads(text)
    except ValueError:
        return text
