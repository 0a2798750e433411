"""Read valid JSON into values that keep their source text.

The depth is limited because later code (validators, pydantic, other servers) recurses.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

# ---- values that keep their source text ----------------------------------------------------------
# A string parameter must get the text that the model wrote, even without quotes: `1.50` must not
# become "1.5". The schema is applied later; `plain` then removes the source text.


class Number(float):
    """A number with a fraction or an exponent, and its text."""

    __slots__ = ("text",)
    text: str


class Bare(str):
    """An unquoted value that is not valid JSON, such as 007, NaN or Oslo."""

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


# ---- reading JSON --------------------------------------------------------------------------------

MAX_DEPTH = 64
_WINDOW = 4096

_DECODER = json.JSONDecoder(object_pairs_hook=mapping, parse_float=number, parse_constant=Bare)
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)


class TooDeep(ValueError):
    """The error that a value is nested deeper than `MAX_DEPTH`; never leaves the parsers."""


def strict(text: str, at: int = 0) -> tuple[Any, int] | None:
    """Return the JSON value that begins at `at`, and its end; None if there is none.

    Raises TooDeep.
    """
    found = _decoded(text, at)
    if found is None:
        return None
    value, end = found
    if text.count("[", at, end) + text.count("{", at, end) > MAX_DEPTH:
        _refuse_deep(text, at, end)
    return value, end


def _decoded(text: str, at: int) -> tuple[Any, int] | None:
    """Return the same as `strict`, at any depth.

    A short window is tried first: an error counts the lines before it, which would make many errors
    in a long text quadratic.
    """
    window = text[at : at + _WINDOW]
    try:
        value, end = _DECODER.raw_decode(window)
        if end < len(window) or at + end == len(text):
            return value, at + end
    except json.JSONDecodeError as error:
        if error.pos < len(window) - 16 and not error.msg.startswith("Unterminated"):
            return None
    except RecursionError:
        raise TooDeep from None
    except ValueError:  # a whole number of more digits than Python converts
        return None
    return _decoded_in_full(text, at)


def _decoded_in_full(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise TooDeep from None
    except ValueError:
        return None


def strict_whole(text: str) -> Any:
    """Return the value of a text that is one JSON value. Raises ValueError."""
    begin = len(text) - len(text.lstrip())
    found = strict(text, begin)
    if found is None or text[found[1] :].strip():
        raise ValueError("not JSON")
    return found[0]


def _refuse_deep(text: str, at: int, end: int) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text, at, end):
        token = match.group()
        depth += (token in "[{") - (token in "]}")
        if depth > MAX_DEPTH:
            raise TooDeep
