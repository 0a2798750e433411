"""Reading an answer: words and reasoning, never calls.

Whatever looks like a call here is something that the model shows, so it comes through unchanged;
only reasoning is told apart, and the marks by which chat templates end a turn are taken out.
"""

from __future__ import annotations

from azent.messages import Call, Problem, Reply
from azent.reply.found import Block, Terms
from azent.reply.outlet import Outlet
from azent.reply.scan import Scan, undone

_NO_CALLS = Terms({}, words_only=True)


def read_words(text: str, *, done_reason: str = "stop") -> Reply:
    """The words and the reasoning of an answer; a problem where it has no words. Never raises."""
    scan = Scan(_NO_CALLS)
    blocks = undone(scan.whole(text, cut=done_reason == "length"))
    words = "".join(block.words for block in blocks).strip()
    thinking = "".join(block.thinking for block in blocks).strip()
    problem = None if words else Problem("empty", "The answer was empty: it has no words.")
    return Reply((), words, thinking, problem, raw=text)


class WordsReader:
    """Reads an answer while it streams: the methods of `Reader`, without calls."""

    def __init__(self) -> None:
        self._scan = Scan(_NO_CALLS)
        self._texts: list[str] = []
        self._words, self._thoughts = Outlet(), Outlet()

    def feed(self, piece: str) -> list[Call]:
        """Take a piece of text; there are never calls in it."""
        self._texts.append(piece)
        self._take(self._scan.feed(piece))
        return []

    def native(self, call: Call) -> None:
        """Calls that the server read have no place in an answer."""

    def words(self) -> str:
        """The text to show that was not handed out before."""
        return self._words.take()

    def thoughts(self) -> str:
        """The reasoning to show that was not handed out before."""
        return self._thoughts.take()

    def close(self, done_reason: str = "stop") -> Reply:
        """The whole answer, as `read_words` has it."""
        reply = read_words("".join(self._texts), done_reason=done_reason)
        self._words.end(reply.text)
        self._thoughts.end(reply.thinking)
        return reply

    def _take(self, blocks: list[Block]) -> None:
        for block in blocks:
            self._words.put(block.words)
            self._thoughts.put(block.thinking)
