"""Choose the parser and the server options of a request by its move."""

from __future__ import annotations

from typing import Any, TypeAlias

from azent.log import replies_of
from azent.messages import Log, Move
from azent.reply import (
    AnswerReader,
    NarrowingReader,
    Reader,
    WordsReader,
    begins_in_reasoning,
)
from azent.request import Terms
from azent.selection import REPLY_TOKENS
from azent.step.next import Ask

ReplyReader: TypeAlias = Reader | AnswerReader | WordsReader | NarrowingReader


def reader_for(step: Ask, terms: Terms, log: Log = ()) -> ReplyReader:
    """Return a new parser for the reply to this request.

    A model whose last reply closed its reasoning without an opening tag is expected to do so again.
    """
    opened = begins_in_reasoning(next((reply.raw for reply in reversed(replies_of(log))), ""))
    if step.move == "answer":
        return WordsReader(opened=opened)
    if step.move == "gate" or step.move == "choose" or step.move == "list":
        return NarrowingReader(step.move, terms.specs)
    held = step.format is not None
    reader = Reader(terms.specs, held=held, trusted=terms.trusted, opened=opened and not held)
    return reader if terms.prompts.answers == "apart" else AnswerReader(reader)


def options_for(move: Move, terms: Terms) -> dict[str, Any]:
    """Return a request's server options: the caller's for answers, a token limit for a gate."""
    if move == "gate":
        return {"num_predict": REPLY_TOKENS}
    return dict(terms.options) if move in ("answer", "single") else {}
