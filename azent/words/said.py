"""Whether a value was said: found in a text, itself or in another form. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from difflib import get_close_matches
from math import isclose
from typing import Any

from azent.words.forms import MONTHS, codes_for, date_said, in_another_form, spelled_out
from azent.words.plain import by_beginning, content_words, same

WORD = re.compile(r"[^\W_]+")
FIGURE = re.compile(r"\d+(?:\.\d+)?")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
ALIKE = 0.88  # of two words, one of which is misspelt
DIGITS = re.compile(r"\d+")
LETTERS = re.compile(r"[^\W\d_]+")
NUMBERS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "thousand": 1000, "million": 1e6, "half": 0.5, "quarter": 0.25, "first": 1,
    "second": 2, "third": 3, "fourth": 4, "fifth": 5, "week": 7, "weeks": 7, "double": 2,
    "dozen": 12, "couple": 2, "single": 1, "a": 1, "an": 1, "once": 1, "twice": 2, "year": 1,
    "hour": 1, "day": 1, "month": 1, "rest": 0, "dropped": 0, "without": 0, "standstill": 0,
    "stationary": 0, "no": 0, "daily": 365, "weekly": 52, "monthly": 12, "quarterly": 4,
}  # fmt: skip
# An article is no number, but before a time: "in an hour".
ARTICLE = re.compile(
    r"\b[ap]\.m\b|\ban? (?!(?:minute|hour|day|night|week|month|year)\b)", re.IGNORECASE
)
# A number may stand in another unit: percent, thousands, minutes, hours, months, days.
FACTORS = (1, 0.01, 100, 1000, 0.001, 1e6, 1e-6, 60, 1 / 60, 12, 24, 7, 3600)
# "Fewer than five" are four at most.
COMPARED = re.compile(
    r"(?:\b(?:less|fewer|more|greater|older|younger) than|\b(?:under|over)) (\d+)\b"
)
MONTH = re.compile(rf"\b(?:{'|'.join(month.title() for month in MONTHS)})\b")
EVENING = re.compile(r"\b(\d{1,2})(?::\d\d)? ?[Pp]\.?[Mm]\b")
POWER = re.compile(r"(\d+(?:\.\d+)?) ?(?:[x×*]|times) ?10 ?(?:\^|\*\*) ?\(?(-?\d{1,3})")
# Capitals that may stand for a name.
SHORT = re.compile(r"[A-Z]{2,4}")
NAME = re.compile(r"\b[A-Z][a-z]+")
FULL_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*")
# A place and the state or country that it lies in.
PLACE = re.compile(r"([^,]+), [A-Z][A-Za-z. ]{1,30}")
CODE = re.compile(r"\b(\d+)\b")  # in a description, before what it stands for


def said(value: Any, text: str) -> bool | None:
    """Is a value found in a text, in some form? None where that cannot be told."""
    if value is None or isinstance(value, bool) or value == "":
        return None
    if isinstance(value, int | float):
        return _number_said(value, text)
    if isinstance(value, str):
        return _text_said(value, text)
    return _most(said(each, text) for each in _inside(value))


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value


def _most(verdicts: Iterable[bool | None]) -> bool | None:
    told = [verdict for verdict in verdicts if verdict is not None]
    return sum(told) * 2 >= len(told) if told else None


def _number_said(value: float, text: str) -> bool:
    try:
        wanted = abs(float(value))
    except OverflowError:  # a whole number of more digits than a float has room for
        return str(abs(value)) in FIGURE.findall(text)
    if wanted == 1 and ARTICLE.search(text):
        return True
    products = (
        number * factor for number in _numbers(ARTICLE.sub(" ", text)) for factor in FACTORS
    )
    return any(isclose(wanted, each, rel_tol=1e-6) for each in products)


def _numbers(text: str) -> set[float]:
    words = {float(NUMBERS[w]) for w in re.findall(r"[a-z]+", text.lower()) if w in NUMBERS}
    words |= {float(MONTHS.index(month.lower()) + 1) for month in MONTH.findall(text)}
    words |= {float(hour) % 12 + 12 for hour in EVENING.findall(text)}
    figures = [*FIGURE.findall(text), *GROUPED.findall(text)]
    beside = {float(figure) + step for figure in COMPARED.findall(text) for step in (-1, 1)}
    powers = {float(f"{figure}e{power}") for figure, power in POWER.findall(text)}
    return words | beside | powers | {float(figure.replace(",", "")) for figure in figures}


def _text_said(value: str, text: str) -> bool:
    if _stands_in(value.strip().lower(), text.lower()):
        return True
    if (date := date_said(value, text)) is not None:
        return date
    own = [word for word in WORD.findall(value.lower()) if len(word) > 1]
    theirs = set(WORD.findall(text.lower()))
    figures = DIGITS.findall(value)
    if not own:  # figures and signs alone
        return not figures or not theirs.isdisjoint(figures) or _figures_said(figures, text)
    if all(map(str.isdigit, own)) and _figures_said(figures, text):
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


def _figures_said(figures: Iterable[str], text: str) -> bool:
    """Is one of the figures in the text as a word: two, ninety?"""
    return not _numbers(text).isdisjoint(map(float, figures))


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


def brings_news(
    tool_input: Mapping[str, Any], before: Iterable[Mapping[str, Any]], text: str
) -> bool:
    """Has a call a word or figure that is in the text, and that none of the calls before it has?

    A number may be in the text in another unit. Numbers that were there before are news where they
    stand in the text one after the other: a = 1, b = 2, c = 1.
    """
    before = tuple(before)
    known = {part for other in before for part in _parts_of_all(other)}
    if spelled_out(_parts_of_all(tool_input) - known) & _parts_of_all(text):
        return True
    old = [value for other in before for value in _figures(other)]
    return any(value not in old and _are_given(value, text) for value in _figures(tool_input))


def _are_given(value: Any, text: str) -> bool:
    """Is a number in a text, in some unit, or are those of a list there, one after the other?"""
    if not isinstance(value, list):
        return _number_said(value, ARTICLE.sub(" ", text))
    wanted = [abs(float(number)) for number in _flat(value)]
    given = [float(figure) for figure in FIGURE.findall(text)]
    starts = range(len(given) - len(wanted) + 1)
    return any(given[at : at + len(wanted)] == wanted for at in starts)


def says_nothing_else(tool_input: Mapping[str, Any], text: str) -> bool:
    """Are all the words and figures of a call in the text, themselves or by what they mean?"""
    numbers, texts = _apart(_without_regions(tool_input))
    known = _parts(text) | codes_for(text)
    others = {part for part in _parts(texts) - known if not speak_alike({part}, text)}
    return not others and all(
        _parts(number) <= known or _are_given(number, text) for number in numbers
    )


def _figures(tool_input: Mapping[str, Any]) -> list[Any]:
    """The numbers of a call, its lists of numbers, and three or more that it has in all."""
    found = list(_numbers_in(tool_input))
    whole = [number for value in found for number in _flat(value)]
    return [*found, whole] if len(whole) > 2 else found


def _numbers_in(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _numbers_in(inner)
    elif _is_number(value) or (isinstance(value, list) and all(map(_is_number, _flat(value)))):
        yield value


def _flat(value: Any) -> list[Any]:
    return [n for inner in value for n in _flat(inner)] if isinstance(value, list) else [value]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _apart(value: Any) -> tuple[list[float], list[str]]:
    """The numbers of a call, and its texts."""
    if isinstance(value, Mapping | list):
        both = [_apart(inner) for inner in _inside(value)]
        return [n for numbers, _ in both for n in numbers], [t for _, texts in both for t in texts]
    if _is_number(value):
        return [value], []
    return [], [value] if isinstance(value, str) else []


def _without_regions(value: Any) -> Any:
    """Values without what stands behind a place: Lima for "Lima, Peru"."""
    if isinstance(value, Mapping):
        return {name: _without_regions(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_regions(inner) for inner in value]
    place = PLACE.fullmatch(value) if isinstance(value, str) else None
    return place.group(1) if place else value


def _parts(value: Any) -> frozenset[str]:
    """The words that carry meaning, and the figures, in a text or in the values of a call."""
    text = GROUPED.sub(lambda figure: figure[0].replace(",", ""), _text_of(value))
    return content_words(text) | frozenset(DIGITS.findall(text))


def _parts_of_all(value: Any) -> frozenset[str]:
    """The same with words that are not in plain letters, such as names of places: Łódź, 東京."""
    words = LETTERS.findall(_text_of(value).lower())
    return _parts(value) | {word for word in words if not word.isascii()}


def _text_of(value: Any) -> str:
    """A text, or the values of a call as one, each on lines of its own."""
    if isinstance(value, Mapping | list):
        return "\n".join(map(_text_of, _inside(value)))
    if value is None or isinstance(value, bool):
        return ""
    return str(value).removesuffix(".0")


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


def speak_alike(words: Collection[str], text: str) -> bool:
    """Is one of the words in a text, in some form?"""
    return _share_one(words, content_words(text))
