"""Arms: a model and a way to ask it, and what comes of a case.

A way to ask is a prompt set, or `native`: the tool calling of the model's server.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from azent.agent import Agent
from azent.decide import log_of, select
from azent.errors import BadReply, ContextTooSmall, ModelRefused, SchemaError
from azent.evaluate.cases import Case
from azent.log import replies_of
from azent.messages import Call, End, Question, Request, Usage
from azent.models import Model
from azent.prompt import PromptSet
from azent.tools import spec_of

NATIVE = "native"
NO_USAGE = Usage()
Key: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Arm:
    """A model, and the prompt set by which it is asked; without one, its server's tool calling."""

    model: Model
    prompts: PromptSet | None

    @property
    def name(self) -> str:
        return self.prompts.name if self.prompts else NATIVE

    @property
    def version(self) -> str:
        """A name for what the texts and settings of the prompt set are now."""
        return version_of(self.prompts) if self.prompts else ""


def version_of(prompts: PromptSet) -> str:
    """A name for what the texts and settings of a prompt set are now."""
    said = asdict(replace(prompts, folder=None))
    said["texts"] = {name: text.body for name, text in prompts.texts.items()}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: `wrong` says what was wrong, and is empty where all was right.

    `stamp` is that of the case as it was asked.
    """

    model: str
    prompts: str
    version: str
    case: str
    category: str
    group: str
    wrong: str = ""
    calls: tuple[dict[str, Any], ...] = ()
    text: str = ""
    usage: Usage = NO_USAGE
    stamp: str = ""

    @property
    def ok(self) -> bool:
        return not self.wrong

    @property
    def key(self) -> Key:
        """What was asked: the same key means that it need not be asked again."""
        return (self.model, self.prompts, self.version, self.case)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a model made of a case."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    usage: Usage = NO_USAGE
    failed: str = ""


def key_of(arm: Arm, case: Case) -> Key:
    """The key of the outcome that an arm will have on a case."""
    return (arm.model.name, arm.name, arm.version, case.id)


def try_case(arm: Arm, case: Case) -> Outcome:
    """Ask an arm one case.

    A reply of no use, and a case that cannot be put to this model, are wrong. That the model's
    server fails is raised.
    """
    try:
        said = _said(arm, case)
    except BadReply as error:
        usages = [reply.usage for reply in replies_of(error.log) if reply.usage]
        said = _Said(failed=str(error), usage=sum(usages, Usage()))
    except (ModelRefused, ContextTooSmall, SchemaError) as error:
        said = _Said(failed=str(error))
    return Outcome(
        *key_of(arm, case)[:3],
        case=case.id,
        category=case.category,
        group=case.group,
        wrong=said.failed or case.judge(said.calls, said.text),
        calls=tuple({"tool": c.tool, "tool_input": c.tool_input} for c in said.calls),
        text=said.text,
        usage=said.usage,
        stamp=case.stamp,
    )


def _said(arm: Arm, case: Case) -> _Said:
    if arm.prompts is None:
        return _native(arm.model, case)
    if case.runs:
        return _answered(arm.model, arm.prompts, case)
    reply = select(case.question, case.tools, arm.model, prompts=arm.prompts)
    calls = tuple(call for call in reply.calls if not call.problem)
    return _Said(calls, reply.text, reply.usage or Usage())


def _answered(model: Model, prompts: PromptSet, case: Case) -> _Said:
    """The whole turn: the tools run, and the question is answered."""
    log, system = log_of(case.question)
    last = log[-1]
    words = last.text if isinstance(last, Question) else ""
    answer = Agent(model, case.tools, prompts=prompts, system=system).ask(words, log[:-1])
    return _Said(answer.calls, answer.text, answer.usage)


def _native(model: Model, case: Case) -> _Said:
    """The calls that the server itself read out of the reply, and no others."""
    chat = [dict(message) for message in _messages(case.question)]
    offered = tuple(spec_of(tool) for tool in case.tools)
    said = _Said()
    for piece in model.stream(Request(tuple(chat), tools=offered)):
        if isinstance(piece, End):
            said = replace(said, usage=piece.usage)
        else:
            said = replace(said, calls=said.calls + piece.calls, text=said.text + piece.text)
    return said


def _messages(question: str | Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return [{"role": "user", "content": question}] if isinstance(question, str) else question
