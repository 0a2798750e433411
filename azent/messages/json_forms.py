"""Write messages as plain JSON values, and read them back."""

from __future__ import annotations

import dataclasses
from functools import cache
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from azent.messages import Correction, Message, Note, Question, Ranking, Reply, Result

_KINDS: dict[str, type[Message]] = {
    "question": Question,
    "ranking": Ranking,
    "reply": Reply,
    "result": Result,
    "correction": Correction,
    "note": Note,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_json(message: Message) -> dict[str, Any]:
    """Return a message as a JSON object: its kind under "kind", and the fields not at default."""
    return {"kind": _NAMES[type(message)], **_json_object(message)}


def from_json(data: Any) -> Message:
    """Return the message that `to_json` wrote. Raises TypeError, KeyError, ValueError."""
    fields = {name: value for name, value in _object(data).items() if name != "kind"}
    message: Message = read_as(_KINDS[str(data["kind"])], fields)
    return message


def read_as(kind: Any, value: Any) -> Any:
    """Return a JSON value as an annotated type. Raises TypeError, KeyError, ValueError."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        types = _field_types(kind)
        return kind(**{name: read_as(types[name], each) for name, each in _object(value).items()})
    origin, choices = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else read_as(choices[0], value)
    if origin is tuple and isinstance(value, list):
        kinds = choices[:1] * len(value) if choices[-1] is Ellipsis else choices
        return tuple(read_as(each, item) for each, item in zip(kinds, value, strict=True))
    if kind is float and type(value) is int:
        return float(value)
    if kind is Any or type(value) is (origin or kind) or (origin is Literal and value in choices):
        return value
    raise TypeError(f"{value!r:.80} is not of the type {kind}")


def _json_object(value: Any) -> dict[str, Any]:
    stored = [f for f in dataclasses.fields(value) if f.compare]
    items = {f.name: getattr(value, f.name) for f in stored}
    return {f.name: _json_value(items[f.name]) for f in stored if items[f.name] != f.default}


def _json_value(item: Any) -> Any:
    if dataclasses.is_dataclass(item):
        return _json_object(item)
    return [_json_value(each) for each in item] if isinstance(item, tuple) else item


@cache
def _field_types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise TypeError(f"{value!r:.80} is not an object")
