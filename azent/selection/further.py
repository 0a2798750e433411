"""Whether a further step is due after the results of calls. Pure.

A small model that is asked whether it is done mostly says yes, and makes up what is missing. What
tells more is the meaning of the question: in "Text Maria that I am late" the function that sends
messages is nearer to the question than the one that looks up numbers, so after `find_contact` it is
still due. And values of the question that no call has used, while others like them were used, are
still to be used.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from azent.log import folded, question_of, replies_of
from azent.messages import Call, Log, Ranking, Reply, Result, Specs
from azent.prompt import SelectionRules
from azent.selection.coverage import MOST_CHARACTERS, uncovered, used_text
from azent.selection.numbers import is_mostly_numbers, numbers_in, readings

MOST_REST = 4  # words of a question that need not stand in its calls: "What is ... like"
CLEARLY = 1.0  # above `call_above`: a function with such a score is meant, too
PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


def is_first(turn: Log) -> bool:
    """Return whether the next decision of a turn is its first: nothing has been called yet."""
    return not any(reply.calls for reply in replies_of(turn))


def ranking_of(turn: Log) -> Ranking | None:
    """Return the ranking of a turn, or None if none was made."""
    rankings = [message for message in turn if isinstance(message, Ranking)]
    return rankings[-1] if rankings else None


def nothing_more_is_due(turn: Log, specs: Specs, rules: SelectionRules) -> bool:
    """Return whether the results of a turn can be answered without asking for further calls.

    That is known only where meaning decides, no call failed, no other function is meant as far as
    meaning tells, and the calls have used most of the question. Asking in vain costs a little time,
    not asking costs the answer: in doubt the model is asked.
    """
    rank = ranking_of(turn)
    if not rules.relevance or rank is None or not rank.scores or is_first(turn):
        return False
    if any(isinstance(message, Result) and not message.ok for message in turn):
        return False
    if has_unused_values(turn, specs) or _has_unused_numbers(turn):
        return False
    calls = _calls_of(turn)
    return not _others_meant(rank, calls, rules) and len(rest_of(turn, specs)) <= MOST_REST


def _others_meant(rank: Ranking, calls: list[Call], rules: SelectionRules) -> bool:
    """Return whether a function is near the question, or nearer than all those that were called."""
    called = {call.tool for call in calls}
    best = max((score for name, score in rank.scores if name in called), default=float("-inf"))
    clear = rules.call_above + CLEARLY
    return any(score > min(best, clear) for name, score in rank.scores if name not in called)


def rest_of(turn: Log, specs: Specs) -> tuple[str, ...]:
    """Return the words of the question that stand in no call and in no called function's text.

    In scripts without spaces a word is taken to have two characters.
    """
    calls = _calls_of(turn)
    used = used_text(calls, specs)
    words = PIECE.findall(unicodedata.normalize("NFKC", question_of(turn)[:MOST_CHARACTERS]))
    return tuple(word for word in words if word.casefold() not in used)


def has_unused_values(turn: Log, specs: Specs) -> bool:
    """Return whether the question has values that no call has used, although others were used.

    Only the last calls count that succeeded and used values themselves: else the model would be
    asked for ever.
    """
    made = [reply for reply in replies_of(folded(turn)) if reply.calls]
    calls = _calls_of(turn)
    before = calls[: len(calls) - len(made[-1].calls)]
    last = {call.id for call in made[-1].calls}
    failed = any(isinstance(m, Result) and m.id in last and not m.ok for m in turn)
    left = uncovered(question_of(turn), calls, specs)
    return bool(left) and not failed and left != uncovered(question_of(turn), before, specs)


def _has_unused_numbers(turn: Log) -> bool:
    """Return whether a sum has numbers that no call has used; "2 + 3 + 3" has the 3 twice."""
    question = question_of(turn)
    if not is_mostly_numbers(question):
        return False
    given = [value for call in _calls_of(turn) for value in call.tool_input.values()]
    used = Counter(float(v) for v in given if isinstance(v, int | float))
    texts = " ".join(value for value in given if isinstance(value, str))
    used.update(readings(number)[-1] for number in numbers_in(texts) if readings(number))
    said = Counter(readings(number)[-1] for number in numbers_in(question) if readings(number))
    return bool(said - used)


def _calls_of(turn: Log) -> list[Call]:
    replies = [each for each in folded(turn) if isinstance(each, Reply)]
    return [call for reply in replies for call in reply.calls]
