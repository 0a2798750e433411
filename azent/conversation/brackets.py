"""Give expressions in calls the brackets that they have in the question. Pure.

Held to a schema, small models drop a bracket at the beginning of a text, and the one that closes
it: for "What is (2 + 3) * 4?" they write "2 + 3 * 4". Where an expression stands in the question,
character by character but for brackets and spaces, the one in the question is right.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from azent.messages import Call, Reply

MOST_CHARACTERS = 4000  # of a question that is searched
EXPRESSION = re.compile(r"(?=.*\d\s*[+\-*/^%×÷])[\d\s().,+\-*/^%×÷]{3,500}")
SKIPPED = re.compile(r"[\s()]")


def with_brackets(reply: Reply, question: str) -> Reply:
    """Return the reply; expressions of the question in its calls have their brackets again."""
    calls = tuple(restored(call, question) for call in reply.calls)
    if calls == reply.calls:
        return reply
    repair = "brackets were put back as they stand in the question"
    return replace(reply, calls=calls, repairs=(*reply.repairs, repair))


def restored(call: Call, question: str) -> Call:
    """Return the call with the brackets of the question in its texts; invalid calls unchanged."""
    if call.problem or "(" not in question:
        return call
    changed = {name: _restored(value, question) for name, value in call.tool_input.items()}
    return call if changed == call.tool_input else replace(call, tool_input=changed)


def _restored(value: Any, question: str) -> Any:
    if not isinstance(value, str) or not EXPRESSION.fullmatch(value):
        return value
    return _span_of(value, question[:MOST_CHARACTERS]) or value


def _span_of(value: str, question: str) -> str:
    """Return the part of the question that is the value but for brackets and spaces, else ""."""
    places = [at for at, character in enumerate(question) if not SKIPPED.match(character)]
    bare, wanted = "".join(question[at] for at in places), SKIPPED.sub("", value)
    begin = bare.find(wanted)
    end = begin + len(wanted)
    is_part_of_number = bare[max(0, begin - 1) : begin].isdigit() or bare[end : end + 1].isdigit()
    if begin < 0 or is_part_of_number or bare.count(wanted) > 1:
        return ""
    return _balanced(question, places[begin], places[end - 1] + 1)


def _balanced(text: str, begin: int, end: int) -> str:
    """Return a part of a text, with brackets around it that those inside need, else ""."""
    opened = closed = 0
    for character in text[begin:end]:
        opened += character == "("
        if character == ")":
            opened, closed = (opened - 1, closed) if opened else (opened, closed + 1)
    left, right = text[:begin], text[end:]
    for _ in range(closed):
        left = left.rstrip()
        if not left.endswith("("):
            return ""
        left = left[:-1]
    for _ in range(opened):
        right = right.lstrip()
        if not right.startswith(")"):
            return ""
        right = right[1:]
    return text[len(left) : len(text) - len(right)]
