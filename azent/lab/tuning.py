"""Tune a prompt set: search the best one for a model, judge it on other cases, and write it.

Outcomes are stored at once in a file like that of `azent eval`, and the model's replies beside it,
so that an interrupted search can go on. An outcome is reused only for the same text of the case,
the same weights of the model and the same context window.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from azent import __version__, prompt
from azent.errors import ModelRefused, PromptError, UsageError, counted, reason_of
from azent.lab.cases import Case, stamp
from azent.lab.evaluation import Arm, Outcome, Pair, evaluate, known, read_outcomes
from azent.lab.report import Row, Verdict, as_json, rows, verdicts
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
from azent.lab.sources import Split, check_split
from azent.lab.space import Candidate, first_field, neighbours
from azent.models import Model, open_model, parameters_of
from azent.models.encoder import Encoder
from azent.models.encoders import AUTO
from azent.models.ollama import Ollama
from azent.models.recorded import Cached
from azent.prompt import PromptSet
from azent.prompt.files import SETTINGS_FILE
from azent.prompt.sets import BLANKS
from azent.values.arguments import called, many, place, whole

BUDGET = 600
REPLIES = ".replies.db"
EVIDENCE = "evidence.json"
WILDCARDS = re.compile(r"[*?\[]")


def starting_sets(model: Model, without: str = "") -> tuple[PromptSet, ...]:
    """Return the set that the model gets by default, then all others in its language.

    A set that cannot be read is left out, and so is the set named `without`, because it is to be
    written. Raises PromptError if the first set is broken.
    """
    start = prompt.suited(model.name, parameters_of(model), without)
    names = [name for name in prompt.folders() if name not in (without, start.name)]
    return (start, *(each for each in _readable(names) if each.language == start.language))


def _readable(names: Sequence[str]) -> Iterator[PromptSet]:
    for name in names:
        try:
            yield prompt.load(name)
        except PromptError:
            continue  # the user did not name it; `azent prompts list` shows its error


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
        """Return the winning set; its name tells how it was made."""
        return self.result.winner.prompts

    @property
    def judged(self) -> tuple[Row, ...]:
        """Return the rows of `start` and `winner`; one row if they are the same."""
        return (self.start,) if self.start == self.winner else (self.start, self.winner)

    @property
    def verdicts(self) -> list[Verdict]:
        """Compare the winner with the set to beat, if they differ."""
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
    encoder: str | Encoder | None = AUTO,
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
    - `encoder`: compares functions with questions, as for an `Agent`.

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
        asker = _Asker(once, encoder, file, jobs, watch)
        result = _carried_out(search(_task(to_search, bases, budget, seed)), asker)
        start, winner = asker.judged(bases[0], result.winner.prompts, aside)
    return Tuned(opened.name, digest, split, result, start, winner)


def _check(split: Split, bases: Sequence[PromptSet], budget: int) -> None:
    if not isinstance(split, Split):
        raise UsageError(f"split is {split!r}", "Give what azent.lab.split_cases returns.")
    if strange := [each for each in bases if not isinstance(each, PromptSet)]:
        raise UsageError(f"{strange[0]!r} is no prompt set", "Give azent.prompt.load(name).")
    check_split(split)
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
    """Ask for the digest of the weights; "" if the server is not Ollama or does not tell it."""
    inner = _uncached(model)
    if getattr(model, "strict", False) or not isinstance(inner, Ollama):
        return ""
    try:
        return inner.digest()
    except ModelRefused:
        return ""  # a proxy before the server lets only chats through


def _uncached(model: Model) -> Model:
    """Return the model whose replies are stored, if this one stores replies in a file."""
    return model.model if isinstance(model, Cached) else model


def _stamped(cases: Sequence[Case], model: Model, digest: str) -> tuple[Case, ...]:
    """Add the model's weights, context window and options to the stamps of the cases."""
    facts = (digest, model.num_ctx, getattr(_uncached(model), "options", {}))
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

    def __init__(
        self,
        model: Model,
        encoder: str | Encoder | None,
        file: Path | None,
        jobs: int,
        watch: Watch,
    ) -> None:
        self._model = model
        self._encoder = encoder
        self._file = file
        self._jobs = jobs
        self._watch = watch
        self._kept = {each.key: each for each in (read_outcomes(file) if file else ())}
        self._asked = 0

    def scores(self, request: Evaluate) -> list[Score]:
        """Return the scores that a search requests, in the order of its candidates."""
        pairs = [(self._arm(each.prompts), request.case) for each in request.candidates]
        before = request.progress
        outcomes = self._outcomes(pairs, lambda n: replace(before, spent=before.spent + n))
        return [Score(each.ok, each.usage.prompt_tokens) for each in outcomes]

    def judged(self, start: PromptSet, winner: PromptSet, aside: Sequence[Case]) -> list[Row]:
        """Return the rows of two sets on the cases set aside."""
        arms = [self._arm(each) for each in ([start] if start == winner else [start, winner])]
        pairs = [(arm, case) for case in aside for arm in arms]
        found = rows(self._outcomes(pairs, lambda n: JudgingProgress(n, len(pairs))))
        return [found[0], found[-1]]

    def _arm(self, prompts: PromptSet) -> Arm:
        return Arm(self._model, prompts, self._encoder)

    def _outcomes(
        self, pairs: Sequence[Pair], progress: Callable[[int], TuningProgress]
    ) -> list[Outcome]:
        """Return the outcomes of the pairs in their order; those not stored are asked for."""
        todo = [pair for pair in pairs if known(pair, self._kept) is None]
        done = len(pairs) - len(todo)
        self._watch(progress(done), self._asked)
        fresh = evaluate(todo, self._file, jobs=self._jobs) if todo else ()
        for number, outcome in enumerate(fresh, start=done + 1):
            self._kept[outcome.key] = outcome
            self._asked += 1
            self._watch(progress(number), self._asked)
        return [self._kept[arm.key, case.id] for arm, case in pairs]


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


