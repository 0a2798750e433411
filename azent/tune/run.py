"""Carrying a search out: its asks are put to a model, and each outcome is kept at once.

The file is one of `azent eval`'s: outcomes, one on each line, each by what was asked. A search that
is begun again is answered from it and so goes on where it was left. What a case says, the model's
weights and its context are part of what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TypeAlias

from azent.arguments import called, many, place, whole
from azent.errors import ModelRefused, UsageError
from azent.evaluate import (
    Arm,
    Case,
    Outcome,
    Row,
    Verdict,
    key_of,
    known,
    read_outcomes,
    rows,
    run,
    stamp,
    verdicts,
)
from azent.models import Model, open_model
from azent.models.cached import Cached
from azent.models.ollama import Ollama
from azent.prompt import PromptSet
from azent.tune.board import Mark
from azent.tune.given import Halves, bases_for, check_halves
from azent.tune.once import asked_once
from azent.tune.rungs import first_rung
from azent.tune.search import Ask, Found, Search, Standing, Terms, in_order, search
from azent.tune.space import Candidate, first_field, neighbours

BUDGET = 600


@dataclass(frozen=True, slots=True)
class Judging:
    """How far the final judgement is: so many outcomes there are, of so many."""

    done: int
    of: int


Watch: TypeAlias = Callable[[Standing | Judging, int], None]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of it, judged on the cases set aside: the set to be beaten, and the winner.

    `start` and `winner` are one where nothing better was found. `digest` names the model's weights,
    where its server tells it.
    """

    model: str
    digest: str
    halves: Halves
    found: Found
    start: Row
    winner: Row

    @property
    def prompts(self) -> PromptSet:
        """The set that won, under the name that says how it came about."""
        return self.found.winner.prompts

    @property
    def judged(self) -> tuple[Row, ...]:
        """The rows that there are: two, or the one."""
        return (self.start,) if self.start == self.winner else (self.start, self.winner)

    @property
    def verdicts(self) -> list[Verdict]:
        """The winner against the set to be beaten, where they are two."""
        return verdicts(self.judged)


def nobody(standing: Standing | Judging, asked: int) -> None:
    """Watch nothing."""


def tune(
    model: str | Model,
    halves: Halves,
    bases: Sequence[PromptSet] = (),
    *,
    budget: int = BUDGET,
    seed: int = 0,
    file: str | Path | None = None,
    jobs: int = 1,
    watch: Watch = nobody,
) -> Tuned:
    """Search for the prompt set that suits a model best, and judge it on the cases set aside.

    The first of `bases` is the one to be beaten; without any, they are all sets there are, the one
    that the model gets first. `budget` is how many times a candidate may be asked a case; the
    judgement comes on top. Outcomes are kept in the file, and those kept before are not asked
    again. `watch` is told after each outcome how far it is, and how many were asked by now.
    Raises CasesError for too few cases or a file that cannot be used, UsageError for a budget that
    is too small or what makes no sense, and ModelError's kinds when the model's server is gone.
    """
    opened, file = open_model(model), None if file is None else place("file", file)
    seed, jobs = whole("seed", seed, 0), whole("jobs", jobs, 1)
    called("watch", watch, "from how far it is, and a number, to nothing")
    bases = tuple(many("bases", bases, "[azent.prompt.load(name), ...]")) or bases_for(opened.name)
    _check(halves, bases, whole("budget", budget, 1))
    digest = _digest(opened)
    to_search, aside = (_stamped(each, opened, digest) for each in (halves.search, halves.aside))
    with asked_once(opened, digest, file) as once:
        asker = _Asker(once, file, jobs, watch)
        found = _carried_out(search(_terms(to_search, bases, budget, seed)), asker)
        start, winner = asker.judged(bases[0], found.winner.prompts, aside)
    return Tuned(opened.name, digest, halves, found, start, winner)


