"""Ranking the tools by their similarity to a question, with an encoder."""

from __future__ import annotations

from azent.errors import EncoderFailed
from azent.flow.turn import Encode, Moves, Turn
from azent.selection import Vector
from azent.step import Rank, ranked


def rank(turn: Turn, step: Rank) -> Moves:
    """Append the ranking of the tools to the log; if the encoder fails, an empty one."""
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
