"""Which model, asked in which way, is right how often: the instrument for tuning prompts.

read_cases, bfcl_cases, read_bfcl   cases: a question, the tools, what is right
cases_from, in_part                 cases by the names of their sources; those set aside, or not
Arm                                 a model and a prompt set (or the server's own tool calling)
plan, run, read_outcomes            asking, resumable
rows, verdicts, against             what it adds up to, and whether a difference is real
page                                the same as one HTML page with charts
"""

from __future__ import annotations

from azent.evaluate.arms import NATIVE, Arm, Key, Outcome, key_of, try_case, version_of
from azent.evaluate.bfcl import CATEGORIES, bfcl_cases, category_of, read_bfcl
from azent.evaluate.cases import Case, read_cases, stamp
from azent.evaluate.page import page
from azent.evaluate.parts import Part, in_part, kind_of
from azent.evaluate.report import (
    GROUPS,
    Row,
    Verdict,
    against,
    as_json,
    rows,
    table,
    verdict,
    verdicts,
)
from azent.evaluate.run import Plan, known, plan, read_outcomes, run
from azent.evaluate.sources import cases_from
from azent.evaluate.stats import Comparison, Share, compare, interval_of_mean

__all__ = [
    "CATEGORIES",
    "GROUPS",
    "NATIVE",
    "Arm",
    "Case",
    "Comparison",
    "Key",
    "Outcome",
    "Part",
    "Plan",
    "Row",
    "Share",
    "Verdict",
    "against",
    "as_json",
    "bfcl_cases",
    "cases_from",
    "category_of",
    "compare",
    "in_part",
    "interval_of_mean",
    "key_of",
    "kind_of",
    "known",
    "page",
    "plan",
    "read_bfcl",
    "read_cases",
    "read_outcomes",
    "rows",
    "run",
    "stamp",
    "table",
    "try_case",
    "verdict",
    "verdicts",
    "version_of",
]
