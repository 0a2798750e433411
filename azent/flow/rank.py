"""Finding out how near the functions are to a question, by an encoder."""

from __future__ import annotations

from azent.errors import EncoderFailed
from azent.flow.turn import Encode, Moves, Turn
from azent.step import Rank, ranked


def rank(turn: Turn, step: Rank) -> Moves:
    """Put the ranking of the functions into the log; an empty one and a warning on failure."""
    try:
        queries = yield Encode(step.queries, "query")
        passages = yield Encode(step.passages, "passage")
    except EncoderFailed as error:
        yield turn.warn(f"{error}: all functions are offered, and the model decides")
        queries, passages = (), ()
    turn.grow(ranked(turn.log, step, queries, passages))
