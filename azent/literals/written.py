"""Values that keep the text they were written with.

A string parameter must get the text that the model wrote, even without quotes: `1.50` must not
become "1.5", nor `00789` the number 789. The schema is applied later, so values carry their text
until then; `plain` removes it.
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
    """An unquoted value that JSON does not know, such as 007, NaN or Oslo."""

    __slots__ = ()


class Repeated(dict[str, Any]):
    """An object with different values for a key; `pairs` has all of them."""

    pairs: list[tuple[str, Any]]


def number(text: str) -> Number | Bare:
    """Return the number of a JSON literal, or its text if no float can hold it."""
    value = Number(text)
    if math.isinf(value):
        return Bare(text)
    value.text = text
    return value


def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object made of pairs: Repeated if a key has different values."""
    made = dict(pairs)
    if len(made) == len(pairs) or all(_same(made[key], value) for key, value in pairs):
        return made
    repeated = Repeated(pairs)
    repeated.pairs = pairs
    return repeated


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def plain(value: Any) -> Any:
    """Return the value without texts: str, int, float, bool, None, list and dict only."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Number):
        return float(value)
    return str(value) if isinstance(value, Bare) else value


def repeated_key(value: Any) -> str | None:
    """Return a key with different values somewhere in `value`, or None."""
    if isinstance(value, Repeated):
        return next(key for key, item in value.pairs if not _same(value[key], item))
    inner: Iterable[Any] = value.values() if isinstance(value, dict) else ()
    inner = value if isinstance(value, list) else inner
    return next((key for item in inner if (key := repeated_key(item)) is not None), None)
