"""Asking models the cases. An arm is a model and a way to ask it; each case gives an outcome.

A way to ask is a prompt set, or the tool calling of the model's server ("native"). Outcomes are
appended to a file, as one JSON object on each line. A run on the same file asks only what is not in
there yet: an outcome is reused if the model, the prompt set with its texts, and the case with its
texts are still the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from azent.agent import Agent
from azent.arguments import place, whole
from azent.decide import log_of, select
from azent.errors import BadReply, CasesError, ContextTooSmall, ModelRefused, SchemaError
from azent.execute.threads import DaemonThreads
from azent.files import open_regular, read_stream
from azent.lab.cases import Case
from azent.log import replies_of
from azent.messages import Call, End, Question, Request, Usage
from azent.models import Model
from azent.prompt import PromptSet
from azent.tools import spec_of
from azent.wording import reason_of, safe_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NATIVE = "native"
NO_USAGE = Usage()
Key: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Arm:
    """A model and the prompt set to ask it with; None means the tool calling of its server."""

    model: Model
    prompts: PromptSet | None

    @property
    def name(self) -> str:
        return self.prompts.name if self.prompts else NATIVE

    @property
    def version(self) -> str:
        """A hash of the texts and settings of the prompt set."""
        return version_of(self.prompts) if self.prompts else ""


def version_of(prompts: PromptSet) -> str:
    """Hash the texts and settings of a prompt set."""
    values = asdict(replace(prompts, folder=None))
    values["texts"] = {name: text.body for name, text in prompts.texts.items()}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: `wrong` tells what is wrong, and is empty if all is right.

    `stamp` and `suite` are those of the case when it was asked.
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
    suite: str = ""

    @property
    def ok(self) -> bool:
        return not self.wrong

    @property
    def key(self) -> Key:
        """What was asked; an outcome with the same key can be reused."""
        return (self.model, self.prompts, self.version, self.case)


@dataclass(frozen=True, slots=True)
class _Reply:
    """The calls and words with which a model replied to a case, or why it failed."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    usage: Usage = NO_USAGE
    failed: str = ""


def key_of(arm: Arm, case: Case) -> Key:
    """The key that the outcome of an arm on a case has."""
    return (arm.model.name, arm.name, arm.version, case.id)


def try_case(arm: Arm, case: Case) -> Outcome:
    """Ask an arm one case.

    A reply that cannot be read counts as wrong, and so does a case that this model cannot be asked.
    Raises a ModelError if the server fails.
    """
    try:
        reply = _reply(arm, case)
    except BadReply as error:
        usages = [reply.usage for reply in replies_of(error.log) if reply.usage]
        reply = _Reply(failed=str(error), usage=sum(usages, Usage()))
    except (ModelRefused, ContextTooSmall, SchemaError) as error:
        reply = _Reply(failed=str(error))
    return Outcome(
        *key_of(arm, case)[:3],
        case=case.id,
        category=case.category,
        group=case.group,
        wrong=reply.failed or case.judge(reply.calls, reply.text),
        calls=tuple({"tool": c.tool, "tool_input": c.tool_input} for c in reply.calls),
        text=reply.text,
        usage=reply.usage,
        stamp=case.stamp,
        suite=case.suite,
    )


def _reply(arm: Arm, case: Case) -> _Reply:
    if arm.prompts is None:
        return _native(arm.model, case)
    if case.runs:
        return _answered(arm.model, arm.prompts, case)
    reply = select(case.question, case.tools, arm.model, prompts=arm.prompts)
    calls = tuple(call for call in reply.calls if not call.problem)
    return _Reply(calls, reply.text, reply.usage or Usage())


def _answered(model: Model, prompts: PromptSet, case: Case) -> _Reply:
    """Run the tools and have the question answered."""
    log, system = log_of(case.question)
    last = log[-1]
    words = last.text if isinstance(last, Question) else ""
    answer = Agent(model, case.tools, prompts=prompts, system=system).ask(words, log[:-1])
    return _Reply(answer.calls, answer.text, answer.usage)


def _native(model: Model, case: Case) -> _Reply:
    """Ask with the tool calling of the server, and take only the calls that it found."""
    chat = [dict(message) for message in _messages(case.question)]
    offered = tuple(spec_of(tool) for tool in case.tools)
    reply = _Reply()
    for piece in model.stream(Request(tuple(chat), tools=offered)):
        if isinstance(piece, End):
            reply = replace(reply, usage=piece.usage)
        else:
            text, calls = reply.text + piece.text, reply.calls + piece.calls
            reply = replace(reply, text=text, calls=calls)
    return reply


