"""Numbers, sizes and system errors in plain words, and text that is safe for a terminal."""

from __future__ import annotations

import json
import unicodedata
from json import JSONDecodeError

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # what a terminal obeys, or hides
HARMLESS = {"\n", "\t", "\u200d", "\ufe0f"}  # the last two join and colour emoji


def is_harmless(character: str) -> bool:
    """Return whether a terminal shows a character, and does not obey it as a control."""
    return character in HARMLESS or unicodedata.category(character) not in INVISIBLE


def safe_json(text: str) -> str:
    """Escape the characters of a JSON text that a terminal would obey; its values stay."""
    if text.isascii() and "\x7f" not in text:  # all other controls are escaped in JSON already
        return text
    return "".join(each if is_harmless(each) else json.dumps(each)[1:-1] for each in text)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 set, 2 sets, 1,234 questions."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_of(size: int) -> str:
    """Return a number of bytes as text: 491 MB, 1.1 GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def reason_of(error: Exception) -> str:
    """Return why something could not be read, without the details that Python adds."""
    if isinstance(error, JSONDecodeError):
        return f"{error.msg.lower()} at character {error.pos + 1}"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 (byte {error.start + 1})"
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said[:1].lower() + said[1:]
