"""Summaries of a conversation, written by a model."""

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