def _check(halves: Halves, bases: Sequence[PromptSet], budget: int) -> None:
    if not isinstance(halves, Halves):
        raise UsageError(f"halves is {halves!r}", "Give those that azent.tune.halves returns.")
    if strange := [each for each in bases if not isinstance(each, PromptSet)]:
        raise UsageError(f"{strange[0]!r} is no prompt set", "Give azent.prompt.load(name).")
    check_halves(halves)
    if len({each.name for each in bases}) < len(bases):
        raise UsageError("two of the prompt sets have one name", "Rename the folder of one.")
    least = 2 * first_rung(halves.search)
    if budget < least:
        hint = f"Two candidates on the first {least // 2} cases take {least}."
        raise UsageError(f"a budget of {budget} is too small", hint)


def _terms(cases: Sequence[Case], bases: Sequence[PromptSet], budget: int, seed: int) -> Terms:
    def shuffled(candidate: Candidate) -> list[Candidate]:
        near = list(neighbours(candidate, bases))
        Random(seed).shuffle(near)
        return near

    return Terms(first_field(bases), shuffled, in_order(cases, seed), budget)


def _digest(model: Model) -> str:
    """What names the weights of an Ollama server's model; "" for others, or if nobody is asked."""
    asked = _asked_of(model)
    if getattr(model, "strict", False) or not isinstance(asked, Ollama):
        return ""
    try:
        return asked.digest()
    except ModelRefused:
        return ""  # a server behind something that lets nothing but chats through


def _asked_of(model: Model) -> Model:
    """The model itself, where its replies are kept in a file."""
    return model.model if isinstance(model, Cached) else model


def _stamped(cases: Sequence[Case], model: Model, digest: str) -> tuple[Case, ...]:
    """The cases, with what else an outcome depends on in their stamps."""
    facts = (digest, model.num_ctx, getattr(_asked_of(model), "options", {}))
    return tuple(replace(case, stamp=stamp(case.stamp, facts)) for case in cases)


def _carried_out(asks: Search, asker: _Asker) -> Found:
    try:
        ask = next(asks)
        while True:
            ask = asks.send(asker.marks(ask))
    except StopIteration as end:
        found: Found = end.value
        return found


class _Asker:
    """Asks a model what is not known yet, and keeps what came of it."""

    def __init__(self, model: Model, file: Path | None, jobs: int, watch: Watch) -> None:
        self._model = model
        self._file = file
        self._jobs = jobs
        self._watch = watch
        self._kept = {each.key: each for each in (read_outcomes(file) if file else ())}
        self._asked = 0

    def marks(self, ask: Ask) -> list[Mark]:
        """What came of each candidate of an ask."""
        pairs = [(Arm(self._model, each.prompts), ask.case) for each in ask.candidates]
        spent = ask.standing.spent
        outcomes = self._outcomes(pairs, lambda n: replace(ask.standing, spent=spent + n))
        return [Mark(each.ok, each.usage.prompt_tokens) for each in outcomes]

    def judged(self, start: PromptSet, winner: PromptSet, aside: Sequence[Case]) -> list[Row]:
        """How two sets do on the cases that were set aside."""
        sets = [start] if start == winner else [start, winner]
        arms = [Arm(self._model, each) for each in sets]
        pairs = [(arm, case) for case in aside for arm in arms]
        found = rows(self._outcomes(pairs, lambda n: Judging(n, len(pairs))))
        return [found[0], found[-1]]

    def _outcomes(
        self, pairs: Sequence[tuple[Arm, Case]], now: Callable[[int], Standing | Judging]
    ) -> list[Outcome]:
        """The outcomes in the order of the pairs, asked where they are not known."""
        todo = [pair for pair in pairs if known(pair, self._kept) is None]
        self._watch(now(len(pairs) - len(todo)), self._asked)
        fresh = run(todo, self._file, jobs=self._jobs) if todo else ()
        for number, outcome in enumerate(fresh, start=1):
            self._kept[outcome.key] = outcome
            self._asked += 1
            self._watch(now(len(pairs) - len(todo) + number), self._asked)
        return [self._kept[key_of(*pair)] for pair in pairs]
