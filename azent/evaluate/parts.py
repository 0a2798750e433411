"""Two parts of the cases: those to look at, and those that are set aside for the final figure.

The rule is fixed and looks at no outcome: of each kind (a category, and how many calls are due)
every second case is set aside, in the order of the file. Lines that are added at the end of a file
move none of those before them. BFCL's own cases have a rule of their own (`bfcl`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias, TypeVar

from azent.evaluate.cases import Case

Part: TypeAlias = Literal["dev", "final", "all"]
PARTS: tuple[Part, ...] = ("dev", "final", "all")
Kind: TypeAlias = tuple[str, str]
Item = TypeVar("Item")


def in_part(cases: Sequence[Case], part: Part) -> list[Case]:
    """The cases of a part, in their order."""
    if part == "all":
        return list(cases)
    aside = _set_aside(cases)
    return [case for case, out in zip(cases, aside, strict=True) if out is (part == "final")]


def sampled(items: Sequence[Item], most: int | None) -> Sequence[Item]:
    """At most so many, all where that is None: every second, third, ... from the first one on.

    Fewer than twice as many as wanted have no such step, so the first ones are taken.
    """
    step = max(1, len(items) // most) if most else 1
    return items[::step][:most]


def kind_of(case: Case) -> Kind:
    """The kind of a case: its category, and whether it takes no call, one, several, an answer."""
    return case.category, case.group


def _set_aside(cases: Sequence[Case]) -> list[bool]:
    """Whether each case is set aside.

    Which one of a kind is the first to be so alternates, from one kind of a category to the next
    and from one category to the next, so that both parts are alike where kinds have few cases.
    """
    turns: Counter[Kind] = Counter()
    first: dict[Kind, int] = {}
    out = []
    for case in cases:
        kind = kind_of(case)
        if kind not in first:
            first[kind] = _number_of(kind, list(first))
        out.append((first[kind] + turns[kind]) % 2 == 1)
        turns[kind] += 1
    return out


def _number_of(kind: Kind, before: Sequence[Kind]) -> int:
    """The number of a new kind's category, and the kind's within it, in one."""
    categories = list(dict.fromkeys([*(category for category, _ in before), kind[0]]))
    return categories.index(kind[0]) + sum(category == kind[0] for category, _ in before)
