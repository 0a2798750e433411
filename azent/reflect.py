"""The summary of a conversation, made by a model that looks back at it."""

from __future__ import annotations

from pathlib import Path

from azent.arguments import log_in, text
from azent.budget import to_sum_up
from azent.errors import BadReply, UsageError
from azent.log import turns
from azent.messages import Answer, Log, Note, Request
from azent.models import Model, context_of, open_model
from azent.prompt_choice import prompts_for
from azent.request import Terms
from azent.step import Ask, Listening


def summary(
    conversation: Answer | Log,
    model: str | Model,
    *,
    prompt: str = "",
    prompts: str | Path | None = None,
) -> str:
    """What a model says a conversation comes to, or what `prompt` asks of it instead.

    Long results are shown to it in part, and turns that do not fit into its context not at all:
    the last ones count. Raises UsageError for an empty conversation, BadReply where the model says
    nothing, and ModelError's kinds.
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
