"""Text from models, tools and files is shown, not obeyed: control characters appear as pictures."""

from __future__ import annotations

import unicodedata

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
HARMLESS = {"\n", "\t", "\u200d", "\ufe0f"}  # the last two join and colour emoji
PLAIN = {"→": "->", "←": "<-", "✓": "ok", "✗": "x", "›": ">", "·": "-"}


def visible(text: str) -> str:
    """The text with control characters shown in place of being obeyed."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_seen, text))


def encodable(mark: str, encoding: str | None) -> str:
    """A mark of azent's own, or a plain one in its place where the encoding does not have it."""
    try:
        mark.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN.get(mark, "?")
    return mark


def _seen(character: str) -> str:
    if character in HARMLESS or unicodedata.category(character) not in INVISIBLE:
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"\\u{code:04x}"
