"""Arguments that make no sense are refused where they are given, by their name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from azent.errors import UsageError

Number = TypeVar("Number", int, float)


def at_least(name: str, value: Number, least: int) -> Number:
    """The value, which must not be less than that. Raises UsageError."""
    if value >= least:
        return value
    raise UsageError(f"{name} is {value}", f"It must be {least} or more.")


def one_of(name: str, value: str, words: Sequence[str]) -> str:
    """The value, which must be one of these words. Raises UsageError."""
    if value in words:
        return value
    raise UsageError(f"{name} is {value!r}", f"It can be one of: {', '.join(words)}.")
