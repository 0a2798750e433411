"""Finding out how near the functions are to a question, by an encoder."""

from __future__ import annotations

from azent.errors import EncoderFailed
from azent.flow.turn import Encode, Moves, Turn
from azent.selection import Vector
from azent.step import Rank, ranked


def rank(turn: Turn, step: Rank) -> Moves:
    """Put the ranking of the functions into the log; an empty one and a warning on failure."""
    queries: list[Vector] = []
    passages: list[Vector] = []
    try:
        if turn.encoder is not None:
            queries = yield Encode(turn.encoder, step.queries, "query")
            passages = yield Encode(turn.encoder, step.passages, "passage")
    except EncoderFailed as error:
        yield turn.warn(f"{error}: all functions are offered, and the model decides")
        queries = []
    turn.grow(ranked(turn.log, step, queries, passages))
