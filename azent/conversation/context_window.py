"""Fit a conversation into the model's context window, because servers cut long requests silently.

The tokens of a request are estimated from its characters, and corrected by the server's counts for
earlier requests of the same log. A conversation that exceeds `FULL` of the window is reduced to
`AIM` at once, by a note in the log, so that later requests share a prefix that the server has in
its cache. Old results are left out first, then whole old turns, then the middle of the last
results; the system text, the tools and the last question are always sent.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf

from azent.conversation.position import Terms
from azent.conversation.requests import messages_for, summary_messages
from azent.errors import ContextTooSmall
from azent.messages import ChatMessage, Log, Message, Move, Note, Question, Reply, Result, Usage
from azent.messages.log import replies_of, results_cut, summary_of, turn_of, turns, turns_left_out

FULL = 0.8  # of the context window: a larger request is reduced
AIM = 0.5  # of the context window: the size after the reduction
CUT = 0.6  # of the expected tokens: a server that read fewer has cut the request
WORTH_HIDING = 100  # characters; hiding a shorter result saves next to nothing
SHORTEST = 100  # characters; the last results are never cut to less
SUMMED_CHARS = 300  # characters of each result in the request for a summary
MESSAGE_TOKENS = 6  # added by the chat template for each message
IMAGE_TOKENS = 800
MOST_CORRECTED = 2.5  # the estimate is corrected by this factor at most
PIECE = re.compile(
    r"[A-Za-z]{1,7}|[0-9]|[!-/:-@\[-`{-~]{1,2}"
    r"|[\u0080-\u2fff]{1,2}|[\u3000-\U0010ffff]|\n+|[ \t]{3,16}"
)


@dataclass(frozen=True, slots=True)
class Fit:
    """The estimated size of a request."""

    estimate: int  # tokens, from the characters
    expected: int  # tokens, the estimate times the correction
    num_ctx: int  # tokens, the size of the context window


def estimate(messages: Iterable[ChatMessage]) -> int:
    """Return the estimated tokens of chat messages: one for each piece of their text (`PIECE`)."""
    return sum(
        MESSAGE_TOKENS + _pieces(m["content"]) + IMAGE_TOKENS * len(m.get("images", ()))
        for m in messages
    )


def _pieces(text: str) -> int:
    # Not `findall`, which would block all other threads until it has read the whole text.
    return sum(1 for _ in PIECE.finditer(text))


def fit(log: Log, messages: Iterable[ChatMessage], num_ctx: int) -> Fit:
    """Return the estimated size of a request for a log."""
    guess = estimate(messages)
    return Fit(guess, round(guess * correction(log)), num_ctx)


def correction(log: Log) -> float:
    """Return the ratio of counted to estimated tokens in the log, at most `MOST_CORRECTED`."""
    usages = [m.usage for m in log if isinstance(m, Reply) and m.usage]
    whole = [usage for usage in usages if usage.prompt_tokens > CUT * usage.estimated_tokens > 0]
    if not whole:
        return 1.0
    counted = sum(usage.prompt_tokens for usage in whole)
    return min(counted / sum(usage.estimated_tokens for usage in whole), MOST_CORRECTED)


def too_large(fitted: Fit) -> str:
    """Return a warning if a request that cannot be reduced further does not fit, else ""."""
    if fitted.expected <= fitted.num_ctx:
        return ""
    return (
        f"the request needs about {fitted.expected} tokens and the context holds "
        f"{fitted.num_ctx}: the server will cut it (num_ctx sets the context)"
    )


def cut(fitted: Fit, usage: Usage) -> str:
    """Return a warning if the server cut the request, or the reply left the window; else ""."""
    read = usage.prompt_tokens
    is_less = fitted.expected > AIM * fitted.num_ctx and read < CUT * fitted.expected
    if read and (is_less or read >= fitted.num_ctx):
        return (
            f"the server cut the request: it read {read} tokens of about {fitted.expected}; "
            f"a larger context (num_ctx, now {fitted.num_ctx}) may help"
        )
    if read + usage.reply_tokens > fitted.num_ctx:
        return f"the reply ran past the end of the context of {fitted.num_ctx} tokens (num_ctx)"
    return ""


# ---- shrinking -----------------------------------------------------------------------------------


def shrink(log: Log, terms: Terms, move: Move) -> Note | None:
    """Return the note that makes the next request fit; None if it fits or cannot be reduced.

    Raises ContextTooSmall if the system text and the tools alone fill the context window.
    """
    if terms.num_ctx is None or _request_tokens(log, terms, move) <= FULL * terms.num_ctx:
        return None
    _refuse_too_small(log, terms, move)
    notes = _reductions(log)
    aimed = _first_fitting(notes, AIM * terms.num_ctx, log, terms, move)
    if aimed is not None:
        return aimed
    return _first_fitting(_cuts_of_last_results(log), FULL * terms.num_ctx, log, terms, move)


def to_sum_up(log: Log, note: Note, terms: Terms, asked: str = "") -> tuple[ChatMessage, ...]:
    """Return the request for a summary of the turns that a note leaves out.

    Oldest turns are dropped until the request fits. `asked` replaces the prompt set's instruction.
    """
    before, summary = turns_left_out(log), summary_of(log)
    gone: Log = tuple(chain.from_iterable(turns(log)[: note.turns]))
    cut = Note("shrunk", ids=tuple(_sent_lengths(gone, {})), chars=SUMMED_CHARS)
    room = FULL * (terms.num_ctx or inf) / correction(log)
    request: tuple[ChatMessage, ...] = ()
    for count in range(before, note.turns):
        request = summary_messages((*gone, cut, Note("shrunk", summary, turns=count)), terms, asked)
        if estimate(request) <= room:
            break
    return request


def _request_tokens(log: Log, terms: Terms, move: Move) -> float:
    return estimate(messages_for(log, terms, move)) * correction(log)


def _first_fitting(
    notes: Sequence[Note], room: float, log: Log, terms: Terms, move: Move
) -> Note | None:
    """Return the first note whose request fits into `room` tokens, else the last if it helps.

    `notes` are in the order of growing cuts, so the first is found by bisection.
    """

    def size(note: Note) -> float:
        return _request_tokens((*log, note), terms, move)

    if not notes:
        return None
    found = bisect_left(notes, True, key=lambda note: size(note) <= room)
    note = notes[min(found, len(notes) - 1)]
    return note if size(note) < _request_tokens(log, terms, move) else None


def _reductions(log: Log) -> list[Note]:
    """Return notes in the order of growing cuts: more and more old results, then old turns too."""
    gone = turns_left_out(log)
    ids = _old_results(log, gone)
    hidden = [Note("shrunk", ids=ids[:count], turns=gone) for count in range(1, len(ids) + 1)]
    dropped = [Note("shrunk", ids=ids, turns=count) for count in range(gone + 1, len(turns(log)))]
    return hidden + dropped


def _old_results(log: Log, gone: int) -> tuple[str, ...]:
    """Return the ids of results that are still sent in full, except those of the last round."""
    shown = _sent_lengths(chain.from_iterable(turns(log)[gone:]), results_cut(log))
    spared = _ids_of_last_round(log)
    return tuple(id for id, length in shown.items() if length > WORTH_HIDING and id not in spared)


def _cuts_of_last_results(log: Log) -> list[Note]:
    """Return notes that cut the results of the last round, each to two thirds of the one before."""
    ids, shown = _ids_of_last_round(log), _sent_lengths(log, results_cut(log))
    longest = max((shown.get(id, 0) for id in ids), default=0)
    lengths = []
    while (longest := longest * 2 // 3) >= SHORTEST:
        lengths.append(longest)
    return [Note("shrunk", ids=ids, chars=length) for length in lengths]


def _sent_lengths(messages: Iterable[Message], cuts: Mapping[str, int]) -> dict[str, int]:
    """Return how many characters of each result are sent, by id."""
    results = (message for message in messages if isinstance(message, Result))
    return {r.id: min(len(r.text), cuts.get(r.id, len(r.text))) for r in results}


def _ids_of_last_round(log: Log) -> tuple[str, ...]:
    """Return the ids of the last reply's calls in the current turn."""
    made = [reply for reply in replies_of(turn_of(log)) if reply.calls]
    return tuple(call.id for call in made[-1].calls) if made else ()


def _refuse_too_small(log: Log, terms: Terms, move: Move) -> None:
    """Raise ContextTooSmall if even a request with an empty question does not fit."""
    bare = messages_for((Question(""),), terms, move)
    needed = round(estimate(bare) * correction(log))
    if terms.num_ctx is not None and needed >= terms.num_ctx:
        raise ContextTooSmall(
            f"the system text and the {len(terms.specs)} tools take about {needed} tokens, "
            f"and the context holds {terms.num_ctx}"
        )
