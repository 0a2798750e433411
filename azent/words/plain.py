"""Words that carry meaning, and when two of them are the same one."""

from __future__ import annotations

import re
from collections.abc import Iterable

ACCENTS = ("\u00c0", "\u024f")  # from the first accented letter to the last Latin one
FOREIGN_SHARE = 0.2  # of letters beyond Latin ones
LATIN = 0x250
HUMP = re.compile(r"([a-z])([A-Z])")
WORD = re.compile(r"[A-Za-z]{3,}")
# In questions and descriptions of every kind, so that they tell nothing.
COMMON = """
the and for with from into about over under between per then than this that these those what
which who whom whose how when where why are was were been can could will would should does did
you your our its also please help find get give show tell want need like know let make made
using use used given based provide retrieve returns return calculate calculates function
specific specified value values user users request information details data list all any some
many much have has had there their them they she his her not yes one two three first second
system current api string number integer name type optional default format true false etc
within each only more most new other such particular following without out off via way time day
date take set run back again thank thanks hello hey lets going looking look able check see come don
thanks great good nice very okay fine cool bye perfect awesome sorry welcome sure
"""
EMPTY = frozenset(COMMON.split())
# Words that questions in English, and in other languages in Latin letters, hardly do without.
ENGLISH_WORDS = """
the what who which where when why how are were does did can could would should from my your his
their this that there you please show give tell need want know
"""
OTHER_WORDS = """
der das und ist wie wo ein eine einen mit nicht auf dem den von wird gibt les des est une quel
quelle pour dans avec sur que para con una los las el cual cuanto donde che della nel sono quanto
dove uma qual em het een wat hoe niet van och hur det jak jest ile
"""
ENGLISH, OTHERS = frozenset(ENGLISH_WORDS.split()), frozenset(OTHER_WORDS.split())
# What signs stand for, where they stand between or beside figures.
SIGNS = {
    "+": "add sum plus addition",
    "*": "multiply product multiplication",
    "×": "multiply product multiplication",
    "/": "divide division quotient",
    "^": "power exponent",
    "%": "percent percentage",
    "$": "dollar price money currency",
    "€": "euro price money currency",
    "°": "degrees temperature weather",
}
# Possessive, or a long gap would be tried in every way to part it.
BETWEEN_FIGURES = re.compile(r"\d\s*+\)*+\s*+([*+/^×])\s*+\(*+\s*+\d")


def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, in small letters; names are taken apart."""
    spaced = HUMP.sub(r"\1 \2", text).replace("_", " ")
    return frozenset(word.lower() for word in WORD.findall(spaced)) - EMPTY


def question_words(question: str) -> frozenset[str]:
    """The same for a question, with what its signs stand for."""
    signs = {sign for sign in "%$€°" if sign in question} | set(BETWEEN_FIGURES.findall(question))
    return content_words(question) | content_words(" ".join(SIGNS[sign] for sign in signs))


def same(one: str, other: str) -> bool:
    """Are two words forms of one: movie and movies, divide and division, sign and signing?"""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 4:
        return longer == shorter + "s"
    begin = _common_beginning(shorter, longer)
    return begin >= max(4, len(shorter) - 2, 0.6 * len(longer))


def by_beginning(words: Iterable[str], letters: int = 3) -> dict[str, list[str]]:
    """Words by their first letters: those that are the same begin alike."""
    found: dict[str, list[str]] = {}
    for word in words:
        found.setdefault(word[:letters], []).append(word)
    return found


def _common_beginning(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def is_foreign(text: str) -> bool:
    """Is a text in a script whose words are not told apart here?"""
    beyond = sum(letter.isalpha() and ord(letter) > LATIN for letter in text)
    return beyond > FOREIGN_SHARE * len(text)


def is_in_another_language(text: str) -> bool:
    """Does a text in Latin letters speak another language than English?"""
    words = frozenset(re.findall(r"[^\W\d_]+", text.lower()))
    marked = any(ACCENTS[0] <= letter <= ACCENTS[1] for letter in text)
    other = marked or not words.isdisjoint(OTHERS)
    return other and words.isdisjoint(ENGLISH)
