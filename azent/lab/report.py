"""Add up outcomes to a row of figures for each arm, and test differences for significance.

A share of right answers has Wilson's interval, which also holds for few cases and near 0 and 1; a
mean of shares has the interval of Zou and Donner's MOVER. Two arms are compared on the same cases
with McNemar's exact test, which counts only the cases that one arm got right and the other wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from azent.errors import counted
from azent.lab.evaluation import ArmKey, Outcome
from azent.messages import Usage

GROUPS = {"one": "one call due", "several": "several due", "none": "none due", "answer": "answers"}
COSTS = {"prompt_tokens": ".0f", "reply_tokens": ".0f", "requests": ".2f", "seconds": ".1f"}
Z = 1.959964  # 95 % of a normal distribution lie within so many standard deviations
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Share:
    """How many cases of how many are right, and the 95 % interval of that share."""

    right: int
    count: int

    @property
    def value(self) -> float:
        return self.right / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's score interval; from 0 to 1 if there are no cases."""
        if not self.count:
            return 0.0, 1.0
        weight = Z * Z / self.count
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.count + weight / (4 * self.count)
        half = Z / (1 + weight) * math.sqrt(spread)
        return max(0.0, middle - half), min(1.0, middle + half)


def mean_of(shares: Collection[Share]) -> float:
    """Return the mean of shares; not a number if there are none."""
    return sum(share.value for share in shares) / len(shares) if shares else math.nan


