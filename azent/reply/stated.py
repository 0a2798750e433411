"""The form that a description asks a text to have, as a pattern that decoding is held to. Pure.

Descriptions say "in the format 'City, State'", "(YYYY-MM-DD)" or "such as '19:00'", and small
models write Berkeley, April 15 and 7 PM all the same. What is looked for is a place with what it
lies in, and dates and times in figures; no other description asks for anything here, nor does one
that names another form beside: 'tomorrow', or any.

The patterns are of the simplest sort, as the converters of servers want them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 1000  # characters of a description that are looked at
QUOTED = re.compile(r"(?<!\w)(['\"`])([^\"`\n]{1,60}?)\1(?!\w)")
# Figures of a date or a time, each letter standing for one; nothing that goes on behind them.
LETTERS = re.compile(
    r"(?<![\w/:-])(?<!\bto )"
    r"(?:(?:YYYY-MM-DD|MM([-/])DD\1YYYY|DD([-/])MM\2YYYY)(?:[T ]HH:MM(?::SS)?)?|HH:MM(?::SS)?)Z?"
    r"(?![\w/:-]| ?(?:AM|A\.M|XM|TO)\b)",
    re.IGNORECASE,
)
LETTER = re.compile("[a-su-y]", re.IGNORECASE)  # all but T and Z, which stand for themselves
DEFAULT = re.compile(r"defaults? (?:is|to|of) ['\"`]?$", re.IGNORECASE)
FIGURES = re.compile(
    r"(?:\d{4}-\d\d-\d\d|\d\d([-/])\d\d\1\d{4})(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\d\d:\d\d(?::\d\d)?"
)
PLACE = re.compile(
    r"\b[Cc]ity(?:, ?| and )(?:[Ss]tate|[Cc]ountry)\b(?! ?(?:\(\w+\))?, ?(?:[A-Z]|zip|country))"
)
A_PLACE = re.compile(r"[A-Z][\w .'-]*, ([A-Z][\w .'-]*)")
CODE = re.compile(r"[A-Z]{2,3}")
SHORTENED = re.compile(r"\babbr", re.IGNORECASE)
COUNTRY = re.compile(r"\bcountry\b", re.IGNORECASE)
# What may be given besides, said without quotes.
BESIDES = re.compile(
    r"\bor (?:(?:leave|an?|the|it) )*"
    r"(?:today|tomorrow|yesterday|now|empty|blank|none|any|relative)\b",
    re.IGNORECASE,
)
NAMED, CODED = r'[^",\\]+, [A-Z][^",\\]*', r'[^",\\]+, [A-Z][A-Z]'


def stated_pattern(schema: Mapping[str, Any]) -> str | None:
    """The pattern of the form that the description of a text asks for, if it asks for one.

    A default of another form is allowed beside it, where it is one word.
    """
    said, default = str(schema.get("description") or "")[:LONGEST], schema.get("default")
    form, *others = sorted(set(_forms(said, ("null", default)))) or [""]
    if others or not form or BESIDES.search(said):
        return None
    if not isinstance(default, str) or re.fullmatch(form, default):
        return f"^{form}$"
    return f"^({form}|{default})$" if re.fullmatch("[A-Za-z]+", default) else None


def _forms(said: str, besides: tuple[object, ...]) -> Iterator[str]:
    """The patterns of all forms that are named or shown besides some words; "" for one of none."""
    rest = LETTERS.sub(" ", said)
    quoted = [match[2].strip() for match in QUOTED.finditer(rest)]
    for named in LETTERS.finditer(said):
        is_value = DEFAULT.search(said[: named.start()])
        yield "" if is_value else _in_figures(LETTER.sub("0", named[0]))
    is_place = bool(PLACE.search(rest))
    for text in filter(None, quoted):
        if FIGURES.fullmatch(text):
            yield _in_figures(text)
        elif text not in besides and not (is_place and _is_of_a_place(text)):
            yield ""
    if is_place:
        yield _placed(said, quoted)


def _in_figures(shape: str) -> str:
    return re.sub(r"\d+", lambda run: f"[0-9]{{{len(run[0])}}}", shape)


def _is_of_a_place(text: str) -> bool:
    return any(form.fullmatch(text) for form in (A_PLACE, CODE)) or bool(PLACE.match(text))


def _placed(said: str, quoted: list[str]) -> str:
    """A place and what it lies in: a code where that is to be short, or is in all examples."""
    shown = [match[1] for text in quoted if (match := A_PLACE.fullmatch(text))]
    shown = [name for name in shown if name not in ("State", "Country")]
    all_short = bool(shown) and all(CODE.fullmatch(name) for name in shown)
    is_short = all_short or bool(SHORTENED.search(said))
    return CODED if is_short and not COUNTRY.search(said) else NAMED
