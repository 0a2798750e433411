"""Tuning: searching the prompt set that suits a model best, and judging it on cases set aside.

The search is carried out with a real model. Each outcome is stored at once in a file like that of
`azent eval`, and the model's replies beside it, so that an interrupted search goes on where it was.
The text of a case, the model's weights and its context are part of what an outcome is stored for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeAlias

from azent import prompt
from azent.arguments import called, many, place, whole
from azent.errors import CasesError, ModelRefused, PromptError, UsageError
from azent.lab.cases import Case, stamp
from azent.lab.evaluation import Arm, Outcome, evaluate, key_of, known, read_outcomes
from azent.lab.report import Row, Verdict, rows, verdicts
from azent.lab.search import (
    Evaluate,
    Score,
    Search,
    SearchProgress,
    SearchResult,
    SearchTask,
    first_stage,
    in_order,
    search,
)
from azent.lab.sources import cases_from
from azent.lab.space import Candidate, first_field, neighbours
from azent.models import Model, open_model, parameters_of
from azent.models.ollama import Ollama
from azent.models.recorded import Cached
from azent.prompt import PromptSet
from azent.wording import counted

BUDGET = 600
LEAST_CASES = 4  # in each part of the split
REPLIES = ".replies.db"


# ---- what a search begins with -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Split:
    """The cases to search with, and those set aside to judge the winner."""

    search: tuple[Case, ...]
    aside: tuple[Case, ...]


def split_cases(
    sources: Sequence[str], functions: Sequence[object] = (), *, sample: int | None = None
) -> Split:
    """Read the cases of some sources and split them as `azent eval --part` does.

    `sample` is the most cases of each category in each part. Raises CasesError, also if there are
    too few, and UsageError for two cases with one id.
    """
    parts = (cases_from(sources, functions, part=part, sample=sample) for part in ("dev", "final"))
    split = Split(*map(tuple, parts))
    _check_split(split)
    return split


def _check_split(split: Split) -> None:
    """Raise CasesError if there are too few cases, or if a case is in both parts."""
    few = min(len(split.search), len(split.aside))
    if few < LEAST_CASES:
        hint = (
            f"Give {2 * LEAST_CASES} cases or more, two or more of each kind (a category, and "
            "whether one call is due, several or none): every second one of a kind is set aside."
        )
        there = f"{counted(len(split.search), 'case')} to search with, {len(split.aside)} set aside"
        raise CasesError(f"{there}: {LEAST_CASES} are needed of each", hint)
    if both := {each.id for each in split.search} & {each.id for each in split.aside}:
        hint = "Give cases ids of their own."
        raise CasesError(f"the case {min(both)!r} is also among those set aside", hint)


def starting_sets(model: Model, without: str = "") -> tuple[PromptSet, ...]:
    """The set that the model gets by default, then all others in its language that can be read.

    `without` names a set to leave out, because it is to be written. Raises PromptError if the first
    set is broken.
    """
    start = prompt.suited(model.name, parameters_of(model), without)
    names = [name for name in prompt.folders() if name not in (without, start.name)]
    return (start, *(each for each in _readable(names) if each.language == start.language))


def _readable(names: Sequence[str]) -> Iterator[PromptSet]:
    for name in names:
        try:
            yield prompt.load(name)
        except PromptError:
            continue  # the user did not name it; `azent prompts list` tells what is wrong with it


# ---- tuning --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JudgingProgress:
    """How far the final judgement is: how many outcomes of how many there are."""

    done: int
    of: int


TuningProgress: TypeAlias = SearchProgress | JudgingProgress
Watch: TypeAlias = Callable[[TuningProgress, int], None]


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of tuning, with the figures of two sets on the cases set aside.

    `start` is the set to beat and `winner` the best one found; they are the same if no better one
    was found. `digest` identifies the model's weights if its server tells it.
    """

    model: str
    digest: str
    split: Split
    result: SearchResult
    start: Row
    winner: Row

    @property
    def prompts(self) -> PromptSet:
        """The winning set; its name tells how it was made."""
        return self.result.winner.prompts

    @property
    def judged(self) -> tuple[Row, ...]:
        """The rows of `start` and `winner`; one row if they are the same."""
        return (self.start,) if self.start == self.winner else (self.start, self.winner)

    @property
    def verdicts(self) -> list[Verdict]:
        """The comparison of the winner with the set to beat, if they differ."""
        return verdicts(self.judged)


def ignore(progress: TuningProgress, asked: int) -> None:
    """Do nothing with the progress."""


def tune(
    model: str | Model,
    split: Split,
    bases: Sequence[PromptSet] = (),
    *,
    budget: int = BUDGET,
    seed: int = 0,
    file: str | Path | None = None,
    jobs: int = 1,
    watch: Watch = ignore,
) -> Tuned:
    """Search the prompt set that suits a model best, and judge it on the cases set aside.

    - `split`: the cases, as `split_cases` gives them.
    - `bases`: the sets to start from; the first one is to be beaten. Without any, these are all
      sets there are, first the one that the model gets by default.
    - `budget`: how often a candidate may be asked a case. The judgement comes on top of it.
    - `seed`: decides the order of cases and candidates.
    - `file`: stores the outcomes; those in it already are not asked again.
    - `jobs`: how many cases to ask at once.
    - `watch`: is called after each outcome with the progress and the number of outcomes so far.

    Raises CasesError for too few cases or an unusable file, UsageError for a budget that is too
    small, and a ModelError if the model's server fails.
    """
    opened, file = open_model(model), None if file is None else place("file", file)
    seed, jobs = whole("seed", seed, 0), whole("jobs", jobs, 1)
    called("watch", watch, "from a progress and a number to nothing")
    bases = tuple(many("bases", bases, "[azent.prompt.load(name), ...]")) or starting_sets(opened)
    _check(split, bases, whole("budget", budget, 1))
    digest = _digest(opened)
    to_search, aside = (_stamped(each, opened, digest) for each in (split.search, split.aside))
    with asked_once(opened, digest, file) as once:
        asker = _Asker(once, file, jobs, watch)
        result = _carried_out(search(_task(to_search, bases, budget, seed)), asker)
        start, winner = asker.judged(bases[0], result.winner.prompts, aside)
    return Tuned(opened.name, digest, split, result, start, winner)


