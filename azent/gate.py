"""The request before a decision, where a set wants it: is any function meant at all? Pure.

A model is shown a few requests with their answers, near misses among them, as turns of a talk, and
then the functions that the question has to do with and the question, with the one before where it
takes that up; the rest of the conversation is not sent. Without such turns small models say yes to
everything. The functions are more than the next call may be to: a question that takes two steps
has to do with both.
"""

from __future__ import annotations

from azent.log import questions_of
from azent.messages import ChatMessage, Log, Specs
from azent.prompt import PromptSet, fill
from azent.schema import render
from azent.words import nearness, subject

REPLY_TOKENS = 8  # of a reply that is one word
MOST = 5  # functions that a gate is asked about, where words tell which


def gate_messages(log: Log, specs: Specs, prompts: PromptSet) -> tuple[ChatMessage, ...]:
    """The request: each example as a question and its answer, then the question itself."""
    chat: list[ChatMessage] = []
    for example in prompts.gate:
        chat += [_asked(prompts, example.functions, example.question)]
        chat += [{"role": "assistant", "content": example.answer}]
    asked = subject(questions_of(log), specs)
    shown = _about(asked, specs) if prompts.words.nearest else specs
    return (*chat, _asked(prompts, render(shown, "brief"), asked))


def _about(question: str, specs: Specs) -> Specs:
    """The functions that a question has to do with by its words, else all; not more than a few."""
    near = nearness(question, specs).ranked[:MOST]
    return {name: specs[name] for name in specs if name in near} or specs


def _asked(prompts: PromptSet, functions: str, question: str) -> ChatMessage:
    blanks = {"functions": functions, "question": question}
    return {"role": "user", "content": fill(prompts.texts["gate"], blanks)}
