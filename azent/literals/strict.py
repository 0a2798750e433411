"""JSON exactly as it is defined, read by the standard library; and how deep a value may go.

Valid JSON is read here and nowhere else, so nothing in it can be "repaired". Nesting is limited,
because everything behind (validators, pydantic, the reader of the next server) recurses.
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
    """A value is nested deeper than `MAX_DEPTH`; never leaves the readers."""


def strict(text: str, at: int = 0) -> tuple[Any, int] | None:
    """The JSON value that begins exactly at `at`, and where it ends; None where there is none.

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
    """As `strict`, whatever the depth.

    What is no JSON is found out from the first few characters where that is possible: an error
    counts the lines before it, which would make many errors in a long text quadratic.
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
    """The value of a text that is one JSON value and nothing else; ValueError where it is not."""
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
