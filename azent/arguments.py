"""Arguments that make no sense are refused where they are given, by their name."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TypeVar

from azent.errors import UsageError

Number = TypeVar("Number", int, float)


def at_least(name: str, value: Number, least: int) -> Number:
    """The value, which must not be less than that. Raises UsageError."""
    if value >= least:
        return value
    raise UsageError(f"{name} is {value}", f"It must be {least} or more.")


def seconds(name: str, value: float) -> float:
    """The value, at most what a lock can wait for, which is centuries. Raises UsageError."""
    return min(at_least(name, value, 0), threading.TIMEOUT_MAX)


def sendable(name: str, text: str) -> str:
    """The text, which must not hold what no encoding can carry. Raises UsageError."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        what = f"{name} is no text: there is a stray byte or half a character at {error.start}"
        raise UsageError(what, "Convert it to UTF-8.") from error
    return text


def one_of(name: str, value: str, words: Sequence[str]) -> str:
    """The value, which must be one of these words. Raises UsageError."""
    if value in words:
        return value
    raise UsageError(f"{name} is {value!r}", f"It can be one of: {', '.join(words)}.")
