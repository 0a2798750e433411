"""A file of questions in, a file of answers out, however often it has to be begun."""

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
from azent.arguments import called, many, place, seconds, whole
from azent.batch.answers import Answers
from azent.batch.lane import Lane, asking
from azent.batch.pace import Pace
from azent.batch.questions import BadLine, Item, read_questions
from azent.batch.work import PATIENCE, TRIES, Outcome, Said, ask_all
from azent.drive import Approve, asker
from azent.errors import AzentError, UsageError

MOST = 64  # questions at once to one server


@dataclass(slots=True)
class Progress:
    """How far a batch is: counts of questions, and how they fared.

    `before` were answered in earlier runs; `failures` counts errors by their kind, and `examples`
    has one of each in words; `bad` are the lines that hold no question.
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


Watch: TypeAlias = Callable[[Progress, Said], None]


def nobody(progress: Progress, event: Said) -> None:
    """Watches nothing."""


def run_batch(
    questions: str | Path,
    answers: str | Path,
    agents: Agent | Iterable[Agent | Lane],
    *,
    parallel: int | None = None,
    most: int = MOST,
    tries: int = TRIES,
    patience: float = PATIENCE,
    approve: Approve | None = None,
    watch: Watch = nobody,
) -> Progress:
    """Answer the questions of a file into another, going on where an earlier run ended.

    `questions` has {"id", "question"} a line; `answers` gets {"id", "answer", ...} or {"id",
    "error"} a line, as they come. Ids that have an answer are not asked again; those that failed
    are. `agents` are one for each server. Each is asked as many at once as it takes, up to `most`,
    or `parallel`. A question whose reply breaks off is tried `tries` times; when all servers are
    away for `patience` seconds, the run ends. `approve` is asked about calls, from several threads
    at once. `watch` is told of each step, in the caller's thread.
    Raises UsageError for files that cannot be used, and ModelError's kinds where no server is left.
    """
    questions, answers = place("questions", questions), place("answers", answers)
    _check_apart(questions, answers)
    patience, tries = seconds("patience", patience), whole("tries", tries, 1)
    called("watch", watch, "from a Progress and what was said to nothing")
    asker(approve)  # what cannot be asked is told now, not at the first call
    lanes = _lanes([agents] if isinstance(agents, Agent) else agents, parallel, most, approve)
    progress, began = Progress(), time.monotonic()
    with Answers(answers) as file:
        progress.before = len(file.done)
        unanswered = _unanswered(read_questions(questions), file)
        with closing(ask_all(unanswered, lanes, tries=tries, patience=patience)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, Outcome):
                    file.write(outcome.item.id, _record(outcome))
                _count(progress, outcome)
                progress.seconds = time.monotonic() - began
                watch(progress, outcome)
    return progress


def _check_apart(questions: Path, answers: Path) -> None:
    """Raise UsageError where both are one file, by whatever links."""
    with suppress(OSError):  # one of them is not there, so they are two
        if os.path.samefile(questions, answers):
            said = "questions and answers are the same file"
            raise UsageError(said, "Name another for the answers.")


def _lanes(
    agents: Iterable[Agent | Lane], parallel: int | None, most: int, approve: Approve | None
) -> list[Lane]:
    fixed = None if parallel is None else whole("parallel", parallel, 1)
    whole("most", most, 1)
    agents = many("agents", agents, "[azent.Agent(...), ...]")
    lanes = [_lane(each, Pace(most, fixed), approve) for each in agents]
    if not lanes:
        raise UsageError("there is nobody to ask", "Give an agent for each server.")
    return lanes


def _lane(agent: Agent | Lane, pace: Pace, approve: Approve | None) -> Lane:
    if isinstance(agent, Lane):
        return agent
    if isinstance(agent, Agent):
        return Lane(_name(agent), asking(agent, approve), pace)
    raise UsageError(f"{agent!r} is no agent", "Give azent.Agent(model), one for each server.")


def _name(agent: Agent) -> str:
    """What the user knows a server by."""
    place = getattr(agent.model, "host", None) or getattr(agent.model, "url", None)
    return f"{agent.model.name} at {place}" if place else agent.model.name


def _unanswered(items: Iterable[Item | BadLine], file: Answers) -> Iterator[Item | BadLine]:
    return (item for item in items if isinstance(item, BadLine) or item.id not in file.done)


def _record(outcome: Outcome) -> dict[str, Any]:
    if outcome.error is None:
        return dict(outcome.record)
    return {"error": str(outcome.error), "kind": type(outcome.error).__name__}


def _count(progress: Progress, said: Said) -> None:
    match said:
        case BadLine():
            progress.bad.append(said)
        case Outcome(error=None):
            progress.answered += 1
        case Outcome(error=error):
            kind = type(error).__name__
            progress.failures[kind] += 1
            hint = error.hint if isinstance(error, AzentError) else ""
            progress.examples.setdefault(kind, f"{error} {hint}".strip())
