"""One value out of a text: strict JSON first, then JSON and Python as models write them.

strict(text, at)        exactly JSON, or None
readings(text, at)      every lenient reading, each with what was bent
literal(text)           the value of a whole text, if it can be read in one way only
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
    """The JSON or Python value that a whole text writes down; ValueError where it is none."""
    try:
        return strict_whole(text)
    except ValueError:
        begin = len(text) - len(text.lstrip())
        found = Lenient(text, begin).read()
        if not found.ended or text[found.end :].strip():
            raise ValueError("not a value") from None
        return found.value
