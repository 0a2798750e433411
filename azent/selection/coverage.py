"""Find the values of a question that no call has used yet. Pure.

A small model often writes one call and stops. The question shows that more are due: it has a
number, name or quotation that is in no call, although another value of the same kind is. Values are
compared literally, so this works in every language that writes digits, quotation marks or capitals.
A text without such values is taken to need one call.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from azent.messages import Call, Spec, Specs
from azent.selection.numbers import (
    GROUPING_SPACE,
    NUMBER,
    is_mostly_numbers,
    is_said,
    is_same,
    numbers_in,
    readings,
)

MOST_CHARACTERS = 4000  # read of a question
MOST_NUMBER = 10**100
MOST_TEXTS = 20  # of a conversation that are searched for a number
MOST_VALUES = 200  # compared, of each kind in a question and in the inputs of calls
QUOTATION = re.compile(
    r"[\"“”„«»「『]([^\"“”„«»「」『』\n]{1,80})[\"“”«»」』]|(?<!\w)['‘‚]([^'‘’\n]{1,80})['’](?!\w)"
)
WORD = re.compile(r"[^\W\d_][\w-]*")
SENTENCE_START = re.compile(r"(?:^|[.!?:;¿¡\n\"“„«'‘(])\s*$")


def uncovered(question: str, calls: Sequence[Call], specs: Specs) -> tuple[str, ...]:
    """Return the values of a question that no call uses, of the kinds of which some value is used.

    The kinds are numbers, quotations and names: a call with one city leaves the other city
    uncovered, a call with only a time leaves no city uncovered. Words in the called functions'
    descriptions are ignored.
    """
    given = values_in_calls(calls)
    about = _casefolded(_texts_of_called(calls, specs))
    found = [
        tuple(
            each for each in values if not _is_in_any(each, given) and not _is_word_of(each, about)
        )
        for values in _values_by_kind(question)
        if any(_is_in_any(each, given) for each in values)
    ]
    return tuple(dict.fromkeys(value for values in found for value in values))


def may_ask_for_several(question: str) -> bool:
    """Return whether a question has two numbers or quotations, so that several calls may be due.

    Names are ignored, because some languages capitalize every noun; `uncovered` finds the second
    name after the first call. A calculation is excluded: each of its steps needs the result of the
    one before.
    """
    if is_mostly_numbers(question):
        return False
    numbers, quotations, _ = _values_by_kind(question)
    return len(numbers) > 1 or len(quotations) > 1


def adds_to(call: Call, question: str, calls: Sequence[Call], specs: Specs) -> bool:
    """Return whether a call uses a value of the question that no earlier call uses.

    All its numbers must be in the question, because a model that is pressed for a call invents the
    results of earlier ones. A call of a function that was not called before needs at least as many
    new values as values it shares with earlier calls; with fewer it rephrases one of them.
    """
    given, before = values_in_calls([call]), values_in_calls(calls)
    numbers = [value for value in given if not isinstance(value, str)]
    if any(abs(n) > 1 and not is_said(n, _normalized(question)) for n in numbers):
        return False
    fresh = sum(_is_in_any(value, given) for value in uncovered(question, calls, specs))
    if any(call.tool == other.tool for other in calls):
        return fresh > 0
    wanted = values_of(question)
    shared = sum(_is_in_any(value, given) and _is_in_any(value, before) for value in wanted)
    return 0 < fresh >= shared


def invented(calls: Iterable[Call], texts: Iterable[str], specs: Specs) -> tuple[str, ...]:
    """Return the required inputs of calls whose numbers nobody has named.

    - `texts`: what was said so far; the first `MOST_TEXTS` of them count, of each its beginning.
      The texts of a function count as well.

    A model that is made to call a function which does not fit fills what is required: a body mass
    index for a question on triangles gets a weight of 70. Of right calls, 1 in 100 of everyday
    requests and 5 in 100 of BFCL have such an input ("four stars"), of wrong ones nearly half.
    """
    conversation = [_normalized(text) for text in islice(texts, MOST_TEXTS)]
    return tuple(
        f"{name} of {call.tool}"
        for call in calls
        if call.tool in specs
        for name in _required(specs[call.tool])
        if _has_unsaid_number(call.tool_input.get(name), conversation, specs[call.tool])
    )


def _required(spec: Spec) -> tuple[str, ...]:
    parameters = spec.get("parameters")
    required = parameters.get("required") if isinstance(parameters, Mapping) else None
    return tuple(required) if isinstance(required, list | tuple) else ()


def _has_unsaid_number(value: Any, conversation: Sequence[str], spec: Spec) -> bool:
    numbers = islice(_numbers_within(value), MOST_VALUES)
    texts = (*conversation, _normalized(_spec_text(spec)))
    return any(abs(n) > 1 and not any(is_said(n, text) for text in texts) for n in numbers)


def _numbers_within(value: Any) -> Iterator[float]:
    for leaf in _scalars(value):
        if isinstance(leaf, int | float):
            yield leaf
        elif isinstance(leaf, str):
            yield from (readings(each)[-1] for each in numbers_in(leaf) if readings(each))


def values_of(text: str) -> tuple[str, ...]:
    """Return the numbers, quotations and capitalized names in a text, each once."""
    return tuple(dict.fromkeys(value for values in _values_by_kind(text) for value in values))


def _values_by_kind(text: str) -> tuple[tuple[str, ...], ...]:
    text = _normalized(text)
    kinds = numbers_in(text), _quotations(text), _names(text)
    return tuple(tuple(islice(dict.fromkeys(values), MOST_VALUES)) for values in kinds)


def _normalized(text: str) -> str:
    """Return the beginning of a text, normalized, without spaces that group digits."""
    joined = GROUPING_SPACE.sub("", text[:MOST_CHARACTERS])
    return unicodedata.normalize("NFKC", joined)


def _quotations(text: str) -> Iterator[str]:
    return (match[1] or match[2] for match in QUOTATION.finditer(text))


def _names(text: str) -> Iterator[str]:
    """Yield the capitalized words that do not begin a sentence."""
    for match in WORD.finditer(text):
        word, before = match[0], text[max(0, match.start() - 8) : match.start()]
        if word[0].isupper() and len(word) > 1 and not SENTENCE_START.search(before):
            yield word


def values_in_calls(calls: Iterable[Call]) -> list[str | float]:
    """Return the values in the inputs of calls, `MOST_VALUES` at most."""
    leaves = (value for call in calls for value in _scalars(call.tool_input))
    return list(
        islice((each for each in leaves if isinstance(each, str | int | float)), MOST_VALUES)
    )


def text_of_values(calls: Iterable[Call]) -> str:
    """Return the values in the inputs of calls as text, without numbers too long to write."""
    values = values_in_calls(calls)
    return " ".join(str(v) for v in values if not isinstance(v, int) or abs(v) < MOST_NUMBER)


def _scalars(value: Any) -> Iterator[Any]:
    """Yield the scalars inside a JSON value, without null and booleans."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)
        elif each is not None and not isinstance(each, bool):
            yield each


