"""The search for the best candidate by successive halving. Pure: it asks through a generator.

In a round, all candidates are scored on a few cases, some of each kind. The better half goes on to
a stage with twice as many cases, until one candidate is left. The winner of the first round is the
champion. In each later round it is challenged by candidates that differ from it in one setting. It
goes on to the last stage of each round, and there a challenger has to be better on all cases that
the champion has been scored on. Better is the higher mean over categories, then fewer prompt
tokens, then who was there first. The last stage has at least four times the cases of the first one,
because a few cases cannot tell two candidates apart.

A candidate that could not go on even if all its other scores were right is not scored any further.

The search depends on the scores alone, so that an interrupted search is resumed by answering a new
one from the scores that were stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, zip_longest
from random import Random
from typing import TypeAlias

from azent.lab.cases import Case
from azent.lab.space import FIELD, Candidate

FIRST_CASES = 4  # in the first stage, at least
LAST_FACTOR = 4  # the last stage has at least so many times the cases of the first one


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What to search: the first candidates, how to vary them, the cases in order, and a budget.

    The budget is the number of scores: a score is one candidate on one case.
    """

    field: tuple[Candidate, ...]
    neighbours: Callable[[Candidate], Sequence[Candidate]]
    cases: tuple[Case, ...]
    budget: int


@dataclass(frozen=True, slots=True)
class Score:
    """Whether a candidate was right on a case, and how many prompt tokens that took."""

    right: bool
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How a candidate did: its mean over categories, and the mean of its tokens for a case."""

    candidate: Candidate
    cases: int
    mean: float
    tokens: float


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far a search is.

    `left` candidates are in a stage of `cases` cases, of which `done` are done. `spent` scores of
    the budget are used. `best` is the best candidate so far.
    """

    round: int
    left: int
    cases: int
    done: int
    spent: int
    best: Standing | None


