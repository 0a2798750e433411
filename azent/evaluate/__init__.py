"""Which model, asked in which way, is right how often: the instrument for tuning prompts.

read_cases, bfcl_cases, read_bfcl   cases: a question, the tools, what is right
Arm                                 a model and a prompt set (or the server's own tool calling)
plan, run, read_outcomes            asking, resumable
rows, verdicts, against             what it adds up to, and whether a difference is real
page                                the same as one HTML page with charts
"""

from __future__ import annotations

from azent.evaluate.arms import NATIVE, Arm, Outcome, try_case
from azent.evaluate.bfcl import CATEGORIES, bfcl_cases, category_of, read_bfcl
from azent.evaluate.cases import Case, read_cases
from azent.evaluate.page import page
from azent.evaluate.report import GROUPS, Row, Verdict, against, as_json, rows, verdict, verdicts
from azent.evaluate.run import Plan, plan, read_outcomes, run
from azent.evaluate.stats import Comparison, Share, compare

__all__ = [
    "CATEGORIES",
    "GROUPS",
    "NATIVE",
    "Arm",
    "Case",
    "Comparison",
    "Outcome",
    "Plan",
    "Row",
    "Share",
    "Verdict",
    "against",
    "as_json",
    "bfcl_cases",
    "category_of",
    "compare",
    "page",
    "plan",
    "read_bfcl",
    "read_cases",
    "read_outcomes",
    "rows",
    "run",
    "try_case",
    "verdict",
    "verdicts",
]
