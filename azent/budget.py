"""Fitting a conversation into the model's context, before the server cuts it in silence.

What a request takes is estimated from its characters, and corrected by what the server counted for
earlier requests of the same log. Past `FULL` of the context it shrinks at once to `AIM`, as a note
in the log, so that requests begin alike, and the server's cache of the prefix holds, until the next
time. Old results go first, then whole old turns, then all but the ends of the last results; the
system text, the tools and the last question never do.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf

from azent.errors import ContextTooSmall
from azent.log import replies_of, turn_of, turns
from azent.messages import ChatMessage, Log, Message, Move, Note, Question, Reply, Result, Usage
from azent.request import Terms, messages_for, summary_messages
from azent.shrunk import results_cut, summary_of, turns_left_out

FULL = 0.8
AIM = 0.5
CUT = 0.6  # of what was expected: a server that counts less than that has cut the request
WORTH_HIDING = 100  # characters; a shorter result is hardly longer than the word that it is hidden
SHORTEST = 100  # characters to which the last results may have to be cut
SUMMED_CHARS = 300  # of each result, for a summary
MESSAGE_TOKENS = 6  # that a chat template puts around a message
IMAGE_TOKENS = 800
MOST_CORRECTED = 2.5  # times the estimate
PIECE = re.compile(
    r"[A-Za-z]{1,7}|[0-9]|[!-/:-@\[-`{-~]{1,2}"
    r"|[\u0080-\u2fff]{1,2}|[\u3000-\U0010ffff]|\n+|[ \t]{3,16}"
)


@dataclass(frozen=True, slots=True)
class Fit:
    """What a request is expected to take of a context: its estimate, and that corrected."""

    estimate: int
    expected: int
    num_ctx: int


def estimate(messages: Iterable[ChatMessage]) -> int:
    """About how many tokens messages are: one for a short word, a digit, two marks, a character."""
    return sum(
        MESSAGE_TOKENS + _pieces(m["content"]) + IMAGE_TOKENS * len(m.get("images", ()))
        for m in messages
    )


def _pieces(text: str) -> int:
    # One after the other: `findall` would stop every other thread until it is through the text.
    return sum(1 for _ in PIECE.finditer(text))


def fit(log: Log, messages: Iterable[ChatMessage], num_ctx: int) -> Fit:
    """What a request for a log is expected to take."""
    guess = estimate(messages)
    return Fit(guess, round(guess * correction(log)), num_ctx)


def correction(log: Log) -> float:
    """How many tokens the server counted for each that was estimated."""
    usages = [m.usage for m in log if isinstance(m, Reply) and m.usage]
    whole = [usage for usage in usages if usage.prompt_tokens > CUT * usage.estimated_tokens > 0]
    if not whole:
        return 1.0
    counted = sum(usage.prompt_tokens for usage in whole)
    return min(counted / sum(usage.estimated_tokens for usage in whole), MOST_CORRECTED)


def too_large(fitted: Fit) -> str:
    """A warning where a request cannot fit, though nothing more can be left out of it; or ""."""
    if fitted.expected <= fitted.num_ctx:
        return ""
    return (
        f"the request needs about {fitted.expected} tokens and the context holds "
        f"{fitted.num_ctx}: the server will cut it (num_ctx sets the context)"
    )


def cut(fitted: Fit, usage: Usage) -> str:
    """A warning where the server read less than it was sent, or forgot some of it; or ""."""
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
    """The note by which the next request fits; None where it fits, or nothing can be left out.

    Raises ContextTooSmall where the system text and the tools alone take all of the context.
    """
    if terms.num_ctx is None or _size(log, terms, move) <= FULL * terms.num_ctx:
        return None
    _refuse_too_small(log, terms, move)
    notes = _notes(log)
    aimed = _first_that_fits(notes, AIM * terms.num_ctx, log, terms, move)
    if aimed is not None:
        return aimed
    return _first_that_fits(_cuts(log), FULL * terms.num_ctx, log, terms, move)


def to_sum_up(log: Log, note: Note, terms: Terms, asked: str = "") -> tuple[ChatMessage, ...]:
    """The request for a summary of the turns that a note leaves out, or of the last that fit.

    `asked` takes the place of the set's words.
    """
    before, summary = turns_left_out(log), summary_of(log)
    gone: Log = tuple(chain.from_iterable(turns(log)[: note.turns]))
    cut = Note("shrunk", ids=tuple(_lengths(gone, {})), chars=SUMMED_CHARS)
    room = FULL * (terms.num_ctx or inf) / correction(log)
    request: tuple[ChatMessage, ...] = ()
    for count in range(before, note.turns):
        request = summary_messages((*gone, cut, Note("shrunk", summary, turns=count)), terms, asked)
        if estimate(request) <= room:
            break
    return request


def _size(log: Log, terms: Terms, move: Move) -> float:
    return estimate(messages_for(log, terms, move)) * correction(log)


def _first_that_fits(
    notes: Sequence[Note], room: float, log: Log, terms: Terms, move: Move
) -> Note | None:
    """The mildest of ever harsher notes by which a request fits, else the harshest that helps."""

    def size(note: Note) -> float:
        return _size((*log, note), terms, move)

    if not notes:
        return None
    found = bisect_left(notes, True, key=lambda note: size(note) <= room)
    note = notes[min(found, len(notes) - 1)]
    return note if size(note) < _size(log, terms, move) else None


def _notes(log: Log) -> list[Note]:
    """Ever harsher notes: more and more old results, then the first turns too."""
    gone = turns_left_out(log)
    ids = _old_results(log, gone)
    hidden = [Note("shrunk", ids=ids[:count], turns=gone) for count in range(1, len(ids) + 1)]
    dropped = [Note("shrunk", ids=ids, turns=count) for count in range(gone + 1, len(turns(log)))]
    return hidden + dropped


def _old_results(log: Log, gone: int) -> tuple[str, ...]:
    """The results that are still sent whole, the last round's apart."""
    shown = _lengths(chain.from_iterable(turns(log)[gone:]), results_cut(log))
    spared = _last_round(log)
    return tuple(id for id, length in shown.items() if length > WORTH_HIDING and id not in spared)


def _cuts(log: Log) -> list[Note]:
    """Ever harsher notes: the last round's results, cut to less and less."""
    ids, shown = _last_round(log), _lengths(log, results_cut(log))
    longest = max((shown.get(id, 0) for id in ids), default=0)
    lengths = []
    while (longest := longest * 2 // 3) >= SHORTEST:
        lengths.append(longest)
    return [Note("shrunk", ids=ids, chars=length) for length in lengths]


def _lengths(messages: Iterable[Message], cuts: Mapping[str, int]) -> dict[str, int]:
    """How many characters of each result are sent, by id."""
    results = (message for message in messages if isinstance(message, Result))
    return {r.id: min(len(r.text), cuts.get(r.id, len(r.text))) for r in results}


def _last_round(log: Log) -> tuple[str, ...]:
    """The calls of the last reply that made some, in the turn that goes on."""
    made = [reply for reply in replies_of(turn_of(log)) if reply.calls]
    return tuple(call.id for call in made[-1].calls) if made else ()


def _refuse_too_small(log: Log, terms: Terms, move: Move) -> None:
    """Raise ContextTooSmall where even a question without words would not fit."""
    bare = messages_for((Question(""),), terms, move)
    needed = round(estimate(bare) * correction(log))
    if terms.num_ctx is not None and needed >= terms.num_ctx:
        raise ContextTooSmall(
            f"the system text and the {len(terms.specs)} tools take about {needed} tokens, "
            f"and the context holds {terms.num_ctx}"
        )
