"""The marks of a search, and what they say: who leads, and who cannot go on any more. Pure.

Means are fractions: two that are equal must not differ by how they were rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from azent.evaluate import Case
from azent.tune.space import Candidate


@dataclass(frozen=True, slots=True)
class Mark:
    """What came of a candidate on a case: right or not, and the prompt tokens that it took."""

    right: bool
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Score:
    """How a candidate did on so many cases: its mean over categories, and its tokens for a case."""

    candidate: Candidate
    cases: int
    mean: float
    tokens: float


class Board:
    """The marks of all candidates."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self._marks: dict[Candidate, dict[str, Mark]] = {}

    @property
    def spent(self) -> int:
        """How many marks there are."""
        return sum(map(len, self._marks.values()))

    def has(self, candidate: Candidate, case: Case) -> bool:
        """Is there a mark of the candidate on the case?"""
        return case.id in self._of(candidate)

    def asked(self, candidate: Candidate) -> int:
        """How many cases the candidate was asked."""
        return len(self._of(candidate))

    def missing(self, candidates: Iterable[Candidate], cases: Sequence[Case]) -> int:
        """How many marks are missing."""
        return sum(not self.has(each, case) for each in candidates for case in cases)

    def take(self, candidates: Iterable[Candidate], case: Case, marks: Iterable[Mark]) -> None:
        """Keep the marks of candidates on a case."""
        for candidate, mark in zip(candidates, marks, strict=True):
            self._marks.setdefault(candidate, {})[case.id] = mark

    def still_in(
        self,
        candidates: tuple[Candidate, ...],
        cases: Sequence[Case],
        places: int,
        safe: Candidate | None,
    ) -> tuple[Candidate, ...]:
        """Those who can still come to one of the places; who is safe has one of them."""
        rivals = [each for each in candidates if each != safe]
        free = places - (len(rivals) < len(candidates))
        if len(rivals) <= free:
            return candidates
        sure = sorted((self._least(each, cases) for each in rivals), reverse=True)[free - 1]
        out = {each for each in rivals if self._most(each, cases) < sure}
        return tuple(each for each in candidates if each not in out)

    def rank(self, candidate: Candidate, cases: Sequence[Case]) -> tuple[Fraction, Fraction]:
        """What to sort candidates by, the best first, as long as they were asked the same."""
        known = [case for case in cases if self.has(candidate, case)]
        return -self._least(candidate, known), self._tokens(candidate, known)

    def leader(self, candidates: Iterable[Candidate]) -> Score | None:
        """The best by what is known now."""
        known = [each for each in candidates if each in self._marks]
        best = min(known, key=lambda each: self.rank(each, self._cases), default=None)
        return self._score(best) if best else None

    def scores(self, winner: Candidate) -> tuple[Score, ...]:
        """All candidates that were asked: the winner, then by how much they were asked, and how
        they did."""

        def rank(score: Score) -> tuple[bool, int, float, float]:
            return score.candidate != winner, -score.cases, -score.mean, score.tokens

        return tuple(sorted(map(self._score, self._marks), key=rank))

    def _score(self, candidate: Candidate) -> Score:
        known = [case for case in self._cases if self.has(candidate, case)]
        mean, tokens = self._least(candidate, known), self._tokens(candidate, known)
        return Score(candidate, len(known), float(mean), float(tokens))

    def _least(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        """The mean over categories if all that was not asked yet were wrong."""
        return _mean(cases, {id for id, mark in self._of(candidate).items() if mark.right})

    def _most(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        """The mean over categories if all that was not asked yet were right."""
        wrong = {id for id, mark in self._of(candidate).items() if not mark.right}
        return 1 - _mean(cases, wrong)

    def _tokens(self, candidate: Candidate, cases: Sequence[Case]) -> Fraction:
        tokens = [self._of(candidate)[case.id].tokens for case in cases]
        return Fraction(sum(tokens), max(1, len(tokens)))

    def _of(self, candidate: Candidate) -> dict[str, Mark]:
        return self._marks.get(candidate, {})


def _mean(cases: Sequence[Case], among: set[str]) -> Fraction:
    """The mean over categories of the share of cases that are among these."""
    counts = Counter(case.category for case in cases)
    found = Counter(case.category for case in cases if case.id in among)
    shares = [Fraction(found[name], counts[name]) for name in counts]
    return sum(shares, Fraction()) / max(1, len(shares))
