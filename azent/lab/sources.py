"""Sources of cases as commands name them: files, files of BFCL, `bfcl`, or `bfcl:CATEGORY`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from azent.arguments import many, one_of, text, whole
from azent.errors import UsageError
from azent.lab.bfcl import CATEGORIES, bfcl_cases, category_of, read_bfcl
from azent.lab.cases import PARTS, Case, Part, in_part, read_cases, sampled

BFCL = "bfcl:"


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
    listed = [text("a source", each) for each in many("sources", sources, '["cases.jsonl"]')]
    named = [name for source in listed for name in _categories(source)]
    cases = [case for name in named for case in _of_source(name, functions, wanted, most)]
    counts = Counter(case.id for case in cases)
    if twice := next((each for each, count in counts.items() if count > 1), None):
        raise UsageError(f"the case {twice!r} comes twice", "Give cases ids of their own.")
    return cases


def _categories(source: str) -> list[str]:
    return [BFCL + name for name in CATEGORIES] if source == "bfcl" else [source]


def _of_source(
    source: str, functions: Sequence[object], part: Part, sample: int | None
) -> list[Case]:
    if source.startswith(BFCL):
        return bfcl_cases(source.removeprefix(BFCL), part=part, sample=sample)
    if category_of(Path(source)):
        return read_bfcl(Path(source), part=part, sample=sample)
    return _sampled(in_part(read_cases(Path(source), functions), part), sample)


def _sampled(cases: list[Case], sample: int | None) -> list[Case]:
    """A sample of each category, or all cases in their order if `sample` is None."""
    if sample is None:
        return cases
    names = dict.fromkeys(case.category for case in cases)
    of_name = [[case for case in cases if case.category == name] for name in names]
    return [case for some in of_name for case in sampled(some, sample)]
