"""Replies that hold either calls or the answer: {"tools": [...]} or {"answer": "..."}.

The text of the answer is decoded and handed out while it streams.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from azent.literals import TooDeep, strict
from azent.messages import Call, Reply
from azent.reply.reader import Reader
from azent.reply.words import WordsReader

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
