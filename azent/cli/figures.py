"""What an evaluation came to, as a table: a column for each way to ask, a line for each figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from azent.cli.table import print_table

if TYPE_CHECKING:
    from azent.lab import Row, Share


def print_figures(rows: Sequence[Row]) -> None:
    """Print the table, as wide as it has to be where it is not for a terminal."""
    headings = ("figure", *(f"{row.model} {row.prompts}" for row in rows))
    print_table(headings, [(name, *figures) for name, figures in _figures(rows)])


def _figures(rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """The lines of the table: a name, and what there is to say of each row."""
    from azent.lab import GROUPS

    yield "mean over categories", [_mean(row.categories) for row in rows]
    suites = list(dict.fromkeys(name for row in rows for name in row.suites))
    for name in suites if len(suites) > 1 else ():
        yield f"  mean of {name}", [_mean(row.suites.get(name, {})) for row in rows]
    yield "all cases", [_share(row.all) for row in rows]
    for group, words in GROUPS.items():
        if any(group in row.groups for row in rows):
            yield words, [_share(row.groups.get(group)) for row in rows]
    for name in dict.fromkeys(name for row in rows for name in row.categories):
        yield f"  {name}", [_share(row.categories.get(name)) for row in rows]
    yield "prompt tokens", [f"{row.prompt_tokens:.0f}" for row in rows]
    yield "reply tokens", [f"{row.reply_tokens:.0f}" for row in rows]
    yield "requests", [f"{row.requests:.2f}" for row in rows]
    yield "seconds", [f"{row.seconds:.1f}" for row in rows]


def _mean(categories: Mapping[str, Share]) -> str:
    """The mean of the shares of some categories with its 95 % interval."""
    from azent.lab import interval_of_mean, mean_of

    if not categories:
        return ""
    low, high = interval_of_mean(categories.values())
    return f"{mean_of(categories.values()):.2f} ({low:.2f}-{high:.2f})"


def _share(share: Share | None) -> str:
    """A share with its count and its 95 % interval."""
    if share is None:
        return ""
    low, high = share.interval
    return f"{share.value:.2f} ({share.right}/{share.count}, {low:.2f}-{high:.2f})"
