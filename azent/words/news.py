"""Whether a further call says what none before it says, and nothing that was not said. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from azent.words.forms import codes_for, spelled_out
from azent.words.numbers import DIGITS, GROUPED, number_given, row_given
from azent.words.plain import content_words
from azent.words.said import inside, unspoken

LETTERS = re.compile(r"[^\W\d_]+")
# A place and the state or country that it lies in.
PLACE = re.compile(r"([^,]+), [A-Z][A-Za-z. ]{1,30}")


def brings_news(
    tool_input: Mapping[str, Any], before: Iterable[Mapping[str, Any]], text: str
) -> bool:
    """Has a call a word or figure that is in the text, and that none of the calls before it has?

    A number may be in the text as percent or the like. Three numbers that were all there before
    are news where they stand in the text one after the other: a = 1, b = 2, c = 1.
    """
    before = tuple(before)
    known = {part for other in before for part in _parts_of_all(other)}
    if spelled_out(_parts_of_all(tool_input) - known) & _parts_of_all(text):
        return True
    old = [value for other in before for value in _figures(other)]
    return any(value not in old and _are_given(value, text) for value in _figures(tool_input))


def _are_given(value: Any, text: str) -> bool:
    """Is a number in a text, or are those of a list there, one after the other?"""
    if not isinstance(value, list):
        return number_given(value, text)
    return bool(value) and row_given(_flat(value), text)


def says_nothing_else(tool_input: Mapping[str, Any], text: str) -> bool:
    """Are all the words and figures of a call in the text, themselves or by what they mean?"""
    leaves = list(_leaves(_without_regions(tool_input)))
    known = _parts(text) | codes_for(text)
    words = _parts([leaf for leaf in leaves if isinstance(leaf, str)]) - known
    return not unspoken(words, text) and all(
        _parts(number) <= known or number_given(number, text)
        for number in filter(_is_number, leaves)
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


def _leaves(value: Any) -> Iterator[Any]:
    """What a call holds, that holds nothing itself."""
    if isinstance(value, Mapping | list):
        for inner in inside(value):
            yield from _leaves(inner)
    else:
        yield value


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
        return "\n".join(map(_text_of, inside(value)))
    if value is None or isinstance(value, bool):
        return ""
    return str(value).removesuffix(".0")
