"""Reply text and specs in; calls, words, reasoning or a problem out.

read(text, specs)             a whole reply
Reader(specs)                 a reply as it streams
AnswerReader(reader)          a reply that holds calls, or the answer as JSON
read_words, WordsReader       an answer, which is never searched for calls
begins_in_reasoning(text)     whether a reply closes reasoning that it did not open
reply_schema, value_schema    the schemas that decoding can be held to
read_narrowing, NarrowingReader, narrowing_schema
                              the same for replies that only narrow a decision down
"""

from __future__ import annotations

from azent.reply.answers import AnswerReader
from azent.reply.format import reply_schema, value_schema
from azent.reply.narrowing import NarrowingReader, narrowing_schema, read_narrowing
from azent.reply.reader import Reader, read
from azent.reply.words import WordsReader, begins_in_reasoning, read_words

__all__ = [
    "AnswerReader",
    "NarrowingReader",
    "Reader",
    "WordsReader",
    "begins_in_reasoning",
    "narrowing_schema",
    "read",
    "read_narrowing",
    "read_words",
    "reply_schema",
    "value_schema",
]
