"""Select the functions to offer for a question, and decide whether any of them is needed. Pure.

    queries_of(log)              the texts of the last question, for an encoder
    description_of(spec)         the text of a function, for an encoder
    ranking(...)                 the functions ranked by similarity to the question
    scope_of(log, ...)           the functions to offer, and the least and most calls
    uncovered(question, calls)   the values of a question that no call has used yet
    gate_messages(log, ...)      the request that asks a model whether any function is needed

No code here depends on a language: meaning comes from vectors, and values are compared literally.
"""

from __future__ import annotations

from azent.selection.coverage import adds_to, invented, may_ask_for_several, uncovered
from azent.selection.further import is_first, nothing_more_is_due, ranking_of
from azent.selection.gate import REPLY_TOKENS, gate_messages
from azent.selection.numbers import is_mostly_numbers
from azent.selection.relevance import Vector, description_of, queries_of, ranking
from azent.selection.scope import (
    Scope,
    decides_by_meaning,
    listed,
    narrowing_due,
    narrows,
    retrieved,
    scope_of,
)

__all__ = [
    "REPLY_TOKENS",
    "Scope",
    "Vector",
    "adds_to",
    "decides_by_meaning",
    "description_of",
    "gate_messages",
    "invented",
    "is_first",
    "is_mostly_numbers",
    "listed",
    "may_ask_for_several",
    "narrowing_due",
    "narrows",
    "nothing_more_is_due",
    "queries_of",
    "ranking",
    "ranking_of",
    "retrieved",
    "scope_of",
    "uncovered",
]
