"""The two pieces of statistics that tell a difference from chance. Pure.

A share of right answers is known within an interval (Wilson's, which holds for few cases and near
0 and 1), and so is a mean of shares (by how much each may be off, added as squares: the MOVER of
Zou and Donner). Two ways to ask are compared on the same cases: only those that one gets right and
the other wrong say anything, and if neither were better, each such case would be a coin thrown
(McNemar's test, exact).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

Z = 1.959964  # 95 % of a normal distribution lie within so many deviations
SURE = 0.05


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many, and the 95 % interval of the share that it is a sample of."""

    right: int
    count: int

    @property
    def value(self) -> float:
        return self.right / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval; all from 0 to 1 where there are no cases."""
        if not self.count:
            return 0.0, 1.0
        weight = Z * Z / self.count
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.count + weight / (4 * self.count)
        half = Z / (1 + weight) * math.sqrt(spread)
        return max(0.0, middle - half), min(1.0, middle + half)


def interval_of_mean(shares: Collection[Share]) -> tuple[float, float]:
    """The 95 % interval of the mean of shares of different cases; from 0 to 1 without any."""
    if not shares:
        return 0.0, 1.0
    mean = sum(share.value for share in shares) / len(shares)
    below = math.hypot(*(share.value - share.interval[0] for share in shares)) / len(shares)
    above = math.hypot(*(share.interval[1] - share.value for share in shares)) / len(shares)
    return max(0.0, mean - below), min(1.0, mean + above)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two ways to ask on the same cases: how many only the first, only the second got right."""

    cases: int
    only_first: int
    only_second: int

    @property
    def difference(self) -> float:
        """By how much the share of the second is higher than that of the first."""
        return (self.only_second - self.only_first) / self.cases if self.cases else 0.0

    @property
    def chance(self) -> float:
        """How probable so uneven a split is where neither is better (two-sided, exact)."""
        fewer, thrown = min(self.only_first, self.only_second), self.only_first + self.only_second
        ways = sum(math.comb(thrown, heads) for heads in range(fewer + 1))
        return float(min(1.0, 2 * ways / 2**thrown))

    @property
    def real(self) -> bool:
        return self.chance < SURE


def compare(first: Mapping[str, bool], second: Mapping[str, bool]) -> Comparison:
    """Compare what was right, by case; cases that only one of them has are left out."""
    both = first.keys() & second.keys()
    return Comparison(
        len(both),
        sum(first[case] and not second[case] for case in both),
        sum(second[case] and not first[case] for case in both),
    )
