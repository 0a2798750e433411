"""Text from models, tools and files is shown, not obeyed: control characters appear as pictures."""

from __future__ import annotations

from azent.wording import is_harmless

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
    if is_harmless(character):
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"\\u{code:04x}"
