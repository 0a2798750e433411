"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """So many of something: 1 set, 2 sets, 1,234 questions."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
