"""Which functions are offered for a question, and whether any of them is meant at all. Pure.

queries_of(log)              the texts that stand for the last question, for an encoder
description_of(spec)         the text that stands for a function, for an encoder
ranking(...)                 how near each function is to the question, judged against a bank
scope_of(log, ...)           what the decision that is due may be: functions, least and most calls
uncovered(question, calls)   values in a question that no call has used yet
gate_messages(log, ...)      the request that asks a model whether any function is meant

Nothing here knows a language: meaning comes from vectors, and values are compared as they stand.
"""

from __future__ import annotations

from azent.selection.coverage import adds_to, invented, may_ask_for_several, uncovered
from azent.selection.further import is_first, nothing_more_is_due, ranking_of
from azent.selection.gate import REPLY_TOKENS, gate_messages
from azent.selection.numbers import is_mostly_numbers
from azent.selection.relevance import Vector, description_of, queries_of, ranking
from azent.selection.scope import (
    DECLINED,
    Scope,
    decides_by_meaning,
    listed,
    narrowing_due,
    narrows,
    retrieved,
    scope_of,
)

__all__ = [
    "DECLINED",
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
