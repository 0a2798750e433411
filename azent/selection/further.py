"""Decide whether the results of calls complete a turn, or further calls are due. Pure.

A small model that is asked whether it is done mostly says yes and invents what is missing. The
meaning of the question is a better sign: for "Text Maria that I am late" the function that sends
messages is more similar than the one that looks up numbers, so it is still due after
`find_contact`. Unused values of the question are another sign, if others of their kind were used.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from azent.messages import Call, Log, Ranking, Reply, Result, Specs
from azent.messages.log import folded, question_of, replies_of
from azent.prompt import SelectionRules
from azent.selection.coverage import MOST_CHARACTERS, text_of_values, uncovered, used_text
from azent.selection.numbers import is_mostly_numbers, numbers_in, readings

MOST_REST = 4  # words of a question that its calls may leave unused: "What is ... like"
CLEARLY = 1.0  # above `call_above`: a function with such a score is relevant, too
PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


def is_first(turn: Log) -> bool:
    """Return whether the turn has no calls yet."""
    return not any(reply.calls for reply in replies_of(turn))


def ranking_of(turn: Log) -> Ranking | None:
    """Return the last ranking of a turn, or None."""
    rankings = [message for message in turn if isinstance(message, Ranking)]
    return rankings[-1] if rankings else None


def nothing_more_is_due(turn: Log, specs: Specs, rules: SelectionRules) -> bool:
    """Return whether the results of a turn can be answered without asking for further calls.

    This needs a ranking, no failed call, no other function that is similar to the question, and
    calls that use most of the question. In doubt the model is asked: a needless request costs a
    little time, a missing one costs the answer.
    """
    rank = ranking_of(turn)
    if not rules.relevance or rank is None or not rank.scores or is_first(turn):
        return False
    if any(isinstance(message, Result) and not message.ok for message in turn):
        return False
    if has_unused_values(turn, specs) or _has_unused_numbers(turn):
        return False
    calls = _calls_of(turn)
    return not _is_other_relevant(rank, calls, rules) and len(rest_of(turn, specs)) <= MOST_REST


def _is_other_relevant(rank: Ranking, calls: list[Call], rules: SelectionRules) -> bool:
    """Return whether a function not called yet is clearly relevant, or outranks the called ones."""
    called = {call.tool for call in calls}
    best = max((score for name, score in rank.scores if name in called), default=float("-inf"))
    clear = rules.call_above + CLEARLY
    return any(score > min(best, clear) for name, score in rank.scores if name not in called)


def rest_of(turn: Log, specs: Specs) -> tuple[str, ...]:
    """Return the words of the question that no call and no called function's text contains.

    In scripts without spaces a word is taken to have two characters.
    """
    calls = _calls_of(turn)
    used = used_text(calls, specs)
    words = PIECE.findall(unicodedata.normalize("NFKC", question_of(turn)[:MOST_CHARACTERS]))
    return tuple(word for word in words if word.casefold() not in used)


def has_unused_values(turn: Log, specs: Specs) -> bool:
    """Return whether values of the question are unused, although the last calls used others.

    If the last calls failed or used no new value, this is False: else the model would be asked
    forever.
    """
    made = [reply for reply in replies_of(folded(turn)) if reply.calls]
    calls = _calls_of(turn)
    before = calls[: len(calls) - len(made[-1].calls)]
    last = {call.id for call in made[-1].calls}
    failed = any(isinstance(m, Result) and m.id in last and not m.ok for m in turn)
    left = uncovered(question_of(turn), calls, specs)
    return bool(left) and not failed and left != uncovered(question_of(turn), before, specs)


def _has_unused_numbers(turn: Log) -> bool:
    """Return whether a calculation has numbers no call has used; "2 + 3 + 3" has the 3 twice."""
    question = question_of(turn)
    if not is_mostly_numbers(question):
        return False
    used = _count_numbers(text_of_values(_calls_of(turn)))
    return bool(_count_numbers(question) - used)


def _count_numbers(text: str) -> Counter[float]:
    return Counter(readings(number)[-1] for number in numbers_in(text) if readings(number))


def _calls_of(turn: Log) -> list[Call]:
    replies = [each for each in folded(turn) if isinstance(each, Reply)]
    return [call for reply in replies for call in reply.calls]
