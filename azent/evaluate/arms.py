"""Arms: a model and a way to ask it, and what comes of a case.

A way to ask is a prompt set, or `native`: the tool calling of the model's server.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from azent import prompt
from azent.agent import Agent, select
from azent.errors import BadReply, ModelRefused, NotRecorded
from azent.evaluate.cases import Case
from azent.log import replies_of
from azent.messages import Call, ChatMessage, Delta, End, Request, Usage
from azent.models import Model
from azent.prompt import PromptSet
from azent.tools import spec_of

NATIVE = "native"


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
        if self.prompts is None:
            return ""
        said = asdict(replace(self.prompts, folder=None))
        said["texts"] = {name: text.body for name, text in self.prompts.texts.items()}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: `wrong` says what was wrong, and is empty where all was right."""

    model: str
    prompts: str
    version: str
    case: str
    category: str
    group: str
    wrong: str = ""
    calls: tuple[dict[str, Any], ...] = ()
    text: str = ""
    usage: Usage = Usage()

    @property
    def ok(self) -> bool:
        return not self.wrong

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What was asked: the same key means that it need not be asked again."""
        return (self.model, self.prompts, self.version, self.case)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a model made of a case."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    usage: Usage = Usage()
    failed: str = ""


def key_of(arm: Arm, case: Case) -> tuple[str, str, str, str]:
    """The key of the outcome that an arm will have on a case."""
    return (arm.model.name, arm.name, arm.version, case.id)


def try_case(arm: Arm, case: Case) -> Outcome:
    """Ask an arm one case. A reply of no use is a wrong one; that no model answers is raised."""
    try:
        said = _said(arm, case)
    except BadReply as error:
        usages = [reply.usage for reply in replies_of(error.log) if reply.usage]
        said = _Said(failed=str(error), usage=sum(usages, Usage()))
    except NotRecorded:
        raise
    except ModelRefused as error:
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
    )


def _said(arm: Arm, case: Case) -> _Said:
    if arm.prompts is None:
        return _native(arm.model, case)
    if case.runs:
        return _answered(arm, case)
    reply = select(case.question, case.tools, arm.model, prompts=arm.prompts.folder)
    calls = tuple(call for call in reply.calls if not call.problem)
    return _Said(calls, reply.text, reply.usage or Usage())


def _answered(arm: Arm, case: Case) -> _Said:
    """The whole turn: the tools run, and the question is answered."""
    log, words, system = _conversation(case)
    folder = arm.prompts.folder if arm.prompts else None
    agent = Agent(arm.model, case.tools, prompts=folder, system=system)
    answer = agent.ask(words, log)
    return _Said(answer.calls, answer.text, answer.usage)
