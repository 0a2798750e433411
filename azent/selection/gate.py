"""The request that asks a model whether any function is meant at all. Pure.

A model is shown a few requests with their answers, near misses among them, as turns of a talk, and
then the functions and the question, with the exchange before it where there is one. Without such
turns small models say yes to everything.
"""

from __future__ import annotations

from azent.log import turn_of
from azent.messages import ChatMessage, Log, Specs
from azent.prompt import PromptSet, fill
from azent.schema import render
from azent.selection.further import ranking_of
from azent.selection.relevance import queries_of

REPLY_TOKENS = 8  # of a reply that is one word
MOST = 5  # functions that a gate is asked about, where their ranking is known


def gate_messages(log: Log, specs: Specs, prompts: PromptSet) -> tuple[ChatMessage, ...]:
    """The request: each example as a question and its answer, then the question itself."""
    chat: list[ChatMessage] = []
    for example in prompts.gate:
        chat += [_asked(prompts, example.functions, example.question)]
        chat += [{"role": "assistant", "content": example.answer}]
    return (*chat, _asked(prompts, render(_shown(log, specs), "brief"), _question(log, prompts)))


def _question(log: Log, prompts: PromptSet) -> str:
    """The question; with what was said before it, where it alone is near to no function."""
    queries, rank = queries_of(log), ranking_of(turn_of(log))
    best = max((score for _, score in rank.scores), default=0.0) if rank else 0.0
    stands_alone = best >= prompts.selection.none_below
    return next(iter(queries if stands_alone else queries[::-1]), "")


def _shown(log: Log, specs: Specs) -> Specs:
    """The functions nearest to the question, where that is known, else all."""
    rank = ranking_of(turn_of(log))
    near = {name for name, _ in rank.scores[:MOST]} if rank else set()
    return {name: spec for name, spec in specs.items() if name in near} or specs


def _asked(prompts: PromptSet, functions: str, question: str) -> ChatMessage:
    blanks = {"functions": functions, "question": question}
    return {"role": "user", "content": fill(prompts.texts["gate"], blanks)}
