"""A model that says what it is told to, for tests and examples. It never touches a network."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping

from azent.arguments import at_least, seconds, text, whole
from azent.errors import ModelError, ModelTimeout, UsageError
from azent.messages import Delta, End, Request, Usage


class Scripted:
    """A model that gives one reply of its script to each request, whole or in pieces.

    A reply is a text, an exception to raise, or a list of pieces (texts, `Delta`s, an `End`).
    `heard` keeps the requests. `pause` is the seconds it takes before each reply. `billions` is how
    many parameters it says it has. Past the end of the script it raises ModelError, so that a test
    notices a request too many.
    """

    def __init__(
        self,
        *replies: str | Exception | Iterable[str | Delta | End],
        name: str = "scripted",
        num_ctx: int | None = None,
        pause: float = 0.0,
        billions: float | None = None,
    ) -> None:
        for reply in replies:
            if isinstance(reply, Mapping) or not isinstance(reply, Iterable | Exception):
                hint = "Give a text, an exception, or a list of pieces."
                raise UsageError(f"{reply!r} is no reply of a script", hint)
        self.name = text("name", name)
        self.num_ctx = None if num_ctx is None else whole("num_ctx", num_ctx, 1)
        self.pause = seconds("pause", pause)
        self.billions = None if billions is None else at_least("billions", billions, 0)
        self.heard: list[Request] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    def parameters(self) -> float | None:
        """The billions of parameters that it was said to have."""
        return self.billions

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The next reply of the script, piece by piece."""
        with self._lock:
            self.heard.append(request)
            if len(self.heard) > len(self._replies):
                hint = "Give the script a reply for each request."
                raise ModelError(f"the script has no reply for request {len(self.heard)}", hint)
            reply = self._replies[len(self.heard) - 1]
        self._think(request.timeout)
        if isinstance(reply, Exception):
            raise reply
        yield from _deltas([reply] if isinstance(reply, str) else reply)

    def _think(self, timeout: float | None) -> None:
        if timeout is not None and self.pause > timeout:
            time.sleep(timeout)
            raise ModelTimeout("the pause is longer than the time for the reply")
        if self.pause:
            time.sleep(self.pause)


def _deltas(pieces: Iterable[str | Delta | End]) -> Iterator[Delta | End]:
    """The pieces as deltas, with an end if they lack one."""
    count = 0
    for piece in pieces:
        count += 1
        if not isinstance(piece, str | Delta | End):
            raise ModelError(f"{piece!r} is no piece of a reply", "Give a text, a Delta or an End.")
        yield Delta(piece) if isinstance(piece, str) else piece
        if isinstance(piece, End):
            return
    yield End(usage=Usage(reply_tokens=count, requests=1))
