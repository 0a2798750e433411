"""Ask models the cases, and append each outcome to a file.

An arm is a model with a prompt set and an encoder, or with its server's tool calling ("native"). A
run on the same file reuses an outcome if the model, the texts of the prompt set, the encoder and
the texts of the case are unchanged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from azent.agent import Agent
from azent.errors import (
    BadReply,
    CasesError,
    ContextTooSmall,
    ModelRefused,
    SchemaError,
    reason_of,
    safe_json,
)
from azent.lab.cases import Case
from azent.messages import End, Question, Reply, Request, Usage
from azent.messages.log import replies_of
from azent.models import Model
from azent.models.encoder import Encoder
from azent.models.encoders import AUTO, NONE, encoder_for
from azent.prompt import PromptSet
from azent.runtime.concurrency import DaemonThreads
from azent.runtime.decision import log_of, select
from azent.tools.tool import spec_of
from azent.values.arguments import place, whole
from azent.values.files import open_regular, read_stream

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NATIVE = "native"
NO_USAGE = Usage()
ArmKey: TypeAlias = tuple[str, str, str, str]
Key: TypeAlias = tuple[ArmKey, str]
Pair: TypeAlias = "tuple[Arm, Case]"


@dataclass(frozen=True)
class Arm:
    """A model and a way to ask it.

    - `prompts`: the prompt set; None means the tool calling of the model's server.
    - `encoder`: an open encoder, its address, "auto" for the one inside the process, or None.
    """

    model: Model
    prompts: PromptSet | None
    encoder: str | Encoder | None = AUTO

    @cached_property
    def key(self) -> ArmKey:
        """Return the names of the model and the prompt set, the set's hash, the encoder's name.

        The encoder's name is "" for a set whose rules need none, and "none" if one is needed and
        there is none.
        """
        if self.prompts is None:
            return self.model.name, NATIVE, "", ""
        name = ""
        if needs_encoder(self.prompts):
            encoder = encoder_for(self.encoder)
            name = encoder.name if encoder else NONE
        return self.model.name, self.prompts.name, version_of(self.prompts), name


def needs_encoder(prompts: PromptSet) -> bool:
    """Return whether a set compares functions with questions by their meaning."""
    rules = prompts.selection
    return bool(prompts.bank and (rules.shown or rules.within or rules.relevance))


def version_of(prompts: PromptSet) -> str:
    """Hash the texts and settings of a prompt set."""
    values = asdict(replace(prompts, folder=None))
    values["texts"] = {name: text.body for name, text in prompts.texts.items()}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of asking an arm one case.

    - `wrong` says what is wrong; it is empty if all is right.
    - `encoder` is the name of the encoder, as in the key of the arm.
    - `stamp` and `suite` are those of the case when it was asked.
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
    encoder: str = ""

    @property
    def ok(self) -> bool:
        return not self.wrong

    @property
    def arm(self) -> ArmKey:
        """Return the key of the arm that was asked."""
        return self.model, self.prompts, self.version, self.encoder

    @property
    def key(self) -> Key:
        """Return the arm and the case; an outcome with the same key can be reused."""
        return self.arm, self.case


def try_case(arm: Arm, case: Case) -> Outcome:
    """Ask an arm one case.

    A reply that cannot be read counts as wrong, and so does a case that this model cannot be asked.
    Raises a ModelError if the server fails.
    """
    reply, failed = Reply(), ""
    try:
        reply = _reply(arm, case)
    except BadReply as error:
        usages = [each.usage for each in replies_of(error.log) if each.usage]
        reply, failed = Reply(usage=sum(usages, Usage())), str(error)
    except (ModelRefused, ContextTooSmall, SchemaError) as error:
        failed = str(error)
    model, prompts, version, encoder = arm.key
    return Outcome(
        model,
        prompts,
        version,
        case.id,
        case.category,
        case.group,
        wrong=failed or case.judge(reply.calls, reply.text),
        calls=tuple({"tool": c.tool, "tool_input": c.tool_input} for c in reply.calls),
        text=reply.text,
        usage=reply.usage or Usage(),
        stamp=case.stamp,
        suite=case.suite,
        encoder=encoder,
    )


def _reply(arm: Arm, case: Case) -> Reply:
    """Return the calls, the words and the usage with which an arm replies to a case."""
    if arm.prompts is None:
        return _native_reply(arm.model, case)
    asking: dict[str, Any] = {"prompts": arm.prompts, "encoder": arm.encoder}
    if not case.runs:
        reply = select(case.question, case.tools, arm.model, **asking)
        return replace(reply, calls=tuple(call for call in reply.calls if not call.problem))
    log, system = log_of(case.question)
    words = log[-1].text if isinstance(log[-1], Question) else ""
    answer = Agent(arm.model, case.tools, system=system, **asking).ask(words, log[:-1])
    return Reply(answer.calls, answer.text, usage=answer.usage)


def _native_reply(model: Model, case: Case) -> Reply:
    """Ask with the tool calling of the server, and take only the calls that it found."""
    given = case.question
    chat = [{"role": "user", "content": given}] if isinstance(given, str) else map(dict, given)
    request = Request(tuple(chat), tools=tuple(map(spec_of, case.tools)))
    reply = Reply()
    for piece in model.stream(request):
        if isinstance(piece, End):
            reply = replace(reply, usage=piece.usage)
        else:
            text, calls = reply.text + piece.text, reply.calls + piece.calls
            reply = replace(reply, text=text, calls=calls)
    return reply


# ---- running -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """The pairs of arm and case that are still to ask, and the outcomes of those asked before."""

    todo: tuple[Pair, ...]
    done: tuple[Outcome, ...]


def plan(arms: Iterable[Arm], cases: Sequence[Case], kept: Iterable[Outcome] = ()) -> Plan:
    """Plan to ask each arm each case; a server's tool calling is not asked for answers.

    All arms are asked one case before the next case, so that a run that is ended early can still
    compare them.
    """
    by_key = {outcome.key: outcome for outcome in kept}
    arms = tuple(arms)
    pairs = [(arm, case) for case in cases for arm in arms if arm.prompts or not case.runs]
    found = [(pair, known(pair, by_key)) for pair in pairs]
    todo = tuple(pair for pair, outcome in found if outcome is None)
    return Plan(todo, tuple(outcome for _, outcome in found if outcome))


def known(pair: Pair, kept: Mapping[Key, Outcome]) -> Outcome | None:
    """Return an earlier outcome of a pair; one without a stamp fits any text of the case."""
    arm, case = pair
    outcome = kept.get((arm.key, case.id))
    return outcome if outcome and outcome.stamp in ("", case.stamp) else None


def evaluate(
    todo: Iterable[Pair], file: str | Path | None = None, *, jobs: int = 1
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


def _in_parallel(todo: Iterable[Pair], jobs: int) -> Iterator[Outcome]:
    """Ask `jobs` pairs at a time and yield the outcomes as they come."""
    left, threads = iter(todo), DaemonThreads()  # daemons do not delay a caller who stops early
    try:
        out = {threads.submit(try_case, *pair) for pair in islice(left, jobs)}
        while out:
            done, out = wait(out, return_when=FIRST_COMPLETED)
            out |= {threads.submit(try_case, *pair) for pair in islice(left, len(done))}
            # Failures come last, because a failure ends the run: the others are kept first.
            for each in sorted(done, key=lambda each: each.exception() is not None):
                yield each.result()
    finally:
        threads.shutdown(wait=False)


# ---- the file of outcomes ------------------------------------------------------------------------


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
