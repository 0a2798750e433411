"""Ask a model once, outside of a turn: for a decision with nothing run, or for a summary."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from azent.conversation.context_window import to_sum_up
from azent.conversation.next_step import Ask, Rank, Step, next_step, options_for
from azent.conversation.position import Terms
from azent.conversation.replies import Listening, hear
from azent.errors import BadReply, EncoderFailed, UsageError
from azent.messages import Answer, Log, Note, Question, Reply, Request, Usage
from azent.messages.log import folded, replies_of, turn_of, turns, withheld_calls
from azent.models import Model, context_of, open_model
from azent.models.encoder import Encoder
from azent.models.encoders import AUTO, encoder_for
from azent.prompt import PromptSet
from azent.prompt.choice import prompts_for
from azent.runtime.asking import ranked_by
from azent.runtime.effects import Encode
from azent.selection import narrows
from azent.tools.tool import are_trusted, choice_among, specs_of
from azent.values.arguments import log_in, many, sendable, text, whole

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
    encoder: str | Encoder | None = AUTO,
) -> Reply:
    """Return the model's decision: which tools to call with what input. Nothing is run.

    - `question`: text, or messages as {"role", "content"} dicts
    - `tools`: functions, Tools or dicts
    - `model`: an address or an open model
    - `prompts`: the name, folder or value of a prompt set; None for the one that suits the model
    - `choice`: "auto", "none", "required" or the name of a tool
    - `repairs`: most corrections of an unusable reply, after which BadReply is raised
    - `encoder`: ranks the functions if the prompt set needs it: an address, an open one, None, or
      "auto" for the installed one
    Also raises UsageError, SchemaError and subclasses of ModelError.
    """
    opened = open_model(model)
    log, system = log_of(question)
    prompt_set = prompts_for(opened, prompts)
    tools = tuple(many("tools", tools, "[function, ...]"))
    specs = specs_of(tools)
    encoder = encoder_for(encoder)
    terms = Terms(
        specs,
        prompt_set,
        system,
        choice_among(choice, specs),
        repairs=whole("repairs", repairs, 0),
        trusted=are_trusted(tools),
        encoded=encoder is not None,
    )
    while not _is_decided(step := next_step(log, terms)):
        if isinstance(step, Rank):
            log = _ranked(log, step, encoder)
        elif isinstance(step, Ask):
            log = hear(log, _read(opened, step, terms, log), terms)
    return _decision(turn_of(log))


def _ranked(log: Log, step: Rank, encoder: Encoder | None) -> Log:
    """Return the log with a ranking appended; an empty one, and a warning, on failure."""
    flow = ranked_by(encoder, log, step)
    try:
        effect = next(flow)
        while True:
            effect = _encoded(flow, effect)
    except StopIteration as end:
        ranked, warning = end.value
    if warning:
        logging.getLogger("azent").warning(warning)
    return cast("Log", ranked)


def _encoded(flow: Generator[Encode, Any, Any], effect: Encode) -> Encode:
    """Send the vectors of an effect's texts into the flow, and return its next effect."""
    try:
        vectors = effect.encoder.encode(effect.texts, effect.kind)
    except EncoderFailed as error:
        return flow.throw(error)
    return flow.send(vectors)


def _is_decided(step: Step) -> bool:
    """Return whether the decision is made: the next step runs calls or asks for an answer."""
    return not isinstance(step, Ask | Rank) or (isinstance(step, Ask) and step.move == "answer")


def _decision(turn: Log) -> Reply:
    """Return the last decision of a turn, with all its calls and the usage of the whole turn."""
    replies, merged = replies_of(turn), replies_of(folded(turn))
    usages = [reply.usage for reply in replies if reply.usage]
    if not usages:
        return Reply()
    decided = [reply for reply in merged if not narrows(reply)]
    last = merged[-1] if withheld_calls(turn) or not decided else decided[-1]
    return replace(last, usage=sum(usages, Usage()))


def log_of(question: Words) -> tuple[Log, str]:
    """Return the log and the system text of a question given as text or as dicts."""
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
    """Return the questions and answers of a log or an Answer as {"role", "content"} dicts."""
    chat = []
    for message in log_in(log):
        if isinstance(message, Question):
            chat.append({"role": "user", "content": message.text})
        elif isinstance(message, Reply) and message.text and not (message.calls or message.problem):
            chat.append({"role": "assistant", "content": message.text})
    return chat


def _read(model: Model, ask: Ask, terms: Terms, log: Log) -> Reply:
    heard = Listening(ask, terms, log)
    options = options_for(ask.move, terms)
    heard.take_all(model.stream(Request(ask.messages, ask.format, options=options)))
    return heard.close()


# ---- the summary of a conversation ---------------------------------------------------------------


def summary(
    conversation: Answer | Log,
    model: str | Model,
    *,
    prompt: str = "",
    prompts: str | Path | None = None,
) -> str:
    """Return a model's summary of a conversation, or its reply to `prompt` about it.

    - `conversation`: an Answer or its log.
    - `model`: an address or an open model.
    - `prompt`: the instruction, in place of the one for a summary.
    - `prompts`: a prompt set's name or folder.

    Long results are shortened, and the oldest turns are left out if the context window is too
    small. Raises UsageError for an empty conversation, BadReply for an empty reply, and ModelError.
    """
    log = log_in(conversation)
    if not turns(log):
        raise UsageError("there is nothing to sum up", "Give an Answer, or its log.")
    opened = open_model(model)
    terms = Terms({}, prompts_for(opened, prompts), num_ctx=context_of(opened))
    note = Note("shrunk", turns=len(turns(log)))
    messages = to_sum_up(log, note, terms, text("prompt", prompt))
    heard = Listening(Ask(messages, None, "answer"), terms)
    heard.take_all(opened.stream(Request(messages)))
    reply = heard.close()
    if reply.problem:
        raise BadReply("the model gave no summary", log=(*log, reply))
    return reply.text