@dataclass(frozen=True, slots=True)
class Evaluate:
    """A request of the search: score these candidates on this case, and send their scores."""

    candidates: tuple[Candidate, ...]
    case: Case
    progress: SearchProgress


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The winner, and the standings of all candidates, first those that got the farthest."""

    winner: Candidate
    tried: tuple[Standing, ...]
    spent: int


Search: TypeAlias = Generator[Evaluate, Sequence[Score], SearchResult]
Halving: TypeAlias = Generator[Evaluate, Sequence[Score], tuple[Candidate, ...]]


def in_order(cases: Sequence[Case], seed: int = 0) -> tuple[Case, ...]:
    """Shuffle the cases and let their kinds take turns, so that the first few hold all kinds."""
    kinds: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        kinds.setdefault(case.kind, []).append(case)
    random = Random(seed)
    for alike in kinds.values():
        random.shuffle(alike)
    return tuple(case for turn in zip_longest(*kinds.values()) for case in turn if case)


def search(task: SearchTask) -> Search:
    """Search until the budget is spent or there is nothing left to try.

    The first round has only as many candidates as the budget allows to score in its first stage.
    """
    board, schedule = Leaderboard(task.cases), Schedule(first_stage(task.cases), len(task.cases))
    field = task.field[: max(1, task.budget // schedule.first)]
    tried = set(field)
    champion, *_ = yield from _round(task, board, schedule, field, 1)
    for number in count(2):
        schedule = replace(schedule, champion_cases=board.case_count(champion))
        unlike = [each for each in task.neighbours(champion) if each not in tried]
        fresh = tuple(unlike[: _affordable(schedule, task.budget - board.spent)])
        if not fresh:
            break
        tried.update(fresh)
        field = (champion, *fresh)
        champion, *_ = yield from _round(task, board, schedule, field, number, champion)
    return SearchResult(champion, board.standings(champion), board.spent)


# ---- rounds and stages ---------------------------------------------------------------------------


def first_stage(cases: Sequence[Case]) -> int:
    """How many cases the first stage has: the same number of each kind."""
    kinds = len({case.kind for case in cases})
    return min(len(cases), kinds * -(-FIRST_CASES // kinds))


@dataclass(frozen=True, slots=True)
class Schedule:
    """The sizes of the stages of a round; each stage is twice as large as the one before.

    `first` and `all` are the numbers of cases in the first stage and in all. `champion_cases` is
    the number that the champion was scored on: a challenger has to beat it on all of these.
    """

    first: int
    all: int
    champion_cases: int = 0

    def places(self, left: int, size: int) -> int:
        """How many go on from a stage of this size: half of them, or one from the last stage."""
        return 1 if left == 2 or size >= self.all else (left + 1) // 2

    def cases(self, left: int, size: int) -> int:
        """How many cases a stage has in which so many candidates are left."""
        if self.places(left, size) > 1:
            return size
        return min(self.all, max(size, self.champion_cases, LAST_FACTOR * self.first))

    def cost(self, challengers: int) -> int:
        """The scores that a round takes at most with a champion and so many challengers."""
        left, size, before, cost = challengers + 1, self.first, 0, 0
        while left > 1:
            cases = self.cases(left, size)
            cost += (left - 1) * (cases - before)
            left, size, before = self.places(left, size), 2 * size, cases
        return cost + max(0, before - self.champion_cases)


def _affordable(schedule: Schedule, budget: int) -> int:
    """How many challengers a budget allows."""
    counts = range(FIELD - 1, 0, -1)
    return next((number for number in counts if schedule.cost(number) <= budget), 0)


@dataclass(frozen=True, slots=True)
class _Stage:
    """A stage of a round: its cases, and the number of candidates that go on from it."""

    round: int
    cases: tuple[Case, ...]
    places: int
    champion: Candidate | None

    @property
    def safe(self) -> Candidate | None:
        """The candidate that goes on in any case: the champion, except in the last stage."""
        return self.champion if self.places > 1 else None


def _round(
    task: SearchTask,
    board: Leaderboard,
    schedule: Schedule,
    field: tuple[Candidate, ...],
    number: int,
    champion: Candidate | None = None,
) -> Halving:
    """Halve the field until one candidate is left, or the budget is spent. The best comes first."""
    left, size = field, schedule.first
    while len(left) > 1:
        planned = task.cases[: schedule.cases(len(left), size)]
        cases = _affordable_cases(board, left, planned, task.budget)
        if not board.missing(left, cases):
            break
        stage = _Stage(number, cases, schedule.places(len(left), size), champion)
        left = yield from _run_stage(board, left, stage)
        size *= 2
    return tuple(sorted(left, key=lambda each: board.rank(each, task.cases)))


def _affordable_cases(
    board: Leaderboard, left: tuple[Candidate, ...], cases: tuple[Case, ...], budget: int
) -> tuple[Case, ...]:
    """As many of the first cases as the budget allows for all candidates that are left."""
    while board.spent + board.missing(left, cases) > budget:
        cases = cases[:-1]
    return cases


def _run_stage(board: Leaderboard, field: tuple[Candidate, ...], stage: _Stage) -> Halving:
    """Score the candidates on the cases of a stage; return those that go on, in their order."""
    left = field
    for done, case in enumerate(stage.cases):
        unscored = tuple(each for each in left if not board.has(each, case))
        if unscored:
            scores = yield Evaluate(unscored, case, _progress(board, left, stage, done))
            board.add(unscored, case, scores)
        left = board.still_in(left, stage.cases, stage.places, stage.safe)
        if len(left) <= stage.places:
            return left
    ranked = sorted(left, key=lambda each: (each != stage.safe, board.rank(each, stage.cases)))
    return tuple(each for each in left if each in ranked[: stage.places])


def _progress(
    board: Leaderboard, left: tuple[Candidate, ...], stage: _Stage, done: int
) -> SearchProgress:
    best = board.leader([stage.champion] if stage.champion else left)
    return SearchProgress(stage.round, len(left), len(stage.cases), done, board.spent, best)


# ---- scores --------------------------------------------------------------------------------------


class Leaderboard:
    """The scores of all candidates.

    Means are fractions, because rounding could make two equal means differ.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self._scores: dict[Candidate, dict[str, Score]] = {}

    @property
    def spent(self) -> int:
        """How many scores there are."""
        return sum(map(len, self._scores.values()))

    def has(self, candidate: Candidate, case: Case) -> bool:
        """Tell whether the candidate has a score on the case."""
        return case.id in self._of(candidate)

    def case_count(self, candidate: Candidate) -> int:
        """How many cases the candidate has a score on."""
        return len(self._of(candidate))

    def missing(self, candidates: Iterable[Candidate], cases: Sequence[Case]) -> int:
        """How many scores of these candidates on these cases are missing."""
        return sum(not self.has(each, case) for each in candidates for case in cases)

    def add(self, candidates: Iterable[Candidate], case: Case, scores: Iterable[Score]) -> None:
        """Add the scores of candidates on a case."""
        for candidate, score in zip(candidates, scores, strict=True):
            self._scores.setdefault(candidate, {})[case.id] = score

    def still_in(
        self,
        candidates: tuple[Candidate, ...],
        cases: Sequence[Case],
        places: int,
        safe: Candidate | None,
    ) -> tuple[Candidate, ...]:
        """Those who can still get one of the places; the safe one has one of them already."""
        rivals = [each for each in candidates if each != safe]
        free = places - (len(rivals) < len(candidates))
        if len(rivals) <= free:
            return candidates
        needed = sorted((self._least(each, cases) for each in rivals), reverse=True)[free - 1]
        out = {each for each in rivals if self._most(each, cases) < needed}
        return tuple(each for each in candidates if each not in out)

    def rank(self, candidate: Candidate, cases: Sequence[Case]) -> tuple[Fraction, Fraction]:
        """The key to sort candidates by, the best first, if all were scored on the same cases."""
        known = [case for case in cases if self.has(candidate, case)]
        return -self._least(candidate, known), self._tokens(candidate, known)

    def leader(self, candidates: Iterable[Candidate]) -> Standing | None:
        """The standing of the best of these candidates so far."""
        known = [each for each in candidates if each in self._scores]
        best = min(known, key=lambda each: self.rank(each, self._cases), default=None)
        return self._standing(best) if best else None

    def standings(self, winner: Candidate) -> tuple[Standing, ...]:
        """All standings: the winner, then by the number of cases, then by mean and tokens."""

        def order(each: Standing) -> tuple[bool, int, float, float]:
            return each.candidate != winner, -each.cases, -each.mean, each.tokens

        return tuple(sorted(map(self._standing, self._scores), key=order))

    def _standing(self, candidate: Candidate) -> Standing:
        known = [case for case in self._cases if self.has(candidate, case)]
        mean, tokens = self._least(candidate, known), self._tokens(candidate, known)
        return Standing(candidate, len(known), float(mean), float(tokens))

    def _least(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        """The mean over categories if all missing scores were wrong."""
        return _mean(cases, {id for id, score in self._of(candidate).items() if score.right})

    def _most(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        """The mean over categories if all missing scores were right."""
        wrong = {id for id, score in self._of(candidate).items() if not score.right}
        return 1 - _mean(cases, wrong)

    def _tokens(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        tokens = [self._of(candidate)[case.id].tokens for case in cases]
        return Fraction(sum(tokens), max(1, len(tokens)))

    def _of(self, candidate: Candidate) -> dict[str, Score]:
        return self._scores.get(candidate, {})


def _mean(cases: Sequence[Case], among: set[str]) -> Fraction:
    """The mean over categories of the share of cases whose ids are among these."""
    counts = Counter(case.category for case in cases)
    found = Counter(case.category for case in cases if case.id in among)
    shares = [Fraction(found[name], counts[name]) for name in counts]
    return sum(shares, Fraction()) / max(1, len(shares))
