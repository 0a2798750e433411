"""Parse one value in a text: strict JSON first, then JSON and Python as models write them.

strict(text, at)        the JSON value at a position, or None
readings(text, at)      all lenient readings, each with its repairs
literal(text)           the value of a whole text
"""

from __future__ import annotations

from typing import Any

from azent.literals.lenient import Lenient, Reading, readings
from azent.literals.strict import MAX_DEPTH, TooDeep, strict, strict_whole
from azent.literals.tokens import Fault
from azent.literals.written import Bare, Number, Repeated, mapping, number, plain, repeated_key

__all__ = [
    "MAX_DEPTH",
    "Bare",
    "Fault",
    "Lenient",
    "Number",
    "Reading",
    "Repeated",
    "TooDeep",
    "literal",
    "mapping",
    "number",
    "plain",
    "readings",
    "repeated_key",
    "strict",
    "strict_whole",
]


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
