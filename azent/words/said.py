"""Whether a value was said: found in a text, itself or in another form. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from difflib import get_close_matches
from typing import Any

from azent.words.forms import NAME, date_said, in_another_form
from azent.words.numbers import DIGITS, figures_said, number_said
from azent.words.plain import by_beginning, content_words, same

WORD = re.compile(r"[^\W_]+")
ALIKE = 0.88  # of two words, one of which is misspelt
# Capitals that may stand for a name.
SHORT = re.compile(r"[A-Z]{2,4}")
FULL_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*")
CODE = re.compile(r"\b(\d+)\b")  # in a description, before what it stands for


def said(value: Any, text: str) -> bool | None:
    """Is a value found in a text, in some form? None where that cannot be told."""
    if value is None or isinstance(value, bool) or value == "":
        return None
    if isinstance(value, int | float):
        return number_said(value, text)
    if isinstance(value, str):
        return _text_said(value, text)
    return _most(said(each, text) for each in inside(value))


def inside(value: Any) -> Iterable[Any]:
    """What an object or a list holds."""
    return value.values() if isinstance(value, Mapping) else value


def _most(verdicts: Iterable[bool | None]) -> bool | None:
    told = [verdict for verdict in verdicts if verdict is not None]
    return sum(told) * 2 >= len(told) if told else None


def _text_said(value: str, text: str) -> bool:
    if _stands_in(value.strip().lower(), text.lower()):
        return True
    if (date := date_said(value, text)) is not None:
        return date
    own = [word for word in WORD.findall(value.lower()) if len(word) > 1]
    theirs = set(WORD.findall(text.lower()))
    figures = DIGITS.findall(value)
    if not own:  # figures and signs alone
        return not figures or not theirs.isdisjoint(figures) or figures_said(figures, text)
    if all(map(str.isdigit, own)) and figures_said(figures, text):
        return True
    if _share_one(own, theirs) or in_another_form(value, text):
        return True
    if any(digits in text for digits in re.findall(r"\d{2,}", value)):
        return True
    is_formula = len(figures) > 1 or bool(figures and re.search(r"\*\*|\^", value))
    if is_formula and set(figures) <= set(DIGITS.findall(text)):
        return True  # in other signs: 3*x**2 + 2 for 3x^2 + 2
    if _stands_in_letters(value, text) or _is_misspelt(own, theirs):
        return True
    return bool(SHORT.fullmatch(value)) and _is_abbreviated(value, text)


def _stands_in_letters(value: str, text: str) -> bool:
    """Are the letters of a name in the text, set apart or not: McDonald's and mc donalds?"""
    letters = "".join(WORD.findall(value.lower().replace("'", "")))
    return len(letters) > 5 and letters in "".join(WORD.findall(text.lower().replace("'", "")))


def _is_misspelt(own: Collection[str], theirs: Set[str]) -> bool:
    """Is a long word in the text, but for a letter: Berkeley and Berkley?"""
    long = by_beginning([word for word in theirs if len(word) > 5], letters=1)
    return any(
        get_close_matches(word, long.get(word[:1], ()), 1, ALIKE) for word in own if len(word) > 5
    )


def _share_one(own: Collection[str], theirs: Set[str]) -> bool:
    """Is one word the same as one of theirs? Texts may be long: few pairs are looked at."""
    if any({word, f"{word}s", word.removesuffix("s")} & theirs for word in own):
        return True
    begun = by_beginning(theirs)
    return any(same(word, other) for word in own for other in begun.get(word[:3], ()))


def _is_abbreviated(short: str, text: str) -> bool:
    """Do capitals stand for a name in the text: CA for California, SFO for San Francisco?"""
    names = NAME.findall(text)
    initials = "".join(name[0] for name in names)
    if short in initials or any(name.upper().startswith(short) for name in names):
        return True
    return any(_shortens(short, name.replace(" ", "").upper()) for name in FULL_NAME.findall(text))


def _shortens(short: str, name: str) -> bool:
    """Are three capitals or more some letters of a name, its first one first: MSFT, AAPL, SFO?"""
    return len(short) > 2 and short[0] == name[0] and set(short) <= set(name)


def _stands_in(value: str, text: str) -> bool:
    """Does a text begin a word of another: "desc" in "descending", but not "us" in "focus"?"""
    end = "" if len(value) > 2 else "(?![a-z0-9])"
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(value)}{end}", text))


def told(value: Any, schema: Any, text: str) -> bool | None:
    """Is a value found in the text, itself or as the code for something that is?"""
    verdict = said(value, text)
    return True if verdict is False and _is_explained(value, schema, text) else verdict


def _is_explained(value: Any, schema: Any, text: str) -> bool:
    """Does a description explain a number by a word of the text: 1 for cleaning, 2 for ironing?"""
    if not isinstance(value, int) or not isinstance(schema, Mapping):
        return False
    _, *parts = CODE.split(str(schema.get("description", "")))
    explained = dict(zip(parts[::2], parts[1::2], strict=True)).get(str(value), "")
    return speak_alike(content_words(explained), text)


def unspoken(words: Collection[str], text: str) -> list[str]:
    """Those of the words that a text has in no form."""
    theirs = content_words(text)
    return [word for word in words if not _share_one({word}, theirs)]


def speak_alike(words: Collection[str], text: str) -> bool:
    """Is one of the words in a text, in some form?"""
    return _share_one(words, content_words(text))