def _check(split: Split, bases: Sequence[PromptSet], budget: int) -> None:
    if not isinstance(split, Split):
        raise UsageError(f"split is {split!r}", "Give what azent.lab.split_cases returns.")
    if strange := [each for each in bases if not isinstance(each, PromptSet)]:
        raise UsageError(f"{strange[0]!r} is no prompt set", "Give azent.prompt.load(name).")
    _check_split(split)
    if len({each.name for each in bases}) < len(bases):
        raise UsageError("two of the prompt sets have one name", "Rename the folder of one.")
    least = 2 * first_stage(split.search)
    if budget < least:
        hint = f"Two candidates on the first {least // 2} cases take {least}."
        raise UsageError(f"a budget of {budget} is too small", hint)


def _task(cases: Sequence[Case], bases: Sequence[PromptSet], budget: int, seed: int) -> SearchTask:
    def shuffled(candidate: Candidate) -> list[Candidate]:
        near = list(neighbours(candidate, bases))
        Random(seed).shuffle(near)
        return near

    return SearchTask(first_field(bases), shuffled, in_order(cases, seed), budget)


def _digest(model: Model) -> str:
    """The digest of the weights of a model of Ollama's; "" for others, and if it is not asked."""
    asked = _asked_of(model)
    if getattr(model, "strict", False) or not isinstance(asked, Ollama):
        return ""
    try:
        return asked.digest()
    except ModelRefused:
        return ""  # a proxy before the server lets only chats through


def _asked_of(model: Model) -> Model:
    """The model itself, if this one stores its replies in a file."""
    return model.model if isinstance(model, Cached) else model


def _stamped(cases: Sequence[Case], model: Model, digest: str) -> tuple[Case, ...]:
    """Add to the stamps of the cases what else an outcome depends on."""
    facts = (digest, model.num_ctx, getattr(_asked_of(model), "options", {}))
    return tuple(replace(case, stamp=stamp(case.stamp, facts)) for case in cases)


def _carried_out(requests: Search, asker: _Asker) -> SearchResult:
    try:
        request = next(requests)
        while True:
            request = requests.send(asker.scores(request))
    except StopIteration as end:
        result: SearchResult = end.value
        return result


class _Asker:
    """Asks a model what is not stored yet, and stores the outcomes."""

    def __init__(self, model: Model, file: Path | None, jobs: int, watch: Watch) -> None:
        self._model = model
        self._file = file
        self._jobs = jobs
        self._watch = watch
        self._kept = {each.key: each for each in (read_outcomes(file) if file else ())}
        self._asked = 0

    def scores(self, request: Evaluate) -> list[Score]:
        """The scores that a search requests, in the order of its candidates."""
        pairs = [(Arm(self._model, each.prompts), request.case) for each in request.candidates]
        before = request.progress
        outcomes = self._outcomes(pairs, lambda n: replace(before, spent=before.spent + n))
        return [Score(each.ok, each.usage.prompt_tokens) for each in outcomes]

    def judged(self, start: PromptSet, winner: PromptSet, aside: Sequence[Case]) -> list[Row]:
        """The rows of two sets on the cases set aside."""
        sets = [start] if start == winner else [start, winner]
        arms = [Arm(self._model, each) for each in sets]
        pairs = [(arm, case) for case in aside for arm in arms]
        found = rows(self._outcomes(pairs, lambda n: JudgingProgress(n, len(pairs))))
        return [found[0], found[-1]]

    def _outcomes(
        self, pairs: Sequence[tuple[Arm, Case]], progress: Callable[[int], TuningProgress]
    ) -> list[Outcome]:
        """The outcomes of the pairs in their order; those that are not stored are asked for."""
        todo = [pair for pair in pairs if known(pair, self._kept) is None]
        self._watch(progress(len(pairs) - len(todo)), self._asked)
        fresh = evaluate(todo, self._file, jobs=self._jobs) if todo else ()
        for number, outcome in enumerate(fresh, start=1):
            self._kept[outcome.key] = outcome
            self._asked += 1
            self._watch(progress(len(pairs) - len(todo) + number), self._asked)
        return [self._kept[key_of(*pair)] for pair in pairs]


# ---- asking once ---------------------------------------------------------------------------------


@contextmanager
def asked_once(model: Model, digest: str, file: Path | None) -> Iterator[Model]:
    """Make a model that is asked the same request only once, for candidates differ in little.

    Its replies are stored beside `file`, or in a temporary file without one. A model that stores
    its replies already is used as it is.
    """
    facts = {"num_ctx": model.num_ctx, "digest": digest}
    if isinstance(model, Cached):
        yield model
    elif file:
        yield Cached(model, file.parent / f"{file.stem}{REPLIES}", facts=facts)
    else:
        with TemporaryDirectory(prefix="azent-tune-") as folder:
            yield Cached(model, Path(folder, REPLIES), facts=facts)
