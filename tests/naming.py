"""Names of test cases that are the same in every process: without the addresses of objects."""

from __future__ import annotations

import re


def name_of(value: object) -> str:
    """A short text that stands for a value in the name of a test."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value) if not isinstance(value, str) else value)[:60]
