"""Read JSON and Python values as models write them, and count the cost of each repair.

The parser makes one linear pass with an explicit stack of limited depth. A value that cannot be
recovered exactly is a `Fault`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from azent.values import json_strings
from azent.values.json_tokens import COSTS, INNER_QUOTES, Cursor, Cut, Fault
from azent.values.strict_json import (
    MAX_DEPTH,
    mapping,
    strict_whole,
)

_OPEN = {"{": "}", "[": "]", "(": ")", "｛": "}", "［": "]"}
_SHUT = {"}": "}", "]": "]", ")": ")", "｝": "}", "］": "]"}
_MEMBER = re.compile(rf"[{''.join(json_strings.QUOTES)}]|[A-Za-z_][\w-]{{0,60}}\s*+[:：]")
_ITEM = re.compile(rf"[{''.join(json_strings.QUOTES)}\[{{(\-\d]|[A-Za-z_]")
_WALL = re.compile(r"</|<[|｜]|```|\[/|\[END")  # these end a call, complete or not


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed value, its end, and the repairs made."""

    value: Any
    end: int
    bent: Counter[str] = field(default_factory=Counter)  # the repairs, counted
    ended: bool = True  # False if the text or call ended first
    unclosed: tuple[Any, ...] = ()  # objects and lists without an end
    cut: bool = False  # whether the text ended in a string or before a value
    reach: int = 0  # how far failed attempts had read

    @property
    def cost(self) -> int:
        return sum(COSTS[what] for what in self.bent)


@dataclass(slots=True)
class _Frame:
    """A container being parsed; an object if it has `pairs`."""

    closer: str
    pairs: list[tuple[str, Any]] | None = None
    items: list[Any] = field(default_factory=list)
    key: str = ""
    place: str = "item"

    def add(self, value: Any) -> None:
        if self.pairs is None:
            self.items.append(value)
        else:
            self.pairs.append((self.key, value))

    def built(self) -> Any:
        return self.items if self.pairs is None else mapping(self.pairs)


class Lenient:
    """A parser of one value at a position; `place` is the kind of its surroundings."""

    def __init__(self, text: str, at: int, *, place: str = "anything", **how: bool) -> None:
        self.cursor = Cursor(text, at, **how)
        self._place = place
        self._stack: list[_Frame] = []

    def read(self) -> Reading:
        """Return the value. Raises Fault."""
        cursor = self.cursor
        try:
            value = self._value()
            while self._stack:
                self._stack[-1].add(value)
                cursor.skip()
                if cursor.at >= len(cursor.text) or _WALL.match(cursor.text, cursor.at):
                    return self._without_end(cut=False)
                value = self._next(self._stack[-1])
        except Cut:
            return self._without_end(cut=True)
        return Reading(value, cursor.at, cursor.bent, reach=cursor.reach)

    def _value(self) -> Any:
        """Return the next scalar or empty container, opening the containers before it."""
        while True:
            self.cursor.skip()
            char = self.cursor.char()
            if char not in _OPEN:
                return self.cursor.scalar(self._stack[-1].place if self._stack else self._place)
            frame = self._open(char)
            self.cursor.skip()
            if self.cursor.char() in _SHUT:
                return self._shut()
            if frame.pairs is not None:
                self._key(frame)

    def _next(self, frame: _Frame) -> Any:
        """Return the next value of a container, or the container if it closes."""
        char = self.cursor.char()
        if char in _SHUT:
            return self._shut()
        if char in ",，":
            self.cursor.step()
            self.cursor.skip()
            if self.cursor.char() in _SHUT:
                self.cursor.bend("a trailing comma")
                return self._shut()
        else:
            self._forgive_comma(frame)
        if frame.pairs is not None:
            self._key(frame)
        return self._value()

    def _forgive_comma(self, frame: _Frame) -> None:
        cursor = self.cursor
        begins = _ITEM if frame.pairs is None else _MEMBER
        if cursor.text[cursor.at - 1].isalnum() or not begins.match(cursor.text, cursor.at):
            raise cursor.unexpected()
        cursor.bend("a missing comma")

    def _key(self, frame: _Frame) -> None:
        frame.key, in_quotes = self.cursor.key()
        if not in_quotes:
            frame.place = "bare member"
        self.cursor.skip()
        if self.cursor.char() not in ":：":
            raise Fault(f"a colon is missing after {frame.key[:40]!r}", self.cursor.at)
        self.cursor.step()

    def _open(self, char: str) -> _Frame:
        if len(self._stack) >= MAX_DEPTH:
            raise Fault("it is nested too deep", self.cursor.at, deep=True)
        if char == "(":
            self.cursor.bend("a tuple")
        closer = _OPEN[char]
        self._stack.append(_Frame(closer, [], place="member") if closer == "}" else _Frame(closer))
        self.cursor.step()
        return self._stack[-1]

    def _shut(self) -> Any:
        """Close the innermost container, also if its own closing bracket is missing."""
        closer = _SHUT[self.cursor.char()]
        if self._stack[-1].closer == closer:
            self.cursor.step()
        elif any(frame.closer == closer for frame in self._stack):
            self.cursor.bend("missing closing brackets")
        else:
            raise self.cursor.unexpected()
        return self._stack.pop().built()

    def _without_end(self, cut: bool) -> Reading:
        unclosed: list[Any] = []
        while self._stack:
            frame = self._stack.pop()
            unclosed.append(frame.built())
            if self._stack:
                self._stack[-1].add(unclosed[-1])
        value = unclosed[-1] if unclosed else None
        end = len(self.cursor.text) if cut else self.cursor.at
        return Reading(value, end, self.cursor.bent, False, tuple(unclosed), cut, self.cursor.reach)


