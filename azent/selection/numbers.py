"""Compare numbers in a text, in any script and with any digit grouping. Pure.

"1.250" is 1250 in one language and 1.25 in another, and the language is unknown here. So a number
has several possible values, and equals a value if one of them does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import isclose

MOST_DIGITS = 30
NUMBER = re.compile(r"\d+(?:[.,٫٬]\d+|['’]\d{3}(?!\d))*")
DIGITS = re.compile(r"\d+")
GROUPING_SPACE = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
FACTORS = (1, 0.01, 100, 1000, 1_000_000, -1)  # percent, thousands, millions, signs
MOST_CHARACTERS = 1000  # of a text in which words are counted


def numbers_in(text: str) -> Iterator[str]:
    """Return an iterator over the numbers in a text, as written."""
    return (match[0] for match in NUMBER.finditer(text))


@lru_cache(maxsize=2000)
def readings(number: str) -> tuple[float, ...]:
    """Return the values a number may have: its last separator groups digits or marks decimals."""
    runs = DIGITS.findall(number)
    if not runs or sum(map(len, runs)) > MOST_DIGITS:
        return ()
    if len(runs) == 1:
        return (float(runs[0]),)
    joined, whole = "".join(runs), "".join(runs[:-1])
    return (float(joined), float(f"{whole}.{runs[-1]}"))


def is_same(number: str, value: float | str) -> bool:
    """Return whether a number written in a question may equal a value, or one inside a text."""
    if isinstance(value, str):
        same = any(set(readings(number)) & set(readings(each)) for each in numbers_in(value))
        return same or _is_date_in(number, value)
    try:
        wanted = float(value)
    except OverflowError:  # it has hundreds of digits and fits no float
        return False
    return any(isclose(each * factor, wanted) for each in readings(number) for factor in FACTORS)


def _is_date_in(number: str, text: str) -> bool:
    """Return whether a text has all parts of a date such as 2023.10.1."""
    parts = _parts(number)
    return len(parts) > 2 and parts <= _parts(text)


def _parts(text: str) -> set[str]:
    return {run.lstrip("0") for run in DIGITS.findall(text)}


def is_said(value: float, text: str) -> bool:
    """Return whether a text contains a value: as a number, in a list ("5,10,15"), or grouped."""
    joined = re.sub(r"(?<=\d)\s(?=\d{3}(?!\d))", "", text)
    written = {*numbers_in(text), *DIGITS.findall(text), *numbers_in(joined)}
    return any(is_same(each, value) for each in written)


def is_mostly_numbers(text: str) -> bool:
    """Return whether numbers are at least a third of the words of a text, as in a calculation."""
    words = re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]+", text[:MOST_CHARACTERS])
    return bool(words) and 3 * sum(word[0].isdigit() for word in words) >= len(words)
