"""Listening to a reply while it comes, whoever brings its pieces.

A reply is over where its model says so, and where nothing more is to be expected of it: where it
writes nothing but white space, or the same over and over.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from azent.log import turn_of
from azent.messages import Call, Delta, End, Log, Reply
from azent.reply.circles import CALL_CHARS, WORD_CHARS, Circles
from azent.request import Terms
from azent.step.hear import further_calls
from azent.step.next import Ask
from azent.step.read import reader_for

IDLE_SPACES = 400  # white space in a row after which a model will say no more


class Listening:
    """A reply to a request, as far as it has come.

    `log` is the conversation that the request is about. `raw` is its text and `thoughts` the
    reasoning that the server told apart; `certain` are the calls that nothing can unmake any more.
    `in_circles` says that it repeated itself and was ended.
    """

    def __init__(self, ask: Ask, terms: Terms, log: Log = ()) -> None:
        self.reader = reader_for(ask, terms, log)
        self.raw = ""
        self.thoughts = ""
        self.certain: list[Call] = []
        self.in_circles = False
        self._move = ask.move
        self._terms, self._turn = terms, turn_of(log)
        self._has_enough = False
        self._end = End()
        self._words = Circles(WORD_CHARS if ask.move in ("answer", "single") else CALL_CHARS)
        self._thoughts = Circles(WORD_CHARS)
        self._spaces = 0

    def take(self, piece: Delta | End) -> None:
        """Take a piece of the reply."""
        if isinstance(piece, End):
            self._end = piece
            return
        self.raw += piece.text
        self.thoughts += piece.thinking
        if piece.in_reasoning:
            self.reader.begin_in_reasoning()
        certain = self.reader.feed(piece.text)
        self.certain += certain
        for call in piece.calls:
            self.reader.native(call)
        if certain and self._move == "more":
            _, self._has_enough = further_calls(self.certain, self._turn, self._terms)
        self._notice(piece)

    def take_all(self, pieces: Iterator[Delta | End]) -> None:
        """Take pieces until the reply is over; closing their iterator stops the model."""
        for piece in pieces:
            self.take(piece)
            if self.over:
                break
        if isinstance(pieces, Generator):
            pieces.close()

    def _notice(self, piece: Delta) -> None:
        self._spaces = 0 if piece.text.strip() else self._spaces + len(piece.text)
        if self._words.turn(self.raw) or self._thoughts.turn(self.thoughts):
            self.in_circles = True
            self._end = End("length")

    @property
    def over(self) -> bool:
        """Is there nothing more to expect of it?"""
        return self.in_circles or self._has_enough or self._spaces > IDLE_SPACES

    def close(self) -> Reply:
        """The whole reply; of one that was stopped as it had enough, the calls that were whole."""
        reply = self.reader.close(self._end.done_reason)
        if self._move == "more":
            reply = replace(reply, calls=tuple(self.certain))
        thinking = "\n".join(filter(None, (self.thoughts, reply.thinking)))
        return replace(
            reply,
            thinking=thinking,
            usage=self._end.usage,
            move=self._move,
            raw=self.raw,
            done_reason=self._end.done_reason,
        )
