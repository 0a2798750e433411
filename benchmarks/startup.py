"""What starting azent costs: CPU time, as ratios within one run.

    python benchmarks/startup.py [ROUNDS]

Each ratio has a goal; the exit code says whether all were met. CPU time is compared, and of each
command the fastest round, because a busy machine makes everything slower and nothing faster.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RATIOS = [
    # what is measured, what it is compared with, the most that the ratio may be
    (["-c", "import azent"], ["-c", "import ollama"], 0.5),
    (["-m", "azent", "--help"], ["-c", "import typer, rich"], 1.5),
]


def main() -> int:
    """Measure, print a table, and return 1 if a goal was missed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    missed = 0
    for command, other, goal in RATIOS:
        ratio = ratio_of(command, other, rounds)
        missed += ratio > goal
        print(f"{ratio:5.2f} (goal {goal})  {' '.join(command)}  :  {' '.join(other)}")
    return 1 if missed else 0


def ratio_of(command: list[str], other: list[str], rounds: int) -> float:
    """The CPU time of one command in terms of the other's, measured in turns."""
    times = [(cpu_seconds(command), cpu_seconds(other)) for _ in range(rounds)]
    return min(one for one, _ in times) / min(two for _, two in times)


def cpu_seconds(arguments: list[str]) -> float:
    """What a Python with these arguments takes, start of the interpreter included."""
    before = spent_by_children()
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return spent_by_children() - before


def spent_by_children() -> float:
    """CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
