"""Choose the cases to ask: from files, `bfcl` or `bfcl:CATEGORY`, all or a part of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from azent.errors import CasesError, UsageError, counted
from azent.lab.bfcl import CATEGORIES, bfcl_cases, category_of, read_bfcl
from azent.lab.cases import PARTS, Case, Part, read_cases, sampled
from azent.values.arguments import many, one_of, text, whole

BFCL = "bfcl:"
LEAST_CASES = 4  # in each part of the split


def cases_from(
    sources: Iterable[str],
    functions: Sequence[object] = (),
    *,
    part: str = "all",
    sample: int | None = None,
) -> list[Case]:
    """Read the cases of some sources, or of one part, or a sample of each category.

    `bfcl` stands for eight categories. Raises CasesError, and UsageError for an unknown part and
    for two cases with one id.
    """
    wanted = cast(Part, one_of("--part", part, PARTS))
    most = None if sample is None else whole("sample", sample, 1)
    cases = []
    for source in many("sources", sources, '["cases.jsonl"]'):
        named = [f"{BFCL}{name}" for name in CATEGORIES] if source == "bfcl" else [source]
        for name in named:
            cases += _of_source(text("a source", name), functions, wanted, most)
    counts = Counter(case.id for case in cases)
    if twice := next((each for each, count in counts.items() if count > 1), None):
        raise UsageError(f"the case {twice!r} comes twice", "Give cases ids of their own.")
    return cases


def _of_source(
    source: str, functions: Sequence[object], part: Part, sample: int | None
) -> list[Case]:
    if source.startswith(BFCL):
        return bfcl_cases(source.removeprefix(BFCL), part=part, sample=sample)
    if category_of(Path(source)):
        return read_bfcl(Path(source), part=part, sample=sample)
    cases = in_part(read_cases(Path(source), functions), part)
    if sample is None:
        return cases
    names = dict.fromkeys(case.category for case in cases)
    of_name = [[case for case in cases if case.category == name] for name in names]
    return [case for some in of_name for case in sampled(some, sample)]


# ---- parts ---------------------------------------------------------------------------------------


def in_part(cases: Sequence[Case], part: Part) -> list[Case]:
    """Return the cases of a part: "dev" to develop with, or "final" to measure with at the end.

    Every second case of each kind belongs to "final", in the order of the file. So lines that are
    added at the end of a file do not move those before them.
    """
    if part == "all":
        return list(cases)
    aside = _set_aside(cases)
    return [case for case, out in zip(cases, aside, strict=True) if out is (part == "final")]


def _set_aside(cases: Sequence[Case]) -> list[bool]:
    """Return for each case whether it is set aside.

    Of each kind every second case is. Whether it is the first or the second alternates between
    kinds, so that both parts are alike even if there are few cases of each kind.
    """
    first: dict[tuple[str, str], int] = {}
    counts: Counter[tuple[str, str]] = Counter()
    aside = []
    for case in cases:
        if case.kind not in first:
            before = [category for category, _ in first]
            number = list(dict.fromkeys([*before, case.category])).index(case.category)
            first[case.kind] = number + before.count(case.category)
        aside.append((first[case.kind] + counts[case.kind]) % 2 == 1)
        counts[case.kind] += 1
    return aside


@dataclass(frozen=True, slots=True)
class Split:
    """The cases to search with, and those set aside to judge the winner."""

    search: tuple[Case, ...]
    aside: tuple[Case, ...]


def split_cases(
    sources: Iterable[str], functions: Sequence[object] = (), *, sample: int | None = None
) -> Split:
    """Read the cases of some sources and split them as `azent eval --part` does.

    `sample` is the most cases of each category in each part. Raises CasesError, also if there are
    too few, and UsageError for two cases with one id.
    """
    sources = tuple(many("sources", sources, '["cases.jsonl"]'))
    parts = (cases_from(sources, functions, part=part, sample=sample) for part in ("dev", "final"))
    split = Split(*map(tuple, parts))
    check_split(split)
    return split


def check_split(split: Split) -> None:
    """Raise CasesError if there are too few cases, or if a case is in both parts."""
    if min(len(split.search), len(split.aside)) < LEAST_CASES:
        hint = (
            f"Give {2 * LEAST_CASES} cases or more, two or more of each kind (a category, and "
            "whether one call is due, several or none): every second one of a kind is set aside."
        )
        there = f"{counted(len(split.search), 'case')} to search with, {len(split.aside)} set aside"
        raise CasesError(f"{there}: {LEAST_CASES} are needed of each", hint)
    if both := {each.id for each in split.search} & {each.id for each in split.aside}:
        hint = "Give cases ids of their own."
        raise CasesError(f"the case {min(both)!r} is also among those set aside", hint)
