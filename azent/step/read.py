"""How the reply to a request is read, and what bounds it: both depend on the move."""

from __future__ import annotations

from typing import Any

from azent.messages import Move
from azent.reply import NarrowingReader, Reader, WordsReader
from azent.request import Terms
from azent.selection import REPLY_TOKENS
from azent.step.next import Ask


def reader_for(step: Ask, terms: Terms) -> Reader | WordsReader | NarrowingReader:
    """A new reader for the reply to this request."""
    if step.move == "answer":
        return WordsReader()
    if step.move == "gate" or step.move == "choose" or step.move == "list":
        return NarrowingReader(step.move, terms.specs)
    return Reader(terms.specs, held=step.format is not None, trusted=terms.trusted)


def options_for(move: Move, terms: Terms) -> dict[str, Any]:
    """The server's options for a request: the caller's for answers, none for decisions."""
    if move == "gate":
        return {"num_predict": REPLY_TOKENS}
    return dict(terms.options) if move in ("answer", "single") else {}
