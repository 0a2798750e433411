"""One decision of a model, with nothing run: what a prompt and a reader are judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from azent import prompt
from azent.arguments import log_in, many, sendable, text, whole
from azent.errors import UsageError
from azent.messages import Answer, Log, Question, Reply, Request
from azent.models import Model, open_model
from azent.prompt import PromptSet
from azent.request import Terms
from azent.step import Ask, Listening, hear, next_step, options_for
from azent.tools import are_trusted, choice_among, specs_of

EXAMPLE = '[{"role": "user", "content": "..."}]'
Words: TypeAlias = str | Sequence[Mapping[str, Any]]


def select(
    question: Words,
    tools: Iterable[object],
    model: str | Model,
    *,
    prompts: str | Path | PromptSet | None = None,
    choice: str = "auto",
    repairs: int = 2,
) -> Reply:
    """One decision: which of the tools the model wants called, and with what. Nothing is run.

    `question` is words, or messages as {"role", "content"} dicts; `tools` are functions, Tools or
    dicts. A reply that cannot be used is corrected, `repairs` times at most; then BadReply is
    raised. Also raises UsageError, SchemaError and ModelError's kinds.
    """
    opened = open_model(model)
    log, system = log_of(question)
    prompt_set = prompt.load(prompts, opened.name)
    tools = tuple(many("tools", tools, "[function, ...]"))
    specs = specs_of(tools)
    terms = Terms(
        specs,
        prompt_set,
        system,
        choice_among(choice, specs),
        repairs=whole("repairs", repairs, 0),
        trusted=are_trusted(tools),
    )
    usage = None
    while isinstance(step := next_step(log, terms), Ask) and step.move != "answer":
        reply = _read(opened, step, terms)
        usage = reply.usage if usage is None or reply.usage is None else usage + reply.usage
        log = hear(log, reply, terms)
    replies = [message for message in log if isinstance(message, Reply)]
    return replace(replies[-1], usage=usage) if replies and usage else Reply()


def log_of(question: Words) -> tuple[Log, str]:
    """The log that messages as dicts make, and the system text among them."""
    if isinstance(question, str):
        return (Question(sendable("question", question)),), ""
    makers: dict[str, Callable[[str], Any]] = {
        "user": Question,
        "assistant": lambda text: Reply(text=text, move="answer"),
    }
    said = [_said(message) for message in many("question", question, EXAMPLE)]
    if not said:
        raise UsageError("question is an empty list", f"Give words, or {EXAMPLE}.")
    log = tuple(makers[role](content) for role, content in said if role in makers)
    system = "\n\n".join(content for role, content in said if role == "system")
    return log, system


def _said(message: Any) -> tuple[str, str]:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in ("system", "user", "assistant"):
        hint = f"Give {EXAMPLE}; roles: system, user, assistant."
        raise UsageError(f"{message!r} is no message", hint)
    content = text("the content of a message", message.get("content"))
    return role, sendable("the content of a message", content)


def chat_of(log: Answer | Log) -> list[dict[str, str]]:
    """What was said in a log, as {"role", "content"} dicts: the questions and the answers.

    An Answer has its log with it.
    """
    chat = []
    for message in log_in(log):
        if isinstance(message, Question):
            chat.append({"role": "user", "content": message.text})
        elif isinstance(message, Reply) and message.text and not (message.calls or message.problem):
            chat.append({"role": "assistant", "content": message.text})
    return chat


def _read(model: Model, ask: Ask, terms: Terms) -> Reply:
    heard = Listening(ask, terms)
    options = options_for(ask.move, terms)
    heard.take_all(model.stream(Request(ask.messages, ask.format, options=options)))
    return heard.close()