def interval_of_mean(shares: Collection[Share]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of independent shares; from 0 to 1 if there are none."""
    if not shares:
        return 0.0, 1.0
    mean = mean_of(shares)
    below = math.hypot(*(share.value - share.interval[0] for share in shares)) / len(shares)
    above = math.hypot(*(share.interval[1] - share.value for share in shares)) / len(shares)
    return max(0.0, mean - below), min(1.0, mean + above)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms on the same cases: how many only the first, and only the second, got right."""

    cases: int
    only_first: int
    only_second: int

    @property
    def difference(self) -> float:
        """Return how much higher the share of the second is."""
        return (self.only_second - self.only_first) / self.cases if self.cases else 0.0

    @property
    def chance(self) -> float:
        """Return the p-value: how probable such a split is if neither is better (two-sided)."""
        fewer, thrown = min(self.only_first, self.only_second), self.only_first + self.only_second
        ways = sum(math.comb(thrown, heads) for heads in range(fewer + 1))
        return float(min(1.0, 2 * ways / 2**thrown))

    @property
    def real(self) -> bool:
        return self.chance < SIGNIFICANT


def compare(first: Mapping[str, bool], second: Mapping[str, bool]) -> Comparison:
    """Compare what is right by case; cases that only one of them has are left out."""
    both = first.keys() & second.keys()
    return Comparison(
        len(both),
        sum(first[case] and not second[case] for case in both),
        sum(second[case] and not first[case] for case in both),
    )


# ---- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one arm. The costs are means for one case, by the names in COSTS.

    `way` is the name of the prompt set, with the encoder's name where two rows would look the same.
    """

    arm: ArmKey
    way: str
    all: Share
    groups: Mapping[str, Share]
    categories: Mapping[str, Share]
    suites: Mapping[str, Mapping[str, Share]]  # the categories of each suite
    costs: Mapping[str, float]
    right: Mapping[str, bool]

    @property
    def model(self) -> str:
        return self.arm[0]

    @property
    def prompts(self) -> str:
        return self.arm[1]

    @property
    def name(self) -> str:
        return f"{self.model}, {self.way}"

    @property
    def mean(self) -> float:
        """Return the mean over categories: each counts the same, however many cases it has."""
        return mean_of(self.categories.values())

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the mean."""
        return interval_of_mean(self.categories.values())


def rows(outcomes: Iterable[Outcome]) -> list[Row]:
    """Make a row for each arm, in the order in which the arms first come."""
    by_arm: dict[ArmKey, list[Outcome]] = {}
    for outcome in outcomes:
        by_arm.setdefault(outcome.arm, []).append(outcome)
    made = [_row(arm, mine) for arm, mine in by_arm.items()]
    names = Counter(row.name for row in made)
    return [_with_encoder(row) if names[row.name] > 1 else row for row in made]


def _with_encoder(row: Row) -> Row:
    encoder = row.arm[-1]
    return replace(row, way=f"{row.way} ({encoder})") if encoder else row


def _row(arm: ArmKey, mine: Sequence[Outcome]) -> Row:
    usage = sum((outcome.usage for outcome in mine), Usage())
    groups = _shares(mine, lambda outcome: outcome.group)
    suites = dict.fromkeys(outcome.suite for outcome in mine if outcome.suite)
    return Row(
        arm=arm,
        way=arm[1],
        all=_share(mine),
        groups={name: groups[name] for name in GROUPS if name in groups},
        categories=_categories(mine),
        suites={name: _categories([o for o in mine if o.suite == name]) for name in suites},
        costs={name: getattr(usage, name) / len(mine) for name in COSTS},
        right={outcome.case: outcome.ok for outcome in mine},
    )


def _categories(mine: Sequence[Outcome]) -> dict[str, Share]:
    return _shares(mine, lambda outcome: outcome.category)


def _shares(mine: Sequence[Outcome], key: Callable[[Outcome], str]) -> dict[str, Share]:
    names = dict.fromkeys(map(key, mine))
    return {name: _share([each for each in mine if key(each) == name]) for name in names}


def _share(mine: Sequence[Outcome]) -> Share:
    return Share(sum(outcome.ok for outcome in mine), len(mine))


# ---- comparing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two arms compared on the cases that both were asked."""

    first: str
    second: str
    comparison: Comparison

    def __str__(self) -> str:
        found = self.comparison
        how = "the difference is real" if found.real else "that may be chance"
        split = f"{found.only_second} gained, {found.only_first} lost"
        return (
            f"{self.second} against {self.first}: {100 * found.difference:+.1f} points "
            f"on {counted(found.cases, 'case')} ({split}; p = {found.chance:.2g}): {how}"
        )


def verdicts(mine: Sequence[Row]) -> list[Verdict]:
    """Compare each arm with the first of its model, or else with the first of its prompt set."""
    found = []
    for number, row in enumerate(mine):
        same_model = [other for other in mine[:number] if other.model == row.model]
        same_set = [other for other in mine[:number] if other.prompts == row.prompts]
        if earlier := same_model or same_set:
            found.append(_verdict(earlier[0], row))
    return found


def against(before: Sequence[Row], now: Sequence[Row]) -> list[Verdict]:
    """Compare each arm with the same one of another run, or with the only one of that run."""
    found = []
    for row in now:
        same = [each for each in before if (each.model, each.prompts) == (row.model, row.prompts)]
        if earlier := same or (list(before) if len(before) == 1 else []):
            found.append(_verdict(earlier[-1], row, "before: "))
    return found


def _verdict(first: Row, second: Row, mark: str = "") -> Verdict:
    return Verdict(mark + first.name, second.name, compare(first.right, second.right))


# ---- JSON ----------------------------------------------------------------------------------------


def as_json(mine: Sequence[Row], found: Sequence[Verdict]) -> dict[str, Any]:
    """Return rows and verdicts as plain JSON values."""
    return {
        "arms": [_row_json(row) for row in mine],
        "comparisons": [
            {
                "first": each.first,
                "second": each.second,
                "cases": each.comparison.cases,
                "difference": each.comparison.difference,
                "p": each.comparison.chance,
                "real": each.comparison.real,
            }
            for each in found
        ],
    }


def _row_json(row: Row) -> dict[str, Any]:
    return {
        **dict(zip(("model", "prompts", "version", "encoder"), row.arm, strict=True)),
        **row.costs,
        **_mean_json(row.categories),
        "all": _share_json(row.all),
        "groups": {name: _share_json(share) for name, share in row.groups.items()},
        "categories": {name: _share_json(share) for name, share in row.categories.items()},
        "suites": {name: _mean_json(shares) for name, shares in row.suites.items()},
    }


def _mean_json(shares: Mapping[str, Share]) -> dict[str, Any]:
    values = shares.values()
    return {"mean": mean_of(values), "interval": list(interval_of_mean(values))}


def _share_json(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"right": share.right, "count": share.count, "low": low, "high": high}


# ---- a table, for people -------------------------------------------------------------------------


def table(mine: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Lay out rows as a table: its headings, one for each way to ask, and its lines."""
    suites = dict.fromkeys(name for row in mine for name in row.suites)
    groups = [name for name in GROUPS if any(name in row.groups for row in mine)]
    categories = dict.fromkeys(name for row in mine for name in row.categories)
    lines = [
        ["mean over categories", *(_mean_text(row.categories) for row in mine)],
        *(
            [f"  mean of {name}", *(_mean_text(row.suites.get(name, {})) for row in mine)]
            for name in (suites if len(suites) > 1 else ())
        ),
        ["all cases", *(_share_text(row.all) for row in mine)],
        *([GROUPS[name], *(_share_text(row.groups.get(name)) for row in mine)] for name in groups),
        *(
            [f"  {name}", *(_share_text(row.categories.get(name)) for row in mine)]
            for name in categories
        ),
        *(
            [name.replace("_", " "), *(f"{row.costs[name]:{form}}" for row in mine)]
            for name, form in COSTS.items()
        ),
    ]
    return ["figure", *(f"{row.model} {row.way}" for row in mine)], lines


def _mean_text(categories: Mapping[str, Share]) -> str:
    """Write the mean of the shares of some categories with its 95 % interval."""
    if not categories:
        return ""
    low, high = interval_of_mean(categories.values())
    return f"{mean_of(categories.values()):.2f} ({low:.2f}-{high:.2f})"


def _share_text(share: Share | None) -> str:
    """Write a share with its count and its 95 % interval."""
    if share is None:
        return ""
    low, high = share.interval
    return f"{share.value:.2f} ({share.right}/{share.count}, {low:.2f}-{high:.2f})"
