"""Build the request that asks a model whether any function is needed. Pure.

The request shows some example questions with their answers as earlier turns, then the functions and
the question. Some of the examples are close to a function and still need none: without them small
models say yes to everything.
"""

from __future__ import annotations

from azent.messages import ChatMessage, Log, Specs
from azent.messages.log import turn_of
from azent.prompt import PromptSet, fill
from azent.schema.render import render
from azent.selection.further import ranking_of
from azent.selection.relevance import queries_of

REPLY_TOKENS = 8  # limit of a reply that is one word
MOST = 5  # functions in a gate request, if they are ranked


def gate_messages(log: Log, specs: Specs, prompts: PromptSet) -> tuple[ChatMessage, ...]:
    """Return the gate request: each example with its answer, then functions and question."""
    chat: list[ChatMessage] = []
    for example in prompts.gate:
        chat += [_message(prompts, example.functions, example.question)]
        chat += [{"role": "assistant", "content": example.answer}]
    return (
        *chat,
        _message(prompts, render(_ranked(log, specs), "brief"), _question(log, prompts)),
    )


def _question(log: Log, prompts: PromptSet) -> str:
    """Return the question; with the turn before it, if it alone is similar to no function."""
    queries, rank = queries_of(log), ranking_of(turn_of(log))
    top = max((score for _, score in rank.scores), default=0.0) if rank else 0.0
    is_clear_alone = top >= prompts.selection.none_below
    return next(iter(queries if is_clear_alone else queries[::-1]), "")


def _ranked(log: Log, specs: Specs) -> Specs:
    """Return the `MOST` functions most similar to the question, or all if there is no ranking."""
    rank = ranking_of(turn_of(log))
    best = {name for name, _ in rank.scores[:MOST]} if rank else set()
    return {name: spec for name, spec in specs.items() if name in best} or specs


def _message(prompts: PromptSet, functions: str, question: str) -> ChatMessage:
    blanks = {"functions": functions, "question": question}
    return {"role": "user", "content": fill(prompts.texts["gate"], blanks)}
