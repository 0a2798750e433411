"""Answer thousands of questions with one server or several; a run goes on where the last ended.

from azent.batch import run_batch
run_batch("questions.jsonl", "answers.jsonl", azent.Agent("qwen2.5-coder:1.5b", [add]))
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from azent.agent import Agent
from azent.batch.cluster import cluster_server
from azent.batch.files import LOCK, PART, SAVED, Answers, BadLine, Item, read_questions
from azent.batch.workers import (
    PATIENCE,
    TRIES,
    BatchEvent,
    ConcurrencyLimit,
    Notice,
    QuestionOutcome,
    Server,
    ask_all,
    asking,
)
from azent.errors import AzentError, UsageError
from azent.runtime.driver import Approve, asker
from azent.values.arguments import called, many, place, seconds, whole

__all__ = [
    "BadLine",
    "BatchEvent",
    "Item",
    "Notice",
    "Progress",
    "QuestionOutcome",
    "Server",
    "Watch",
    "ask_all",
    "cluster_server",
    "ignore",
    "run_batch",
]

MOST = 64  # questions at once to one server


@dataclass(slots=True)
class Progress:
    """How far a batch is.

    `before` counts the questions that earlier runs answered, and `answered` those of this run.
    `failures` counts errors by their kind, `examples` has the message of one of each kind, and
    `bad` lists the lines that hold no question.
    """

    before: int = 0
    answered: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    bad: list[BadLine] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        return sum(self.failures.values())


Watch: TypeAlias = Callable[[Progress, BatchEvent], None]


def ignore(progress: Progress, event: BatchEvent) -> None:
    """Do nothing with an event."""


def run_batch(
    questions: str | Path,
    answers: str | Path,
    agents: Agent | Iterable[Agent | Server],
    *,
    parallel: int | None = None,
    most: int = MOST,
    tries: int = TRIES,
    patience: float = PATIENCE,
    approve: Approve | None = None,
    watch: Watch = ignore,
) -> Progress:
    """Answer the questions in a file and write the answers to another; continue an earlier run.

    - `questions`: a file with {"id", "question"} on each line.
    - `answers`: the file that gets {"id", "answer", ...} or {"id", "error"} on each line. Questions
      that have an answer in it are not asked again; those that failed are.
    - `agents`: one agent for each server.
    - `parallel`: how many questions to ask a server at once. Without it, azent measures how many a
      server takes, up to `most`.
    - `tries`: how often to ask a question whose reply breaks off or takes too long.
    - `patience`: after how many seconds the run ends if all servers are down.
    - `approve`: is asked about calls, by several threads at once.
    - `watch`: is called with the progress and each event, in the caller's thread.

    Raises UsageError for files that cannot be used, and a ModelError if no server is left.
    """
    questions, answers = place("questions", questions), place("answers", answers)
    _check_two_files(questions, answers)
    patience, tries = seconds("patience", patience), whole("tries", tries, 1)
    called("watch", watch, "from a Progress and an event to nothing")
    asker(approve)  # raises an error now for what cannot be asked, not at the first call
    given = [agents] if isinstance(agents, Agent) else agents
    servers = _servers(given, parallel, most, approve)
    progress, began = Progress(), time.monotonic()
    with Answers(answers) as file:
        progress.before = len(file.done)
        unanswered = _unanswered(read_questions(questions), file)
        with closing(ask_all(unanswered, servers, tries=tries, patience=patience)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, QuestionOutcome):
                    file.write(outcome.item.id, _record(outcome))
                _count(progress, outcome)
                progress.seconds = time.monotonic() - began
                watch(progress, outcome)
    return progress


def _check_two_files(questions: Path, answers: Path) -> None:
    """Raise UsageError if both paths lead to one file, or one is a helper of the other."""
    if questions.name.endswith((SAVED, PART, LOCK)):
        message = f"{questions} has the name of a file that azent makes and removes"
        raise UsageError(message, "Rename it.")
    with suppress(OSError):  # one of the files is missing, so they are two
        if os.path.samefile(questions, answers):
            message = "questions and answers are the same file"
            raise UsageError(message, "Name another for the answers.")


def _servers(
    agents: Iterable[Agent | Server], parallel: int | None, most: int, approve: Approve | None
) -> list[Server]:
    fixed = None if parallel is None else whole("parallel", parallel, 1)
    whole("most", most, 1)
    agents = many("agents", agents, "[azent.Agent(...), ...]")
    servers = [_server(each, ConcurrencyLimit(most, fixed), approve) for each in agents]
    if not servers:
        raise UsageError("there is nobody to ask", "Give an agent for each server.")
    return servers


def _server(
    agent: Agent | Server, concurrency: ConcurrencyLimit, approve: Approve | None
) -> Server:
    if isinstance(agent, Server):
        return agent
    if isinstance(agent, Agent):
        return Server(_name(agent), asking(agent, approve), concurrency)
    raise UsageError(f"{agent!r} is no agent", "Give azent.Agent(model), one for each server.")


def _name(agent: Agent) -> str:
    """Return the name by which the user knows a server."""
    place = getattr(agent.model, "host", None) or getattr(agent.model, "url", None)
    return f"{agent.model.name} at {place}" if place else agent.model.name


def _unanswered(items: Iterable[Item | BadLine], file: Answers) -> Iterator[Item | BadLine]:
    return (item for item in items if isinstance(item, BadLine) or item.id not in file.done)


def _record(outcome: QuestionOutcome) -> dict[str, Any]:
    if outcome.error is None:
        return dict(outcome.record)
    return {"error": str(outcome.error), "kind": type(outcome.error).__name__}


def _count(progress: Progress, event: BatchEvent) -> None:
    match event:
        case BadLine():
            progress.bad.append(event)
        case QuestionOutcome(error=None):
            progress.answered += 1
        case QuestionOutcome(error=error):
            kind = type(error).__name__
            progress.failures[kind] += 1
            hint = error.hint if isinstance(error, AzentError) else ""
            progress.examples.setdefault(kind, f"{error} {hint}".strip())