def _is_in_any(wanted: str, given: Iterable[str | float]) -> bool:
    return any(_is_equal(wanted, value) for value in given)


def _is_equal(wanted: str, value: str | float) -> bool:
    """Return whether a value of the question equals a call's value, or one contains the other."""
    if NUMBER.fullmatch(wanted):
        return is_same(wanted, value)
    if not isinstance(value, str):
        return False
    folded, text = _casefolded(wanted), _casefolded(value)
    return folded in text or (len(text) > 2 and text in folded)


def used_text(calls: Sequence[Call], specs: Specs) -> str:
    """Return the values in calls and the texts of their functions, casefolded."""
    names = " ".join(call.tool for call in calls if call.tool in specs)
    return _casefolded(f"{text_of_values(calls)} {names} {_texts_of_called(calls, specs)}")


def _texts_of_called(calls: Iterable[Call], specs: Specs) -> str:
    names = dict.fromkeys(call.tool for call in calls)
    return " ".join(_spec_text(specs[name]) for name in names if name in specs)


def _spec_text(spec: Spec) -> str:
    leaves = _scalars([spec.get("description"), spec.get("parameters")])
    return " ".join(each for each in leaves if isinstance(each, str))


def _is_word_of(wanted: str, about: str) -> bool:
    if NUMBER.fullmatch(wanted):
        return False
    return bool(re.search(rf"(?<!\w){re.escape(_casefolded(wanted))}(?!\w)", about))


def _casefolded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