def _messages(question: str | Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return [{"role": "user", "content": question}] if isinstance(question, str) else question


# ---- running -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """The pairs of arm and case that are still to ask, and the outcomes of those asked before."""

    todo: tuple[tuple[Arm, Case], ...]
    done: tuple[Outcome, ...]


def plan(arms: Iterable[Arm], cases: Sequence[Case], kept: Iterable[Outcome] = ()) -> Plan:
    """Plan to ask each arm each case; a server's tool calling is not asked for answers.

    All arms are asked one case before the next case, so that a run that is ended early can still
    compare them.
    """
    by_key = {outcome.key: outcome for outcome in kept}
    arms = tuple(arms)
    pairs = [(arm, case) for case in cases for arm in arms if arm.prompts or not case.runs]
    done = [known(pair, by_key) for pair in pairs]
    todo = [pair for pair, outcome in zip(pairs, done, strict=True) if outcome is None]
    return Plan(tuple(todo), tuple(outcome for outcome in done if outcome))


def known(pair: tuple[Arm, Case], kept: Mapping[Key, Outcome]) -> Outcome | None:
    """Find an earlier outcome of the pair; one without a stamp fits any text of the case."""
    outcome = kept.get(key_of(*pair))
    return outcome if outcome and outcome.stamp in ("", pair[1].stamp) else None


def evaluate(
    todo: Iterable[tuple[Arm, Case]], file: str | Path | None = None, *, jobs: int = 1
) -> Iterator[Outcome]:
    """Ask the pairs, `jobs` at a time, and yield each outcome once it is in the file.

    Raises a ModelError if the model's server fails; the outcomes so far stay in the file.
    """
    kept = None if file is None else place("file", file)
    if kept is not None:
        _make_ready(kept)
    one_by_one = whole("jobs", jobs, 1) == 1
    outcomes = (try_case(*pair) for pair in todo) if one_by_one else _in_parallel(todo, jobs)
    for outcome in outcomes:
        if kept is not None:
            _append(kept, outcome)
        yield outcome


def _in_parallel(todo: Iterable[tuple[Arm, Case]], jobs: int) -> Iterator[Outcome]:
    """Ask `jobs` pairs at a time and yield the outcomes as they come."""
    left, threads = iter(todo), DaemonThreads()  # daemons do not delay a caller who stops early
    try:
        out = {threads.submit(try_case, *pair) for pair in islice(left, jobs)}
        while out:
            done, out = wait(out, return_when=FIRST_COMPLETED)
            out |= {threads.submit(try_case, *pair) for pair in islice(left, len(done))}
            # Failures come last, because a failure ends the run: the others are kept first.
            yield from (each.result() for each in sorted(done, key=_failed))
    finally:
        threads.shutdown(wait=False)


def _failed(future: Future[Outcome]) -> bool:
    return future.exception() is not None


def read_outcomes(file: str | Path) -> list[Outcome]:
    """Read the outcomes in a file, the last one of each key; none if there is no file.

    An incomplete last line is skipped. Raises CasesError for any other line that is no outcome.
    """
    file = place("file", file)
    if not file.exists():
        return []
    with _usable(file):
        lines = read_stream(file).split("\n")
    numbered = [(number, line) for number, line in enumerate(lines[:-1], start=1) if line.strip()]
    outcomes = [_outcome(line, f"{file}:{number}") for number, line in numbered]
    return list({outcome.key: outcome for outcome in outcomes}.values())


def _append(file: Path, outcome: Outcome) -> None:
    line = safe_json(json.dumps(asdict(outcome), ensure_ascii=False)) + "\n"
    with _usable(file), file.open("ab") as lines:
        lines.write(line.encode())


def _make_ready(file: Path) -> None:
    """Check that the file can be written, and remove an incomplete line that a killed run left."""
    with _usable(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            open_regular(file).close()  # refuses a device, and a pipe: neither can be continued
        with file.open("ab+") as lines:
            lines.seek(0)
            lines.truncate(lines.read().rfind(b"\n") + 1)


@contextmanager
def _usable(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise CasesError(f"{file} cannot be used: {reason_of(error)}") from error


def _outcome(line: str, place: str) -> Outcome:
    try:
        return _validator().validate_python(json.loads(line))
    except (ValueError, RecursionError) as error:
        hint = "Name another file, or one that `azent eval -o` wrote."
        raise CasesError(f"{place}: this is no outcome of `azent eval`", hint) from error


@cache
def _validator() -> TypeAdapter[Outcome]:
    from pydantic import TypeAdapter

    return TypeAdapter(Outcome)
