"""Judge the calls and the answer of a case: return what is wrong, or "".

Calls are judged exactly, or loosely for requests in people's own words (`LooseCall`).
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from azent.errors import counted
from azent.messages import Call

NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
PUNCTUATION = re.compile(r"(?:[^\w%.]|\.(?!\d))+")  # but the point of a number


@dataclass(frozen=True, slots=True)
class LooseCall:
    """The one call that is due, of which only some inputs are judged; no call if `tool` is None.

    `inputs` are those that are judged, by name. Each text in `said` has to be in any input.
    """

    tool: str | None
    inputs: Mapping[str, Any]
    said: Sequence[Any] = ()


# ---- exactly -------------------------------------------------------------------------------------


def wrong_calls(due: Sequence[Mapping[str, Any]], made: Sequence[Call]) -> str:
    """Compare the calls with those that are due, in any order."""
    if len(made) != len(due):
        return f"{counted(len(made), 'call')}, {len(due)} due"
    left = list(due)
    for call in made:
        found = next((each for each in left if _is_due(call, each)), None)
        if found is None:
            return f"{_shown(call)} is not among the calls due"
        left.remove(found)
    return ""


def wrong_answer(wanted: Mapping[str, Sequence[str]], text: str) -> str:
    """Check an answer for texts that it has to contain, lack and match."""
    for part in wanted.get("contains", ()):
        if part not in text:
            return f"the answer lacks {part!r}"
    for part in wanted.get("lacks", ()):
        if part in text:
            return f"the answer contains {part!r}"
    for pattern in wanted.get("matches", ()):
        if not re.search(pattern, text):
            return f"the answer does not match {pattern!r}"
    return ""


def is_choice(expected: Any) -> bool:
    """Return whether an expected value is {"one_of": [...]}, which means any of several."""
    return isinstance(expected, dict) and expected.keys() == {"one_of"}


def _shown(call: Call) -> str:
    return f"{call.tool}({json.dumps(call.tool_input, ensure_ascii=False)})"


def _is_due(call: Call, due: Mapping[str, Any]) -> bool:
    return call.tool == due["tool"] and _equal(call.tool_input, due.get("tool_input", {}))


def _equal(value: Any, expected: Any) -> bool:
    """Compare JSON values: numbers by their value, True and False only with themselves."""
    if is_choice(expected):
        return any(_equal(value, each) for each in expected["one_of"])
    if isinstance(expected, dict):
        same = isinstance(value, dict) and value.keys() == expected.keys()
        return same and all(_equal(value[key], each) for key, each in expected.items())
    if isinstance(expected, list):
        same = isinstance(value, list) and len(value) == len(expected)
        return same and all(map(_equal, value, expected))
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return bool(value == expected)


# ---- loosely -------------------------------------------------------------------------------------


def wrong_loosely(due: LooseCall, made: Sequence[Call]) -> str:
    """Compare the calls with the one that is due; inputs that it does not name are free."""
    if due.tool is None:
        return f"{counted(len(made), 'call')}, none due" if made else ""
    if [call.tool for call in made] != [due.tool]:
        return f"{', '.join(call.tool for call in made) or 'no call'}, {due.tool} due"
    given = made[0].tool_input
    for name, wanted in due.inputs.items():
        # A text may be in another input if its own is missing.
        elsewhere = given.values() if isinstance(wanted, str) else ()
        if not _alike_any([given[name]] if name in given else elsewhere, wanted):
            return f"{name} of {_shown(made[0])} is not {json.dumps(wanted, ensure_ascii=False)}"
    for wanted in due.said:
        if not _alike_any(given.values(), wanted):
            return f"{_shown(made[0])} lacks {json.dumps(wanted, ensure_ascii=False)}"
    return ""


def _alike_any(values: Iterable[Any], wanted: Any) -> bool:
    return any(_alike(value, wanted) for value in values)


def _alike(value: Any, wanted: Any) -> bool:
    """Compare without case and punctuation; one text may be a part of the other.

    Numbers are equal as numbers, in figures, with a percent sign, or in English words.
    """
    if is_choice(wanted):
        return any(_alike(value, each) for each in wanted["one_of"])
    plain, plain_wanted = _plain(value), _plain(wanted)
    if isinstance(plain, float) and isinstance(plain_wanted, float):
        return math.isclose(plain, plain_wanted, abs_tol=1e-6)
    if isinstance(plain, float) or isinstance(plain_wanted, float):
        texts = (each for each in (plain, plain_wanted) if isinstance(each, str))
        numbers = {float(number) for text in texts for number in NUMBER.findall(text)}
        return bool({plain, plain_wanted} & numbers)
    return bool(plain) and (plain_wanted in plain or plain in plain_wanted)


def _plain(value: Any) -> str | float:
    """Return a value as a number if it is one, else as words without case and punctuation."""
    folded = unicodedata.normalize("NFKC", str(value)).lower().strip()
    if NUMBER.fullmatch(number := folded.rstrip("% ")):
        return float(number)
    words = PUNCTUATION.sub(" ", folded).strip()
    numbers = NUMBER_WORDS.split()
    return float(numbers.index(words)) if words in numbers else words
