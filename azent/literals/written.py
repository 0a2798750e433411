"""Values that remember how they were written.

A string parameter must stay the string that the model wrote, even where the model forgot the
quotes: `1.50` must not become "1.5", nor `00789` the number 789. What a schema asks for is known
only later, so until then such values carry their text. `plain` takes that memory away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class Number(float):
    """A number with a fraction or an exponent, and its text."""

    __slots__ = ("text",)
    text: str


class Bare(str):
    """A value written without quotes that JSON does not know, such as 007, NaN or Oslo."""

    __slots__ = ()


class Repeated(dict[str, Any]):
    """An object that gives a key twice with different values; `pairs` holds all of them."""

    pairs: list[tuple[str, Any]]


def number(text: str) -> Number | Bare:
    """The number that a JSON literal stands for; one that no float can hold stays text."""
    value = Number(text)
    if math.isinf(value):
        return Bare(text)
    value.text = text
    return value


def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object out of its pairs, which says so where a key has two values."""
    made = dict(pairs)
    if len(made) == len(pairs) or all(_same(made[key], value) for key, value in pairs):
        return made
    repeated = Repeated(pairs)
    repeated.pairs = pairs
    return repeated


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def plain(value: Any) -> Any:
    """The same value without memory: str, int, float, bool, None, list and dict only."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Number):
        return float(value)
    return str(value) if isinstance(value, Bare) else value


def repeated_key(value: Any) -> str | None:
    """A key that has two values somewhere in `value`, if there is one."""
    if isinstance(value, Repeated):
        return next(key for key, item in value.pairs if not _same(value[key], item))
    inner: Iterable[Any] = value.values() if isinstance(value, dict) else ()
    inner = value if isinstance(value, list) else inner
    return next((key for item in inner if (key := repeated_key(item)) is not None), None)
