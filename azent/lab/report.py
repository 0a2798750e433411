"""What outcomes add up to: a row of figures for each arm, and whether a difference is significant.

- A share of right answers has Wilson's interval, which also holds for few cases and near 0 and 1. A
  mean of shares has the interval of Zou and Donner's MOVER, which adds the squares of how far each
  share may be off.
- Two arms are compared on the same cases with McNemar's exact test: only cases that one gets right
  and the other wrong tell something, and if neither arm is better, each of these is a coin toss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from azent.lab.evaluation import Outcome
from azent.messages import Usage
from azent.wording import counted

GROUPS = {"one": "one call due", "several": "several due", "none": "none due", "answer": "answers"}
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
        """Wilson's score interval; from 0 to 1 if there are no cases."""
        if not self.count:
            return 0.0, 1.0
        weight = Z * Z / self.count
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.count + weight / (4 * self.count)
        half = Z / (1 + weight) * math.sqrt(spread)
        return max(0.0, middle - half), min(1.0, middle + half)


def mean_of(shares: Collection[Share]) -> float:
    """The mean of shares; not a number if there are none."""
    return sum(share.value for share in shares) / len(shares) if shares else math.nan


def interval_of_mean(shares: Collection[Share]) -> tuple[float, float]:
    """The 95 % interval of the mean of independent shares; from 0 to 1 if there are none."""
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
        """How much higher the share of the second is."""
        return (self.only_second - self.only_first) / self.cases if self.cases else 0.0

    @property
    def chance(self) -> float:
        """The p-value: how probable a split so uneven is if neither is better (two-sided)."""
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
    """The figures of one arm. Tokens, requests and seconds are means for one case."""

    model: str
    prompts: str
    version: str
    all: Share
    groups: Mapping[str, Share]
    categories: Mapping[str, Share]
    suites: Mapping[str, Mapping[str, Share]]  # the categories of each suite
    prompt_tokens: float
    reply_tokens: float
    requests: float
    seconds: float
    right: Mapping[str, bool]

    @property
    def mean(self) -> float:
        """The mean over categories: each counts the same, however many cases it has."""
        return mean_of(self.categories.values())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean."""
        return interval_of_mean(self.categories.values())

    @property
    def name(self) -> str:
        return f"{self.model}, {self.prompts}"


def rows(outcomes: Iterable[Outcome]) -> list[Row]:
    """Make a row for each arm, in the order in which the arms first come."""
    by_arm: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        by_arm.setdefault((outcome.model, outcome.prompts, outcome.version), []).append(outcome)
    return [_row(*arm, mine) for arm, mine in by_arm.items()]


def _row(model: str, prompts: str, version: str, mine: Sequence[Outcome]) -> Row:
    usage, count = sum((outcome.usage for outcome in mine), Usage()), len(mine)
    groups = _shares(mine, lambda outcome: outcome.group)
    return Row(
        model=model,
        prompts=prompts,
        version=version,
        all=_share(mine),
        groups={name: groups[name] for name in GROUPS if name in groups},
        categories=_shares(mine, lambda outcome: outcome.category),
        suites=_suites(mine),
        prompt_tokens=usage.prompt_tokens / count,
        reply_tokens=usage.reply_tokens / count,
        requests=usage.requests / count,
        seconds=usage.seconds / count,
        right={outcome.case: outcome.ok for outcome in mine},
    )


def _shares(mine: Sequence[Outcome], key: Callable[[Outcome], str]) -> dict[str, Share]:
    names = dict.fromkeys(map(key, mine))
    return {name: _share([each for each in mine if key(each) == name]) for name in names}


def _suites(mine: Sequence[Outcome]) -> dict[str, dict[str, Share]]:
    names = dict.fromkeys(outcome.suite for outcome in mine if outcome.suite)
    of_suite = {name: [each for each in mine if each.suite == name] for name in names}
    return {name: _shares(some, lambda each: each.category) for name, some in of_suite.items()}


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
            found.append(verdict(earlier[0], row))
    return found


def against(before: Sequence[Row], now: Sequence[Row]) -> list[Verdict]:
    """Compare each arm with the same one of another run, or with the only one of that run."""
    found = []
    for row in now:
        same = [each for each in before if (each.model, each.prompts) == (row.model, row.prompts)]
        if earlier := same or (list(before) if len(before) == 1 else []):
            found.append(verdict(earlier[-1], row, "before: "))
    return found


def verdict(first: Row, second: Row, mark: str = "") -> Verdict:
    """Compare two arms case by case."""
    return Verdict(mark + first.name, second.name, compare(first.right, second.right))


# ---- JSON ----------------------------------------------------------------------------------------


def as_json(mine: Sequence[Row], found: Sequence[Verdict]) -> dict[str, Any]:
    """Rows and verdicts as plain JSON values."""
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
    plain = ("model", "prompts", "prompt_tokens", "reply_tokens", "requests", "seconds")
    return {
        **{name: getattr(row, name) for name in plain},
        **_mean_json(row.categories.values()),
        "all": _share_json(row.all),
        "groups": {name: _share_json(share) for name, share in row.groups.items()},
        "categories": {name: _share_json(share) for name, share in row.categories.items()},
        "suites": {name: _mean_json(shares.values()) for name, shares in row.suites.items()},
    }


def _mean_json(shares: Collection[Share]) -> dict[str, Any]:
    return {"mean": mean_of(shares), "interval": list(interval_of_mean(shares))}


def _share_json(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"right": share.right, "count": share.count, "low": low, "high": high}


# ---- a table, for people -------------------------------------------------------------------------


def table(mine: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Lay out rows as a table: its headings, one for each way to ask, and its lines."""
    headings = ["figure", *(f"{row.model} {row.prompts}" for row in mine)]
    suites = list(dict.fromkeys(name for row in mine for name in row.suites))
    groups = {name: words for name, words in GROUPS.items() if any(name in r.groups for r in mine)}
    categories = dict.fromkeys(name for row in mine for name in row.categories)
    lines = [["mean over categories", *(_mean_text(row.categories) for row in mine)]]
    lines += [
        [f"  mean of {name}", *(_mean_text(row.suites.get(name, {})) for row in mine)]
        for name in (suites if len(suites) > 1 else ())
    ]
    lines.append(["all cases", *(_share_text(row.all) for row in mine)])
    lines += [
        [words, *(_share_text(row.groups.get(name)) for row in mine)]
        for name, words in groups.items()
    ]
    lines += [
        [f"  {name}", *(_share_text(row.categories.get(name)) for row in mine)]
        for name in categories
    ]
    lines.append(["prompt tokens", *(f"{row.prompt_tokens:.0f}" for row in mine)])
    lines.append(["reply tokens", *(f"{row.reply_tokens:.0f}" for row in mine)])
    lines.append(["requests", *(f"{row.requests:.2f}" for row in mine)])
    lines.append(["seconds", *(f"{row.seconds:.1f}" for row in mine)])
    return headings, lines


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