# ---- the tuned set in a folder -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class About:
    """The name of a tuned set, the date, and the command that was typed."""

    name: str
    date: str
    command: str = ""


def check_free(folder: str | Path, *, force: bool = False) -> None:
    """Raise UsageError if something is in the place of a new set, unless it may be replaced."""
    if place("folder", folder).exists() and not force:
        hint = "Take another --name, or replace it with --force."
        raise UsageError(f"{folder} is there already", hint)


def write(tuned: Tuned, folder: str | Path, about: About, *, force: bool = False) -> PromptSet:
    """Write the winner and the evidence into a folder, and read it back as a prompt set.

    The settings file is written last: a folder without it is no prompt set, so a set that was
    written only in part is never used. Raises UsageError if something is there already, PromptError
    if it cannot be written.
    """
    folder = place("folder", folder)
    check_free(folder, force=force)
    files = prompt.files_of(_named(tuned, about), "\n".join(_remarks(tuned, about)))
    files[EVIDENCE] = json.dumps(evidence(tuned, about), ensure_ascii=False, indent=2) + "\n"
    files[SETTINGS_FILE] = files.pop(SETTINGS_FILE)  # now the last one
    try:
        _replace_files(folder, files)
    except OSError as error:
        message = f"{folder} cannot be written: {reason_of(error)}"
        raise PromptError(message, "Take another --name.") from error
    return prompt.read(folder)


def _replace_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a set, and remove those that belong to a set that was there before."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (SETTINGS_FILE, *(f"{name}.txt" for name in BLANKS)):
        (folder / old).unlink(missing_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8", newline="\n")


def _named(tuned: Tuned, about: About) -> PromptSet:
    """Return the winner under its new name, for the model that it was tuned for."""
    return replace(
        tuned.prompts,
        name=about.name,
        description=f"tuned for {tuned.model}: {_figures(tuned.winner)}",
        models=patterns(tuned.model),
        sizes=(),
        folder=None,
    )


def patterns(model: str) -> tuple[str, ...]:
    """Return the patterns that match one model's name; without a tag it means the tag "latest"."""
    bare = model.removesuffix(":latest")
    names = (model,) if ":" in bare else (bare, f"{bare}:latest")
    return tuple(WILDCARDS.sub(r"[\g<0>]", name) for name in names)


def _remarks(tuned: Tuned, about: About) -> Iterator[str]:
    """Sum up the evidence in a few lines, which become comments at the top of the settings."""
    result = tuned.result
    yield f"Tuned by azent {__version__} on {about.date}. All figures are in evidence.json."
    yield f"The best of {counted(len(result.tried), 'set')} tried: {result.winner.name}"
    yield f"On {counted(tuned.winner.all.count, 'case')} set aside: {_figures(tuned.winner)}"
    for verdict in tuned.verdicts:
        yield f"The set {tuned.start.prompts} on the same: {_figures(tuned.start)}"
        yield str(verdict)
    if about.command:
        yield about.command


def _figures(row: Row) -> str:
    low, high = row.interval
    tokens = row.costs["prompt_tokens"]
    return f"mean {row.mean:.2f} ({low:.2f}-{high:.2f}), {tokens:.0f} prompt tokens"


def evidence(tuned: Tuned, about: About) -> dict[str, Any]:
    """Return all of the evidence as JSON values."""
    result = tuned.result
    tried = [
        {"prompts": x.candidate.name, "cases": x.cases, "mean": x.mean, "prompt_tokens": x.tokens}
        for x in result.tried
    ]
    return {
        "name": about.name,
        "date": about.date,
        "azent": __version__,
        "command": about.command,
        "model": {"name": tuned.model, "digest": tuned.digest},
        "start": tuned.start.prompts,
        "winner": result.winner.name,
        "set_aside": {"cases": len(tuned.split.aside), **as_json(tuned.judged, tuned.verdicts)},
        "search": {"cases": len(tuned.split.search), "asked": result.spent, "tried": tried},
    }