def readings(text: str, at: int, *, python: bool = False, place: str = "anything") -> list[Reading]:
    """Return all readings of the value at `at`, likeliest first. Raises the first one's Fault."""
    found: list[Reading] = []
    faults: list[Fault] = []
    for naive in (False, True):
        if not naive or faults or found[0].bent[INNER_QUOTES] or not found[0].ended:
            _read_into(found, faults, text, at, place, python=python, naive=naive)
    if not any(reading.ended for reading in found):
        _read_mixed_into(found, faults, text, at, place, python=python)
    elif found[0].bent[INNER_QUOTES]:
        found += _without_inner_quotes(faults, text, at, place, python=python)
    reach = max([fault.reach for fault in faults] + [reading.reach for reading in found])
    if not found:
        faults[0].reach = reach
        raise faults[0]
    return [replace(reading, reach=reach) for reading in found] if reach else found


def _read_mixed_into(
    found: list[Reading], faults: list[Fault], text: str, at: int, place: str, **how: bool
) -> None:
    """Add readings in which quotes of other styles end strings, if one is complete."""
    more: list[Reading] = []
    _read_into(more, faults, text, at, place, mixed=True, **how)
    found[:] = [reading for reading in more if reading.ended] or found


def _without_inner_quotes(
    faults: list[Fault], text: str, at: int, place: str, **how: bool
) -> list[Reading]:
    """Return the readings in which typographic quotes end strings and none are inside a string."""
    more: list[Reading] = []
    _read_into(more, faults, text, at, place, mixed=True, **how)
    return [reading for reading in more if reading.ended and not reading.bent[INNER_QUOTES]]


def _read_into(
    found: list[Reading], faults: list[Fault], text: str, at: int, place: str, **how: bool
) -> None:
    """Add a reading, and one with ambiguous backslashes kept if there are any."""
    lenient = Lenient(text, at, place=place, **how)
    try:
        found.append(lenient.read())
        if lenient.cursor.ambiguous:
            found.append(Lenient(text, at, place=place, literal=True, **how).read())
    except Fault as fault:
        fault.reach = max(fault.reach, lenient.cursor.reach)
        faults.append(fault)


# ---- the value of a whole text -------------------------------------------------------------------


def literal(text: str) -> Any:
    """Return the JSON or Python value of a whole text. Raises ValueError."""
    try:
        return strict_whole(text)
    except ValueError:
        begin = len(text) - len(text.lstrip())
        found = Lenient(text, begin).read()
        if not found.ended or text[found.end :].strip():
            raise ValueError("not a value") from None
        return found.value
