"""Numbers in a text: in figures, in words, in other units. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isclose

from azent.words.forms import MONTHS

FIGURE = re.compile(r"\d+(?:\.\d+)?")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
DIGITS = re.compile(r"\d+")
CARDINALS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "thousand": 1000, "million": 1e6, "half": 0.5, "quarter": 0.25,
}  # fmt: skip
# And words that only may mean a number: an hour, the second, no tax.
NUMBERS = CARDINALS | {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "week": 7, "weeks": 7,
    "double": 2, "dozen": 12, "couple": 2, "single": 1, "a": 1, "an": 1, "once": 1, "twice": 2,
    "year": 1, "hour": 1, "day": 1, "month": 1, "rest": 0, "dropped": 0, "without": 0,
    "standstill": 0, "stationary": 0, "no": 0, "daily": 365, "weekly": 52, "monthly": 12,
    "quarterly": 4,
}  # fmt: skip
# An article is no number, but before a time: "in an hour".
ARTICLE = re.compile(
    r"\b[ap]\.m\b|\ban? (?!(?:minute|hour|day|night|week|month|year)\b)", re.IGNORECASE
)
DECIMAL = (1, 0.01, 100, 1000, 0.001, 1e6, 1e-6)  # percent, and the units that differ by tens
# A number may stand in another unit: minutes, hours, months, days.
FACTORS = (*DECIMAL, 60, 1 / 60, 12, 24, 7, 3600)
# "Fewer than five" are four at most.
COMPARED = re.compile(
    r"(?:\b(?:less|fewer|more|greater|older|younger) than|\b(?:under|over)) (\d+)\b"
)
MONTH = re.compile(rf"\b(?:{'|'.join(month.title() for month in MONTHS)})\b")
EVENING = re.compile(r"\b(\d{1,2})(?::\d\d)? ?[Pp]\.?[Mm]\b")
POWER = re.compile(r"(\d+(?:\.\d+)?) ?(?:[x×*]|times) ?10 ?(?:\^|\*\*) ?\(?(-?\d{1,3})")


def number_said(value: float, text: str) -> bool:
    """Is a number in a text, in figures or words, or does it follow from one in another unit?"""
    wanted = _size(value)
    if wanted == inf:  # a whole number of more digits than a float has room for
        return str(value).lstrip("-") in FIGURE.findall(text)
    if wanted == 1 and ARTICLE.search(text):
        return True
    return _is_product(wanted, _numbers(ARTICLE.sub(" ", text)), FACTORS)


def number_given(value: float, text: str) -> bool:
    """Is a number itself in a text, or as percent or the like: not what an hour is in minutes?"""
    numbers = _in_words(text, CARDINALS) | _in_figures(text)
    return _is_product(_size(value), numbers, DECIMAL)


def row_given(values: Sequence[float], text: str) -> bool:
    """Do numbers stand in a text one after the other?"""
    wanted, given = list(map(_size, values)), [float(figure) for figure in FIGURE.findall(text)]
    starts = range(len(given) - len(wanted) + 1)
    return any(given[at : at + len(wanted)] == wanted for at in starts)


def _size(value: float) -> float:
    """A number without its sign, as far as a float can hold it."""
    try:
        return abs(float(value))
    except OverflowError:
        return inf


def _is_product(wanted: float, numbers: Iterable[float], factors: Iterable[float]) -> bool:
    products = (number * factor for number in numbers for factor in factors)
    return any(isclose(wanted, each, rel_tol=1e-6) for each in products)


def _in_words(text: str, known: Mapping[str, float]) -> set[float]:
    return {float(known[word]) for word in re.findall(r"[a-z]+", text.lower()) if word in known}


def _in_figures(text: str) -> set[float]:
    figures = [*FIGURE.findall(text), *GROUPED.findall(text)]
    powers = {float(f"{figure}e{power}") for figure, power in POWER.findall(text)}
    return powers | {float(figure.replace(",", "")) for figure in figures}


def _numbers(text: str) -> set[float]:
    words = _in_words(text, NUMBERS)
    words |= {float(MONTHS.index(month.lower()) + 1) for month in MONTH.findall(text)}
    words |= {float(hour) % 12 + 12 for hour in EVENING.findall(text)}
    beside = {float(figure) + step for figure in COMPARED.findall(text) for step in (-1, 1)}
    return words | beside | _in_figures(text)


def figures_said(figures: Iterable[str], text: str) -> bool:
    """Is one of the figures in the text as a word: two, ninety?"""
    return not _numbers(text).isdisjoint(map(float, figures))
