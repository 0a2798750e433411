"""Parse strict JSON with the standard library, and limit its depth.

Valid JSON is parsed here only, so nothing in it is repaired. The depth is limited because later
code (validators, pydantic, other servers) recurses.
"""

from __future__ import annotations

import json
import re
from typing import Any

from azent.literals.written import Bare, mapping, number

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
