"""The request before a decision, where a set wants it: is any function meant at all? Pure.

A model is shown a few requests with their answers, near misses among them, as turns of a talk, and
then the functions that are left and the question, with the one before where it takes that up; the
rest of the conversation is not sent. Without such turns small models say yes to everything.
"""

from __future__ import annotations

from azent.messages import ChatMessage, Log, Question, Specs
from azent.prompt import PromptSet, fill
from azent.schema import render
from azent.words import subject

REPLY_TOKENS = 8  # of a reply that is one word


def gate_messages(log: Log, specs: Specs, prompts: PromptSet) -> tuple[ChatMessage, ...]:
    """The request: each example as a question and its answer, then the question itself."""
    chat: list[ChatMessage] = []
    for example in prompts.gate:
        chat += [_asked(prompts, example.functions, example.question)]
        chat += [{"role": "assistant", "content": example.answer}]
    questions = [message.text for message in log if isinstance(message, Question)]
    return (*chat, _asked(prompts, render(specs, "brief"), subject(questions, specs)))


def _asked(prompts: PromptSet, functions: str, question: str) -> ChatMessage:
    blanks = {"functions": functions, "question": question}
    return {"role": "user", "content": fill(prompts.texts["gate"], blanks)}
