"""Reading an answer: words and reasoning, never calls.

Whatever looks like a call here is something that the model shows, so it comes through unchanged;
only reasoning is told apart, and the marks by which chat templates end a turn are taken out.
"""

from __future__ import annotations

from azent.messages import Call, Problem, Reply
from azent.reply.found import Terms
from azent.reply.scan import Scan, undone
from azent.reply.shown import Shown

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

    def __init__(self, *, opened: bool = False) -> None:
        self._scan = Scan(_NO_CALLS)
        self._texts: list[str] = []
        self._shown = Shown(opened)

    def feed(self, piece: str) -> list[Call]:
        """Take a piece of text; there are never calls in it."""
        self._texts.append(piece)
        self._shown.take(self._scan.feed(piece))
        return []

    def begin_in_reasoning(self) -> None:
        """Expect the answer to begin within its reasoning; to be called before its first text."""
        self._shown.begin_in_reasoning()

    def native(self, call: Call) -> None:
        """Calls that the server read have no place in an answer."""

    def words(self) -> str:
        """The text to show that was not handed out before."""
        return self._shown.words()

    def thoughts(self) -> str:
        """The reasoning to show that was not handed out before."""
        return self._shown.thoughts()

    def close(self, done_reason: str = "stop") -> Reply:
        """The whole answer, as `read_words` has it."""
        reply = read_words("".join(self._texts), done_reason=done_reason)
        reply = self._shown.whole(reply, done_reason)
        self._shown.end(reply)
        return reply


def begins_in_reasoning(text: str) -> bool:
    """Does a reply close reasoning that it did not open?"""
    return any(block.undo for block in Scan(_NO_CALLS).whole(text))
