"""Read answers: words and reasoning, never calls.

Whatever looks like a call here is something that the model shows, so it comes through unchanged;
only reasoning is told apart, and the marks by which chat templates end a turn are taken out.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from azent.messages import Call, Problem, Reply
from azent.parsing.candidates import Terms
from azent.parsing.reader import Reader
from azent.parsing.scanner import Scan, undone
from azent.parsing.streaming import Shown
from azent.values.strict_json import TooDeep, strict

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


# ---- replies that hold either calls or the answer ------------------------------------------------
# The text of the answer is decoded and handed out while it streams.

_HEAD = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_HEAD_MARKS = '{"answer":"'
# As much of a JSON string as can be decoded by itself: no half of an escape, no half of a pair of
# surrogates.
_WHOLE = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*"
)


def answer_in(text: str) -> str | None:
    """Return the answer that a whole reply holds, or None if it is not {"answer": "..."}."""
    head = _HEAD.match(text)
    try:
        found = strict(text, text.index("{")) if head else None
    except TooDeep:
        found = None
    if found is None:
        return None
    value, end = found
    is_answer = isinstance(value, dict) and value.keys() == {"answer"} and not text[end:].strip()
    return value["answer"] if is_answer and isinstance(value["answer"], str) else None


class _Decoder:
    """Decodes the content of a JSON string piece by piece, up to its closing quote."""

    def __init__(self) -> None:
        self._rest = ""
        self._is_over = False

    def feed(self, piece: str) -> str:
        """Return the text that can be decoded with this piece."""
        if self._is_over:
            return ""
        self._rest += piece
        match = _WHOLE.match(self._rest)
        end = match.end() if match else 0
        ready, self._rest = self._rest[:end], self._rest[end:]
        self._is_over = self._rest.startswith('"')
        return str(json.loads(f'"{ready}"', strict=False))


class AnswerReader:
    """Reads a reply that holds calls or an answer, whole or while it streams.

    It has the methods of `Reader`. A reply that does not begin like {"answer": "..."} is read by
    the reader that it is given.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._text = ""
        self._answer: WordsReader | None = None
        self._decoder = _Decoder()
        self._is_open = True  # whether the reply can still begin like an answer

    def feed(self, piece: str) -> list[Call]:
        """Take a piece of text. Return the calls that are certain with it."""
        self._text += piece
        if self._answer is not None:
            return self._answer.feed(self._decoder.feed(piece))
        if not self._is_open:
            return self._reader.feed(piece)
        if head := _HEAD.match(self._text):
            self._answer = WordsReader()
            return self._answer.feed(self._decoder.feed(self._text[head.end() :]))
        self._is_open = _HEAD_MARKS.startswith("".join(self._text.split()))
        return [] if self._is_open else self._reader.feed(self._text)

    def begin_in_reasoning(self) -> None:
        """Expect the reply to begin within its reasoning; to be called before its first text."""
        self._reader.begin_in_reasoning()

    def native(self, call: Call) -> None:
        """Add a call that the server itself read."""
        self._reader.native(call)

    def words(self) -> str:
        """Return the text to show that was not handed out before."""
        return (self._answer or self._reader).words()

    def thoughts(self) -> str:
        """Return the reasoning to show that was not handed out before."""
        return (self._answer or self._reader).thoughts()

    def close(self, done_reason: str = "stop") -> Reply:
        """Return the whole reply; an answer that the length limit cut ends where it was cut."""
        if self._answer is not None and self._holds_answer(done_reason):
            return replace(self._answer.close(done_reason), raw=self._text)
        if self._is_open:
            self._reader.feed(self._text)
        self._answer = None
        return self._reader.close(done_reason)

    def _holds_answer(self, done_reason: str) -> bool:
        return done_reason == "length" or answer_in(self._text) is not None
