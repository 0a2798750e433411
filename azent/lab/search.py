"""Search the best candidate by successive halving, as a generator that requests scores.

In a round, all candidates are scored on a few cases. The better half is scored on twice as many,
until one is left: the champion. In later rounds, candidates that differ from it in one setting
challenge it, and have to be better on all cases that the champion was scored on. Better means a
higher mean over categories, then fewer prompt tokens, then earlier in the list.

The search depends on the scores alone, so an interrupted search is resumed by sending the stored
scores to a new one.
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


Scores: TypeAlias = Sequence[Score]
Search: TypeAlias = Generator[Evaluate, Scores, SearchResult]


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
    champion = yield from _Round(task, board, schedule, 1).winner(field)
    for number in count(2):
        schedule = replace(schedule, champion_cases=board.case_count(champion))
        unlike = [each for each in task.neighbours(champion) if each not in tried]
        fresh = tuple(unlike[: schedule.challengers(task.budget - board.spent)])
        if not fresh:
            break
        tried.update(fresh)
        round = _Round(task, board, schedule, number, champion)
        champion = yield from round.winner((champion, *fresh))
    return SearchResult(champion, board.standings(champion), board.spent)


# ---- rounds and stages ---------------------------------------------------------------------------


def first_stage(cases: Sequence[Case]) -> int:
    """Return how many cases the first stage has: the same number of each kind."""
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
        """Return how many go on from a stage of this size: half, or one from the last stage."""
        return 1 if left == 2 or size >= self.all else (left + 1) // 2

    def cases(self, left: int, size: int) -> int:
        """Return how many cases a stage has in which so many candidates are left."""
        if self.places(left, size) > 1:
            return size
        return min(self.all, max(size, self.champion_cases, LAST_FACTOR * self.first))

    def cost(self, challengers: int) -> int:
        """Return the most scores that a round takes with a champion and so many challengers."""
        left, size, before, cost = challengers + 1, self.first, 0, 0
        while left > 1:
            cases = self.cases(left, size)
            cost += (left - 1) * (cases - before)
            left, size, before = self.places(left, size), 2 * size, cases
        return cost + max(0, before - self.champion_cases)

    def challengers(self, budget: int) -> int:
        """Return how many challengers a budget allows."""
        counts = range(FIELD - 1, 0, -1)
        return next((number for number in counts if self.cost(number) <= budget), 0)


@dataclass(frozen=True, slots=True)
class _Round:
    """A round: it halves a field of candidates until one is left, or the budget is spent."""

    task: SearchTask
    board: Leaderboard
    schedule: Schedule
    number: int
    champion: Candidate | None = None

    def winner(self, field: tuple[Candidate, ...]) -> Generator[Evaluate, Scores, Candidate]:
        """Request scores until the best candidate is known."""
        left, size = field, self.schedule.first
        while len(left) > 1:
            planned = self.task.cases[: self.schedule.cases(len(left), size)]
            cases = self._affordable(left, planned)
            if not self.board.missing(left, cases):
                break
            left = yield from self._stage(left, cases, self.schedule.places(len(left), size))
            size *= 2
        return min(left, key=lambda each: self.board.rank(each, self.task.cases))

    def _affordable(self, left: tuple[Candidate, ...], cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return as many of the first cases as the budget allows for all that are left."""
        while self.board.spent + self.board.missing(left, cases) > self.task.budget:
            cases = cases[:-1]
        return cases

    def _stage(
        self, left: tuple[Candidate, ...], cases: tuple[Case, ...], places: int
    ) -> Generator[Evaluate, Scores, tuple[Candidate, ...]]:
        """Score the candidates on the cases; return those that go on, in their order.

        The champion goes on in any case, except from the last stage.
        """
        board, safe = self.board, self.champion if places > 1 else None
        for done, case in enumerate(cases):
            unscored = tuple(each for each in left if not board.has(each, case))
            if unscored:
                best = board.leader([self.champion] if self.champion else left)
                progress = (self.number, len(left), len(cases), done, board.spent, best)
                scores = yield Evaluate(unscored, case, SearchProgress(*progress))
                board.add(unscored, case, scores)
            left = board.still_in(left, cases, places, safe)
            if len(left) <= places:
                return left
        ranked = sorted(left, key=lambda each: (each != safe, board.rank(each, cases)))
        return tuple(each for each in left if each in ranked[:places])


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
        """Return how many scores there are."""
        return sum(map(len, self._scores.values()))

    def has(self, candidate: Candidate, case: Case) -> bool:
        """Tell whether the candidate has a score on the case."""
        return case.id in self._of(candidate)

    def case_count(self, candidate: Candidate) -> int:
        """Return how many cases the candidate has a score on."""
        return len(self._of(candidate))

    def missing(self, candidates: Iterable[Candidate], cases: Sequence[Case]) -> int:
        """Count the scores of these candidates on these cases that are missing."""
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
        """Return those who can still get one of the places; the safe one has a place already."""
        rivals = [each for each in candidates if each != safe]
        free = places - (len(rivals) < len(candidates))
        if len(rivals) <= free:
            return candidates
        needed = sorted((self._least(each, cases) for each in rivals), reverse=True)[free - 1]
        out = {each for each in rivals if self._most(each, cases) < needed}
        return tuple(each for each in candidates if each not in out)

    def rank(self, candidate: Candidate, cases: Sequence[Case]) -> tuple[Fraction, Fraction]:
        """Return a key that sorts the best first, if all candidates have scores on these cases."""
        known = [case for case in cases if self.has(candidate, case)]
        return -self._least(candidate, known), self._tokens(candidate, known)

    def leader(self, candidates: Iterable[Candidate]) -> Standing | None:
        """Return the standing of the best of these candidates so far."""
        known = [each for each in candidates if each in self._scores]
        best = min(known, key=lambda each: self.rank(each, self._cases), default=None)
        return self._standing(best) if best else None

    def standings(self, winner: Candidate) -> tuple[Standing, ...]:
        """Return all standings: the winner, then by number of cases, then by mean and tokens."""

        def order(each: Standing) -> tuple[bool, int, float, float]:
            return each.candidate != winner, -each.cases, -each.mean, each.tokens

        return tuple(sorted(map(self._standing, self._scores), key=order))

    def _standing(self, candidate: Candidate) -> Standing:
        known = [case for case in self._cases if self.has(candidate, case)]
        mean, tokens = self._least(candidate, known), self._tokens(candidate, known)
        return Standing(candidate, len(known), float(mean), float(tokens))

    def _least(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        """Return the mean over categories if all missing scores were wrong."""
        return _mean(cases, {id for id, score in self._of(candidate).items() if score.right})

    def _most(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        """Return the mean over categories if all missing scores were right."""
        wrong = {id for id, score in self._of(candidate).items() if not score.right}
        return 1 - _mean(cases, wrong)

    def _tokens(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        tokens = [self._of(candidate)[case.id].tokens for case in cases]
        return Fraction(sum(tokens), max(1, len(tokens)))

    def _of(self, candidate: Candidate) -> dict[str, Score]:
        return self._scores.get(candidate, {})


def _mean(cases: Sequence[Case], among: set[str]) -> Fraction:
    """Return the mean over categories of the share of cases whose ids are among these."""
    counts = Counter(case.category for case in cases)
    found = Counter(case.category for case in cases if case.id in among)
    shares = [Fraction(found[name], counts[name]) for name in counts]
    return sum(shares, Fraction()) / max(1, len(shares))
