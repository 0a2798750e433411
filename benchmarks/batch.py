"""What a batch adds: speed-up by workers, overhead per question, memory over many questions.

    python benchmarks/batch.py [--memory] [--dask]

The model is scripted and takes a fixed time, so that all else is azent's own. The speed-up is the
rate with so many questions at once against the rate with one, in the same run; the goal is 0.8 of
the ideal at 8. With --memory, 100,000 questions are asked, and what the process holds after them is
compared with what it held after the first 10,000; the goal is 16 MB more at most, most of which are
the ids. With --dask, the speed-up is measured on clusters of 1, 2, 4 and 8 worker processes too,
with the same goal. The exit code says whether the goals were met.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from azent import Agent  # noqa: E402  # found by the line above
from azent.batch import Server, cluster_server, run_batch  # noqa: E402
from azent.messages import Delta, End, Request  # noqa: E402

LATENCY = 0.05  # seconds
WORKERS = [1, 2, 4, 8]
QUESTIONS = 80  # for each number of workers
CLUSTER_LATENCY = 0.5  # seconds; shorter, and eight processes on two cores measure the cores
CLUSTER_QUESTIONS = 12  # for each worker process
GOAL = 0.8  # of the ideal speed-up
MANY = 100_000
MOST_MEGABYTES = 16.0


class Fixed:
    """A model that answers after a fixed time."""

    name, num_ctx = "fixed", None

    def __init__(self, latency: float) -> None:
        self.latency = latency

    def stream(self, request: Request) -> Iterator[Delta | End]:
        if self.latency:
            time.sleep(self.latency)
        yield Delta("yes")
        yield End()


def main() -> int:
    """Measure, print, and return 1 if a goal was missed."""
    with tempfile.TemporaryDirectory() as folder:
        missed = _speed_up(Path(folder))
        _overhead(Path(folder))
        if "--memory" in sys.argv:
            missed += _memory(Path(folder))
        if "--dask" in sys.argv:
            missed += _on_clusters(Path(folder))
    return 1 if missed else 0


def _speed_up(folder: Path) -> int:
    rates = {n: _rate(folder, QUESTIONS * n, Agent(Fixed(LATENCY)), n) for n in WORKERS}
    return _report("at once", rates)


def _report(what: str, rates: dict[int, float]) -> int:
    for workers, rate in rates.items():
        gained = rate / rates[1]
        print(f"{workers} {what}: {rate:.1f} a second, {gained:.2f} times as many as one")
    return int(rates[8] / rates[1] < GOAL * 8)


def _on_clusters(folder: Path) -> int:
    return _report("worker processes", {n: _cluster_rate(folder, n) for n in WORKERS})


def _cluster_rate(folder: Path, workers: int) -> float:
    """Questions per second on a new cluster, after some that start it."""
    from distributed import Client, LocalCluster

    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]  # they have no types
        server = cluster_server(client, _slow_agent)
        _rate(folder, 10 * workers, server)
        return _rate(folder, CLUSTER_QUESTIONS * workers, cluster_server(client, _slow_agent))


def _slow_agent() -> Agent:
    return Agent(Fixed(CLUSTER_LATENCY))


def _overhead(folder: Path) -> None:
    rate = _rate(folder, 2000, Agent(Fixed(0.0)), 1)
    print(f"overhead: {1000 / rate:.2f} ms per question")


def _rate(
    folder: Path, count: int, who: Agent | Server, parallel: int | None = None, **more: Any
) -> float:
    """Questions per second."""
    questions, answers = folder / "questions.jsonl", folder / f"{time.monotonic_ns()}.jsonl"
    with questions.open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps({"id": f"question-{number}", "question": "Is it so?"}) + "\n")
    began = time.perf_counter()
    run_batch(questions, answers, [who], parallel=parallel, **more)
    return count / (time.perf_counter() - began)


def _memory(folder: Path) -> int:
    held: dict[int, float] = {}

    def watch(progress: Any, said: Any) -> None:
        if progress.answered in (MANY // 10, MANY):
            held[progress.answered] = _megabytes()

    _rate(folder, MANY, Agent(Fixed(0.0)), 4, watch=watch)
    more = held[MANY] - held[MANY // 10]
    print(f"memory: {held[MANY // 10]:.0f} MB after {MANY // 10:,}, {more:+.1f} after {MANY:,}")
    return int(more > MOST_MEGABYTES)


def _megabytes() -> float:
    """What this process holds in memory (on Linux)."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    sys.exit(main())
