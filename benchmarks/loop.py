"""What the loop itself costs, the model and the functions taken out.

    python benchmarks/loop.py

Many calls: one reply with 32 calls of 100 ms each, from the question to the answer. The goal is 1.2
times the 100 ms and 50 ms more. A round: a decision with one call, its result, and the request that
follows, on a model that answers at once; the goal is one millisecond of CPU time, found as what
each round more adds to a question. The best of a few tries counts, because a busy machine makes
everything slower and nothing faster. The exit code says whether both goals were met.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import azent

NAP = 0.1  # seconds
CALLS = 32
GOAL_SECONDS = 1.2 * NAP + 0.05
FEW, MANY = 2, 10  # rounds; an agent makes eight at most unless told otherwise
GOAL_ROUND = 1.0  # milliseconds
TRIES = 9
NONE = '{"tools": []}'


def nap(n: int) -> int:
    """Take a nap."""
    time.sleep(NAP)
    return n


async def anap(n: int) -> int:
    """Take a nap, on a loop."""
    await asyncio.sleep(NAP)
    return n


def look(n: int) -> int:
    """Look."""
    return n


def calls_of(tool: str, numbers: range) -> str:
    return json.dumps({"tools": [{"tool": tool, "tool_input": {"n": n}} for n in numbers]})


def many_calls(function: Callable[..., object]) -> float:
    """Seconds from a question to its answer, with many calls in one reply."""
    script = (calls_of(function.__name__, range(CALLS)), NONE, "done")
    agent = azent.Agent(azent.Scripted(*script), [function])
    began = time.perf_counter()
    answer = agent.ask("go")
    took = time.perf_counter() - began
    assert [result.value for result in answer.results] == list(range(CALLS))
    return took


def rounds(count: int) -> float:
    """Milliseconds of CPU time for a question that takes so many rounds."""
    script = [calls_of("look", range(n, n + 1)) for n in range(count)]
    agent = azent.Agent(azent.Scripted(*script, "done"), [look], rounds=count)
    began = time.process_time()
    answer = agent.ask("go")
    took = time.process_time() - began
    assert len(answer.results) == count
    return 1000 * took


def main() -> int:
    many_calls(nap)  # what is imported at first use is not what is measured
    naps = min(many_calls(nap) for _ in range(TRIES))
    anaps = min(many_calls(anap) for _ in range(TRIES))
    few, many = (min(rounds(count) for _ in range(TRIES)) for count in (FEW, MANY))
    round_ms = (many - few) / (MANY - FEW)
    for name, seconds in ("in threads", naps), ("on a loop", anaps):
        print(
            f"{CALLS} calls of {1000 * NAP:.0f} ms {name}: {1000 * seconds:.0f} ms,"
            f" {seconds / NAP:.2f} times one of them (goal {GOAL_SECONDS / NAP:.2f})"
        )
    print(f"a round, the model taken out: {round_ms:.2f} ms of CPU time (goal {GOAL_ROUND:.0f})")
    print(f"a question, its rounds taken out: {few - FEW * round_ms:.2f} ms of CPU time")
    return int(max(naps, anaps) > GOAL_SECONDS or round_ms > GOAL_ROUND)


if __name__ == "__main__":
    raise SystemExit(main())
