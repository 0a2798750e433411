"""How many cases the rungs of a round have, who goes on from them, and what a round costs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from azent.evaluate import Case, kind_of

FIRST_CASES = 4  # in the first rung, at least
LAST_TIMES = 4  # as many cases in the last rung as in the first one, at least


def first_rung(cases: Sequence[Case]) -> int:
    """How many cases the first rung has: the same number of each kind."""
    kinds = len(set(map(kind_of, cases)))
    return min(len(cases), kinds * -(-FIRST_CASES // kinds))


@dataclass(frozen=True, slots=True)
class Rungs:
    """The rungs of a round, on so many cases in `all`; each is twice as large as the one before.

    `asked` is how many cases the champion was asked: it is not to be beaten on fewer.
    """

    first: int
    all: int
    asked: int = 0

    def places(self, left: int, size: int) -> int:
        """How many go on from a rung of this size: one from the last, from the others the half."""
        return 1 if left == 2 or size >= self.all else (left + 1) // 2

    def cases(self, left: int, size: int) -> int:
        """How many cases it has, where so many are left."""
        if self.places(left, size) > 1:
            return size
        return min(self.all, max(size, self.asked, LAST_TIMES * self.first))

    def cost(self, challengers: int) -> int:
        """The marks that a champion's round takes, if none of so many challengers loses early."""
        left, size, before, cost = challengers + 1, self.first, 0, 0
        while left > 1:
            cases = self.cases(left, size)
            cost += (left - 1) * (cases - before)
            left, size, before = self.places(left, size), 2 * size, cases
        return cost + max(0, before - self.asked)
