"""Thousands of questions, answered by one server or several, however often it has to be begun.

    from azent.batch import run_batch
    run_batch("questions.jsonl", "answers.jsonl", azent.Agent("qwen2.5-coder:1.5b", [add]))

questions, answers    the two files, a JSON object a line
pace                  how many questions a server is asked at once
lane, work            servers, and the threads that ask them
cluster               a Dask cluster in place of servers
"""

from __future__ import annotations

from azent.batch.cluster import cluster_lane
from azent.batch.questions import BadLine, Item
from azent.batch.run import Progress, run_batch
from azent.batch.work import Notice, Outcome, ask_all

__all__ = [
    "BadLine",
    "Item",
    "Notice",
    "Outcome",
    "Progress",
    "ask_all",
    "cluster_lane",
    "run_batch",
]
