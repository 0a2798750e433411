"""Read a reply while it streams, from any source of pieces.

A reply ends where its model ends it, and is stopped early where nothing useful can follow: after a
long run of white space, or where the text repeats itself.
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

IDLE_SPACES = 400  # characters of white space in a row; text never follows


class Listening:
    """A partial reply to a request.

    - `log`: the conversation of the request, given to the constructor
    - `raw`: the text so far
    - `thoughts`: the reasoning that the server sent separately
    - `certain`: the tool calls that later text cannot change
    - `in_circles`: whether the reply repeated itself and was stopped
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
        """Add a piece of the reply."""
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
        self._check_for_end(piece)

    def take_all(self, pieces: Iterator[Delta | End]) -> None:
        """Add pieces until the reply is over, then close their iterator, which stops the model."""
        for piece in pieces:
            self.take(piece)
            if self.over:
                break
        if isinstance(pieces, Generator):
            pieces.close()

    def _check_for_end(self, piece: Delta) -> None:
        self._spaces = 0 if piece.text.strip() else self._spaces + len(piece.text)
        if self._words.turn(self.raw) or self._thoughts.turn(self.thoughts):
            self.in_circles = True
            self._end = End("length")

    @property
    def over(self) -> bool:
        """Return whether to stop reading the reply."""
        return self.in_circles or self._has_enough or self._spaces > IDLE_SPACES

    def close(self) -> Reply:
        """Return the parsed reply; of a "more" request only the calls that were complete."""
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
