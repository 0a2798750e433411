"""The prompt set that suits a model best, searched on the user's own cases.

    halves(["cases.jsonl"])         the cases to search with, and those that are set aside
    tune(model, halves)             searches, and judges the winner on the cases set aside
    write(tuned, folder, about)     the winner as a prompt set, with the evidence in it

What is tried stands in one table (`space.SPACE`); the search is a pure generator (`search.search`).
"""

from __future__ import annotations

from azent.tune.board import Mark, Score
from azent.tune.evidence import About, evidence, tuned_set
from azent.tune.given import Halves, bases_for, halves
from azent.tune.run import BUDGET, Judging, Tuned, Watch, nobody, tune
from azent.tune.search import Ask, Found, Search, Standing, Terms, in_order, search
from azent.tune.space import SPACE, Candidate, Setting, first_field, neighbours
from azent.tune.writing import check_free, write

__all__ = [
    "BUDGET",
    "SPACE",
    "About",
    "Ask",
    "Candidate",
    "Found",
    "Halves",
    "Judging",
    "Mark",
    "Score",
    "Search",
    "Setting",
    "Standing",
    "Terms",
    "Tuned",
    "Watch",
    "bases_for",
    "check_free",
    "evidence",
    "first_field",
    "halves",
    "in_order",
    "neighbours",
    "nobody",
    "search",
    "tune",
    "tuned_set",
    "write",
]
