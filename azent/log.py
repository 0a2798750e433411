"""Looking at a log: its turns, what waits in them, and whether they go in circles.

A turn is a question and all that follows it up to the next one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

from azent.messages import Call, Log, Message, Note, Question, Reply, Result

ALTERNATIONS = 3  # a pair of replies that comes this often ends the turn
WITHHELD = "not run: the model says that no function is made for this request"
REPEATS = 3  # so does the same reply this often in a row


def turns(log: Log) -> list[Log]:
    """The turns of a log: each begins with a question, but for what stands before the first."""
    questions = [at for at, message in enumerate(log) if isinstance(message, Question)]
    starts = sorted({0, *questions}) if log else []
    ends = [*starts, len(log)][1:] if log else []
    return [log[start:end] for start, end in zip(starts, ends, strict=True)]


def turn_of(log: Log) -> Log:
    """The last turn of a log."""
    start = max((at for at, message in enumerate(log) if isinstance(message, Question)), default=0)
    return log[start:]


def questions_of(log: Log) -> list[str]:
    """The texts of the questions in a log."""
    return [message.text for message in log if isinstance(message, Question)]


def question_of(turn: Log) -> str:
    """The text of the question that a turn begins with; "" where it has none."""
    return next(iter(questions_of(turn)), "")


def pending(turn: Log) -> tuple[Call, ...]:
    """The calls of a turn that have no result yet."""
    results = {message.id for message in turn if isinstance(message, Result)}
    calls = (call for reply in replies_of(turn) for call in reply.calls)
    return tuple(call for call in calls if call.id not in results)


def withheld_calls(turn: Log) -> tuple[Call, ...]:
    """Return the calls of a turn that were not run because the model declined them afterwards."""
    ids = {m.id for m in turn if isinstance(m, Result) and m.text == WITHHELD and not m.ok}
    return tuple(call for reply in replies_of(turn) for call in reply.calls if call.id in ids)


def signature(reply: Reply) -> tuple[str, ...]:
    """What a reply wants called, whatever the order."""
    return tuple(sorted(key_of(call) for call in reply.calls))


def key_of(call: Call) -> str:
    """A call as text: equal for calls that are the same."""
    return json.dumps([call.tool, call.tool_input], sort_keys=True, ensure_ascii=False)


def replies_of(turn: Log) -> list[Reply]:
    """The replies of a turn."""
    return [message for message in turn if isinstance(message, Reply)]


def note_in(turn: Log, what: str) -> Note | None:
    """The last note of a kind in a turn."""
    notes = (m for m in reversed(turn) if isinstance(m, Note) and m.what == what)
    return next(notes, None)


def call_count(log: Log) -> int:
    """How many calls a log holds."""
    return sum(len(message.calls) for message in log if isinstance(message, Reply))


def folded(turn: Log) -> Log:
    """The turn with further calls put into the reply that they belong to."""
    kept: list[Message] = []
    for message in turn:
        if isinstance(message, Reply) and message.move == "more":
            at = next(n for n in reversed(range(len(kept))) if isinstance(kept[n], Reply))
            kept[at] = _with_calls(kept[at], message.calls)
        else:
            kept.append(message)
    return tuple(kept)


def _with_calls(reply: Message, calls: tuple[Call, ...]) -> Message:
    return replace(reply, calls=(*reply.calls, *calls)) if isinstance(reply, Reply) else reply


def without_last_calls(log: Log) -> Log:
    """Return the log up to the last reply that made calls."""
    made = (n for n, message in enumerate(log) if isinstance(message, Reply) and message.calls)
    return log[: max(made, default=len(log))]


def said_in(log: Log) -> str:
    """Return the texts of the questions, answers and results of a log, the last ones first."""
    texts = (m.text for m in reversed(log) if isinstance(m, Question | Reply | Result))
    return "\n".join(text for text in texts if text)


def rounds(turn: Log) -> int:
    """The replies of a turn whose calls ran; one that was asked for more counts once."""
    replies = replies_of(folded(turn))
    return sum(any(not call.problem for call in reply.calls) for reply in replies)


def failures(turn: Log) -> int:
    """How many replies in a row, up to the last, could not be used at all."""
    useless = itertools.takewhile(lambda reply: not usable(reply), reversed(replies_of(turn)))
    return sum(1 for _ in useless)


def usable(reply: Reply) -> bool:
    """Can the reply be used: has it a legal call, or is nothing wrong with it?"""
    legal = any(not call.problem for call in reply.calls)
    return legal or not (reply.problem or reply.calls)


def repeats(made: Sequence[object]) -> bool:
    """Are the last replies the same one three times, or a pair three times over?"""
    same = list(made[-REPEATS:])
    pairs = list(made[-2 * ALTERNATIONS :])
    one = len(same) == REPEATS and same.count(same[0]) == REPEATS
    two = len(pairs) == 2 * ALTERNATIONS and pairs[:2] * ALTERNATIONS == pairs
    return one or two
