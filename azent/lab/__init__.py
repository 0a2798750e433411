"""Measure how often models are right, and tune prompt sets.

read_cases, bfcl_cases, read_bfcl   read cases: a question, the tools, what is right
cases_from, in_part                 read cases from sources by name; the parts of the cases
Arm                                 a model, and a prompt set (or its server's tool calling)
plan, evaluate, read_outcomes       ask the arms the cases; resumable
rows, verdicts, against, page       add up outcomes, and tell whether a difference is significant
split_cases, tune, write            search the best prompt set, judge it, write it to a folder
"""

from __future__ import annotations

from azent.lab.bfcl import CATEGORIES, bfcl_cases, read_bfcl
from azent.lab.cases import Case, read_cases
from azent.lab.evaluation import (
    Arm,
    Outcome,
    Plan,
    evaluate,
    plan,
    read_outcomes,
    try_case,
    version_of,
)
from azent.lab.page import page
from azent.lab.report import (
    Comparison,
    Row,
    Share,
    Verdict,
    against,
    as_json,
    compare,
    interval_of_mean,
    mean_of,
    rows,
    table,
    verdicts,
)
from azent.lab.search import SearchProgress, Standing
from azent.lab.sources import Split, cases_from, in_part, split_cases
from azent.lab.tuning import (
    BUDGET,
    About,
    JudgingProgress,
    Tuned,
    TuningProgress,
    Watch,
    check_free,
    evidence,
    ignore,
    starting_sets,
    tune,
    write,
)

__all__ = [
    "BUDGET",
    "CATEGORIES",
    "About",
    "Arm",
    "Case",
    "Comparison",
    "JudgingProgress",
    "Outcome",
    "Plan",
    "Row",
    "SearchProgress",
    "Share",
    "Split",
    "Standing",
    "Tuned",
    "TuningProgress",
    "Verdict",
    "Watch",
    "against",
    "as_json",
    "bfcl_cases",
    "cases_from",
    "check_free",
    "compare",
    "evaluate",
    "evidence",
    "ignore",
    "in_part",
    "interval_of_mean",
    "mean_of",
    "page",
    "plan",
    "read_bfcl",
    "read_cases",
    "read_outcomes",
    "rows",
    "split_cases",
    "starting_sets",
    "table",
    "try_case",
    "tune",
    "verdicts",
    "version_of",
    "write",
]
