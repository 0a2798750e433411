"""Check the string formats in third-party schemas: dates, times, addresses and others.

The checks accept the standard's forms and those that servers usually accept: a time without seconds
or zone, a URI with letters of any language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, time
from functools import cache
from typing import Any

_DATE = r"(\d{4}-\d\d-\d\d)"
_TIME = r"(\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?:[Zz]|[+-][0-2]\d:?[0-5]\d)?"
_PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}[Tt ]{_TIME}",
    "email": r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)*",
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?[^\s<>\"{}|\\^`/][^\s<>\"{}|\\^`]*"
    r"|[A-Za-z][A-Za-z0-9+.-]*:///?[^\s<>\"{}|\\^`/][^\s<>\"{}|\\^`]*",
}
_COMPILED = {name: re.compile(pattern, re.ASCII) for name, pattern in _PATTERNS.items()}
ASKED_FOR = {
    "date": "a date as YYYY-MM-DD",
    "time": "a time as hh:mm:ss",
    "date-time": "a date and a time as YYYY-MM-DDThh:mm:ssZ",
    "email": "an email address",
    "uuid": "a UUID",
    "uri": "a URI such as https://example.com/page",
}


def has_format(name: str, value: Any) -> bool:
    """Return whether a value has the format; a value that is no string always has."""
    if not isinstance(value, str):
        return True
    found = _COMPILED[name].fullmatch(value)
    return found is not None and _is_real(name, found.groups())


def _is_real(name: str, parts: tuple[str, ...]) -> bool:
    """Return whether the date and the time exist; a leap second is accepted."""
    try:
        if name in ("date", "date-time"):
            date.fromisoformat(parts[0])
        if name in ("time", "date-time"):
            time.fromisoformat(re.sub(r":60$", ":59", parts[-1]))
    except ValueError:
        return False
    return True


@cache
def format_checker() -> Any:
    """Return jsonschema's checker of these formats; it accepts any other format."""
    import jsonschema

    checker = jsonschema.FormatChecker(formats=())
    for name in _PATTERNS:
        checker.checks(name)(_check(name))
    return checker


def _check(name: str) -> Callable[[Any], bool]:
    return lambda value: has_format(name, value)
