"""Leaving out old messages that no longer fit into the context window, with a warning."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from azent.budget import fit, to_sum_up
from azent.flow.ask import reply_to
from azent.flow.turn import Effect, Moves, Turn
from azent.messages import Event, Note, Shrunk
from azent.shrunk import turns_left_out
from azent.step import Ask
from azent.wording import counted


def shorten(turn: Turn, note: Note) -> Moves:
    """Append a note to the log that leaves out old results and turns from later requests.

    If summaries are enabled, the model first sums up the turns that are left out.
    """
    fresh = note.turns - turns_left_out(turn.log)
    if fresh and turn.terms.summarise:
        note = yield from _with_summary(turn, note)
    turn.grow((*turn.log, note))
    yield Shrunk(note)
    yield turn.warn(_warning(note, fresh, turn.terms.num_ctx))


def _with_summary(turn: Turn, note: Note) -> Generator[Effect | Event, Any, Note]:
    messages = to_sum_up(turn.log, note, turn.terms)
    fitted = fit(turn.log, messages, turn.terms.num_ctx) if turn.terms.num_ctx else None
    reply = yield from reply_to(turn, Ask(messages, None, "answer", fitted, shown=False))
    return replace(note, text=reply.text.strip(), usage=reply.usage)


def _warning(note: Note, fresh: int, num_ctx: int | None) -> str:
    """Return a warning for the user that lists what a note leaves out.

    `fresh` is the number of turns that no earlier note left out.
    """
    results = counted(len(note.ids), "result")
    how = f"cut to {note.chars} characters" if note.chars else "left out"
    turns = f"{fresh} more of the first turns" if note.turns > fresh else f"the first {fresh} turns"
    turns = "the first turn" if note.turns == 1 else turns
    gone = [f"{results} {how}"] * bool(note.ids) + [f"{turns} left out"] * bool(fresh)
    summed = " and summed up" if note.text else ""
    return f"the context of {num_ctx} tokens is nearly full: {', '.join(gone)}{summed}"
