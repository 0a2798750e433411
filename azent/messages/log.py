"""Read a log: its turns, the calls that wait in it, and what of it is still sent to the model.

A turn is a question and all messages up to the next question.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from azent.messages import Call, Log, Message, Note, Question, Reply, Result

ALTERNATIONS = 3  # a turn stops when a pair of replies comes this often
DECLINED = "the model says that no function is made for this request"
WITHHELD = f"not run: {DECLINED}"
REPEATS = 3  # a turn stops when one reply comes this often in a row


def turns(log: Log) -> list[Log]:
    """Return the turns of a log; messages before the first question form a turn of their own."""
    questions = [at for at, message in enumerate(log) if isinstance(message, Question)]
    starts = sorted({0, *questions}) if log else []
    ends = [*starts, len(log)][1:] if log else []
    return [log[start:end] for start, end in zip(starts, ends, strict=True)]


def turn_of(log: Log) -> Log:
    """Return the last turn of a log."""
    for start in range(len(log) - 1, 0, -1):
        if isinstance(log[start], Question):
            return log[start:]
    return log


def questions_of(log: Log) -> list[str]:
    """Return the texts of the questions in a log."""
    return [message.text for message in log if isinstance(message, Question)]


def question_of(turn: Log) -> str:
    """Return the text of the question that a turn begins with, or "" if it has none."""
    return next(iter(questions_of(turn)), "")


def pending(turn: Log) -> tuple[Call, ...]:
    """Return the calls of a turn that have no result yet."""
    results = {message.id for message in turn if isinstance(message, Result)}
    calls = (call for reply in replies_of(turn) for call in reply.calls)
    return tuple(call for call in calls if call.id not in results)


def withheld_calls(turn: Log) -> tuple[Call, ...]:
    """Return the calls of a turn that were not run because the model declined them afterwards."""
    ids = {m.id for m in turn if isinstance(m, Result) and is_withheld(m)}
    return tuple(call for reply in replies_of(turn) for call in reply.calls if call.id in ids)


def is_withheld(result: Result) -> bool:
    """Return whether a result belongs to a call that the model declined afterwards."""
    return not result.ok and result.text == WITHHELD


def signature(reply: Reply) -> tuple[str, ...]:
    """Return the calls of a reply as sorted texts: equal for replies with the same calls."""
    return tuple(sorted(key_of(call) for call in reply.calls))


def key_of(call: Call) -> str:
    """Return a call as text; calls with the same tool and input give the same text."""
    return json.dumps([call.tool, call.tool_input], sort_keys=True, ensure_ascii=False)


def replies_of(turn: Log) -> list[Reply]:
    """Return the replies of a turn."""
    return [message for message in turn if isinstance(message, Reply)]


def note_in(turn: Log, what: str) -> Note | None:
    """Return the last note of the kind `what` in a turn, or None."""
    notes = (m for m in reversed(turn) if isinstance(m, Note) and m.what == what)
    return next(notes, None)


def call_count(log: Log) -> int:
    """Return the number of calls in a log."""
    return sum(len(message.calls) for message in log if isinstance(message, Reply))


def folded(turn: Log) -> Log:
    """Return the turn with each "more" reply merged into the reply whose calls it continues."""
    if not any(reply.move == "more" for reply in replies_of(turn)):
        return turn
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
    """Return the messages before the last reply with calls; the whole log if there is none."""
    made = (n for n, message in enumerate(log) if isinstance(message, Reply) and message.calls)
    return log[: max(made, default=len(log))]


def texts_of(log: Log) -> Iterator[str]:
    """Yield the texts of the questions, answers and results of a log, the last ones first."""
    return (m.text for m in reversed(log) if isinstance(m, Question | Reply | Result) and m.text)


def rounds(replies: Iterable[Reply]) -> int:
    """Return how many replies have a valid call; further calls count with those they continue."""
    return sum(any(not call.problem for call in reply.calls) for reply in replies)


def failures(turn: Log) -> int:
    """Return the number of unusable replies at the end of a turn."""
    useless = itertools.takewhile(lambda reply: not usable(reply), reversed(replies_of(turn)))
    return sum(1 for _ in useless)


def usable(reply: Reply) -> bool:
    """Return whether a reply has a valid call, or has neither a problem nor a call."""
    legal = any(not call.problem for call in reply.calls)
    return legal or not (reply.problem or reply.calls)


def repeats(made: Sequence[object]) -> bool:
    """Return whether the last 3 items are equal, or the last 6 are a pair of items 3 times over."""
    same = list(made[-REPEATS:])
    pairs = list(made[-2 * ALTERNATIONS :])
    one = len(same) == REPEATS and same.count(same[0]) == REPEATS
    two = len(pairs) == 2 * ALTERNATIONS and pairs[:2] * ALTERNATIONS == pairs
    return one or two


# ---- what of a log is still sent to the model ----------------------------------------------------
# A log never loses a message. A note says which messages are not sent from there on, so that the
# same log always gives the same request, and removing the note restores what it left out.


def turns_left_out(log: Log) -> int:
    """Return how many of the first turns are no longer sent."""
    return max((note.turns for note in _notes(log)), default=0)


def results_cut(log: Log) -> dict[str, int]:
    """Return, by id of each shortened result, how many characters are still sent."""
    return {id: note.chars for note in _notes(log) for id in note.ids}


def summary_of(log: Log) -> str:
    """Return the summary of the turns that are left out, "" if there is none."""
    texts = [note.text for note in _notes(log) if note.text]
    return texts[-1] if texts else ""


def shortened(text: str, most: int) -> str:
    """Cut a text to its beginning and its end, with a note on how much is omitted."""
    if len(text) <= most:
        return text
    head, tail = text[: most - most // 3], text[len(text) - most // 3 :]
    said = f"({len(text) - most} characters omitted to save room)"
    return " ... ".join(filter(None, (head, said, tail)))


def _notes(log: Log) -> list[Note]:
    return [m for m in log if isinstance(m, Note) and m.what == "shrunk"]
