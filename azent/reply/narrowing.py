"""Replies that only narrow a decision down: which functions, or how many calls.

    gate     yes
    choose   {"asked": "...", "functions": {"add": "yes", "weather": "no"}}
    list     {"asked": ["the weather in Oslo", "the weather in Rome"]}

They hold no calls and no words for a person. A reply that cannot be read narrows nothing down: the
decision that follows is then asked for as if this one had not been.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from azent.literals import TooDeep, literal
from azent.messages import Call, Reply
from azent.reply.words import read_words

Narrowing: TypeAlias = Literal["gate", "choose", "list"]
WORDS = {"type": "string", "maxLength": 80}
MOST_LISTED = 8
YES = {"yes", "true", "y", "1", "是"}
NO = re.compile(r"\W*(no|none|否|不)\b", re.IGNORECASE)


def narrowing_schema(move: Narrowing, names: Iterable[str]) -> dict[str, Any] | None:
    """The schema that a reply of this kind is held to, if any, for functions of these names."""
    if move == "gate":
        return None
    if move == "list":
        asked = {"type": "array", "items": WORDS, "minItems": 1, "maxItems": MOST_LISTED}
        return _object({"asked": asked})
    verdicts = {name: {"type": "string", "enum": ["yes", "no"]} for name in names}
    return _object({"asked": WORDS, "functions": _object(verdicts)})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def read_narrowing(text: str, move: Narrowing, names: Iterable[str]) -> Reply:
    """What a reply of this kind says: the functions, or the things asked for. Never raises.

    A no at the gate picks no function; anything else there leaves it open.
    """
    if move == "gate":
        return Reply(move=move, picked=() if NO.match(read_words(text).text) else None, raw=text)
    said = _value(read_words(text).text)
    if not isinstance(said, Mapping):
        return Reply(move=move, raw=text)
    picked = _listed(said.get("asked")) if move == "list" else _chosen(said, tuple(names))
    return Reply(move=move, picked=picked, raw=text)


def _value(text: str) -> Any:
    """The object in a text, fence or words around it or not."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        return literal(text[begin : end + 1]) if 0 <= begin < end else None
    except (ValueError, TooDeep):
        return None


def _listed(asked: Any) -> tuple[str, ...] | None:
    things = [each.strip() for each in asked if isinstance(each, str)] if _is_list(asked) else []
    return tuple(dict.fromkeys(filter(None, things))) or None


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _chosen(said: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The functions that are said to be needed; None where none of them is spoken of."""
    verdicts = said.get("functions", said)
    if _is_list(verdicts):
        return tuple(name for name in names if name in verdicts)
    if not isinstance(verdicts, Mapping) or not any(name in verdicts for name in names):
        return None
    return tuple(name for name in names if str(verdicts.get(name)).strip().lower() in YES)


class NarrowingReader:
    """Reads such a reply while it streams: the methods of `Reader`, with nothing to show."""

    def __init__(self, move: Narrowing, names: Iterable[str]) -> None:
        self._move: Narrowing = move
        self._names = tuple(names)
        self._texts: list[str] = []

    def feed(self, piece: str) -> list[Call]:
        """Take a piece of text; there are never calls in it."""
        self._texts.append(piece)
        return []

    def begin_in_reasoning(self) -> None:
        """Nothing: what is shown does not depend on it."""

    def native(self, call: Call) -> None:
        """Calls that the server read have no place here."""

    def words(self) -> str:
        """Nothing of it is for a person."""
        return ""

    def thoughts(self) -> str:
        """Nor is any of it reasoning to show."""
        return ""

    def close(self, done_reason: str = "stop") -> Reply:
        """The whole reply, as `read_narrowing` has it."""
        return read_narrowing("".join(self._texts), self._move, self._names)
