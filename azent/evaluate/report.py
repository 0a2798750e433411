"""What outcomes add up to: a row for each arm, and sentences on whether a difference is real."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from azent.evaluate.arms import Outcome
from azent.evaluate.stats import Comparison, Share, compare, interval_of_mean
from azent.messages import Usage
from azent.wording import counted

GROUPS = {"one": "one call due", "several": "several due", "none": "none due", "answer": "answers"}


@dataclass(frozen=True, slots=True)
class Row:
    """How one arm did. Tokens, requests and seconds are means for a case."""

    model: str
    prompts: str
    version: str
    all: Share
    groups: Mapping[str, Share]
    categories: Mapping[str, Share]
    prompt_tokens: float
    reply_tokens: float
    requests: float
    seconds: float
    right: Mapping[str, bool]

    @property
    def mean(self) -> float:
        """The mean over categories: each counts the same, however many cases it has."""
        shares = [share.value for share in self.categories.values()]
        return sum(shares) / len(shares) if shares else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean."""
        return interval_of_mean(self.categories.values())

    @property
    def name(self) -> str:
        return f"{self.model}, {self.prompts}"


def rows(outcomes: Iterable[Outcome]) -> list[Row]:
    """A row for each arm, in the order in which they first come."""
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
        prompt_tokens=usage.prompt_tokens / count,
        reply_tokens=usage.reply_tokens / count,
        requests=usage.requests / count,
        seconds=usage.seconds / count,
        right={outcome.case: outcome.ok for outcome in mine},
    )


def _shares(mine: Sequence[Outcome], key: Callable[[Outcome], str]) -> dict[str, Share]:
    names = dict.fromkeys(map(key, mine))
    return {name: _share([each for each in mine if key(each) == name]) for name in names}


def _share(mine: Sequence[Outcome]) -> Share:
    return Share(sum(outcome.ok for outcome in mine), len(mine))


# ---- comparing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two arms compared on the cases that both had."""

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
    """Each arm against the first of its model, else the first of its prompt set."""
    found = []
    for number, row in enumerate(mine):
        same_model = [other for other in mine[:number] if other.model == row.model]
        same_set = [other for other in mine[:number] if other.prompts == row.prompts]
        if earlier := same_model or same_set:
            found.append(verdict(earlier[0], row))
    return found


def against(before: Sequence[Row], now: Sequence[Row]) -> list[Verdict]:
    """Each arm of this run against the same one of another, or against its only one."""
    found = []
    for row in now:
        same = [each for each in before if (each.model, each.prompts) == (row.model, row.prompts)]
        if earlier := same or (list(before) if len(before) == 1 else []):
            found.append(verdict(earlier[-1], row, "before: "))
    return found


def verdict(first: Row, second: Row, mark: str = "") -> Verdict:
    """Two arms compared case by case."""
    return Verdict(mark + first.name, second.name, compare(first.right, second.right))


# ---- a table, for people -------------------------------------------------------------------------


def table(mine: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Lay out rows as a table: its headings, one for each way to ask, and its lines."""
    headings = ["figure", *(f"{row.model} {row.prompts}" for row in mine)]
    groups = {name: words for name, words in GROUPS.items() if any(name in r.groups for r in mine)}
    categories = dict.fromkeys(name for row in mine for name in row.categories)
    lines = [
        ["mean over categories", *map(_mean_text, mine)],
        ["all cases", *(_share_text(row.all) for row in mine)],
        *(
            [words, *(_share_text(r.groups.get(name)) for r in mine)]
            for name, words in groups.items()
        ),
        *(
            [f"  {name}", *(_share_text(r.categories.get(name)) for r in mine)]
            for name in categories
        ),
        ["prompt tokens", *(f"{row.prompt_tokens:.0f}" for row in mine)],
        ["reply tokens", *(f"{row.reply_tokens:.0f}" for row in mine)],
        ["requests", *(f"{row.requests:.2f}" for row in mine)],
        ["seconds", *(f"{row.seconds:.1f}" for row in mine)],
    ]
    return headings, lines


def _mean_text(row: Row) -> str:
    low, high = row.interval
    return f"{row.mean:.2f} ({low:.2f}-{high:.2f})"


def _share_text(share: Share | None) -> str:
    """Write a share with its count and its 95 % interval."""
    if share is None:
        return ""
    low, high = share.interval
    return f"{share.value:.2f} ({share.right}/{share.count}, {low:.2f}-{high:.2f})"


# ---- plain values, for scripts -------------------------------------------------------------------


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
    return {
        "model": row.model,
        "prompts": row.prompts,
        "mean": row.mean,
        "interval": list(row.interval),
        "all": _share_json(row.all),
        "groups": {name: _share_json(share) for name, share in row.groups.items()},
        "categories": {name: _share_json(share) for name, share in row.categories.items()},
        "prompt_tokens": row.prompt_tokens,
        "reply_tokens": row.reply_tokens,
        "requests": row.requests,
        "seconds": row.seconds,
    }


def _share_json(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"right": share.right, "count": share.count, "low": low, "high": high}
