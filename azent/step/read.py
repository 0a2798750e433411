"""Which reader the reply to a request is for: it depends on the move that was asked for."""

from __future__ import annotations

from azent.reply import NarrowingReader, Reader, WordsReader
from azent.request import Terms
from azent.step.next import Ask


def reader_for(step: Ask, terms: Terms) -> Reader | WordsReader | NarrowingReader:
    """A new reader for the reply to this request."""
    if step.move == "answer":
        return WordsReader()
    if step.move == "choose" or step.move == "list":
        return NarrowingReader(step.move, terms.specs)
    return Reader(terms.specs, held=step.format is not None, trusted=terms.trusted)
