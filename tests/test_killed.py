"""kill -9 at random moments of a run: nothing is lost, and nothing runs twice that must not."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import azent
from azent.conversation.replies import INTERRUPTED
from azent.messages import Log, Note, Question, Reply, Result
from tests.killed_run import ROUNDS

RUN = [sys.executable, "-m", "tests.killed_run"]
KILLS = 4
WHOLE_RUN = 0.4  # seconds or so: when to kill is drawn from within them


@pytest.mark.parametrize("seed", range(5))
def test_a_killed_run_goes_on(tmp_path: Path, seed: int) -> None:
    check_killed(tmp_path, random.Random(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 105))
def test_a_killed_run_goes_on_a_hundred_times(tmp_path: Path, seed: int) -> None:
    check_killed(tmp_path, random.Random(seed))


def check_killed(folder: Path, chance: random.Random) -> None:
    """Kill a run a few times, let it come to its end, and look at what is left."""
    store, effects = azent.Store(folder / "sessions.db"), folder / "effects"
    logs: list[Log] = []
    for kill_after in [*(chance.uniform(0, WHOLE_RUN) for _ in range(KILLS)), None]:
        run(store.path, effects, kill_after)
        logs.append(store.log("work") if store.sessions() else ())
        if is_answered(logs[-1]):  # killed or not: the same question would be asked anew
            break
    assert is_answered(logs[-1])
    check_nothing_lost(logs)
    check_effects(logs[-1], effects.read_text().split("\n"))


def run(store: Path, effects: Path, kill_after: float | None) -> None:
    """Run until it ends, or is killed so many seconds after its start."""
    command = [*RUN, str(store), str(effects)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
        process.stdout.read()


def is_answered(log: Log) -> bool:
    return bool(log) and isinstance(log[-1], Reply) and log[-1].text == "All done."


def check_nothing_lost(logs: list[Log]) -> None:
    """Each run began with all that the one before had kept, and asked nothing anew."""
    for before, after in pairwise(logs):
        assert after[: len(before)] == before
    last = logs[-1]
    assert sum(isinstance(message, Question) for message in last) == 1
    calls = [call.id for message in last if isinstance(message, Reply) for call in message.calls]
    assert calls == [str(number) for number in range(1, 3 * ROUNDS + 1)]
    assert Counter(m.id for m in last if isinstance(m, Result)) == Counter(calls)


def check_effects(log: Log, effects: list[str]) -> None:
    """Each call ran to its end, or is marked as interrupted; those of `once` never began twice."""
    ran = Counter(effects)
    results = {f"{m.tool} {(int(m.id) + 2) // 3}": m for m in log if isinstance(m, Result)}
    noted = [id for m in log if isinstance(m, Note) and m.what == "interrupted" for id in m.ids]
    assert {m.id for m in results.values() if m.text == INTERRUPTED} == set(noted)
    for call, result in results.items():
        assert ran[f"begun {call}"] <= 1 or not call.startswith("once")
        if result.ok:
            assert ran[f"ended {call}"] >= 1
        else:
            assert call.startswith("once")
            assert result.text == INTERRUPTED
