"""How a batch goes, in lines: how much is done, how fast, how long it will take, what failed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path

from azent.batch import BadLine, Notice, Progress
from azent.batch.work import Said
from azent.cli.polite import say
from azent.cli.streams import prints_shown
from azent.cli.visible import visible
from azent.files import lines_of, open_regular
from azent.wording import counted

LIVE_SECONDS = 0.2  # between two states of the line on a terminal
LINE_SECONDS = 10.0  # between two lines elsewhere
MOST_BAD_LINES = 20


class Report:
    """Watches a batch of so many lines: one line that changes on a terminal, else some lines."""

    def __init__(self, lines: int, *, live: bool) -> None:
        self._lines = lines
        self._live = live
        self._next = time.monotonic() + (0 if live else LINE_SECONDS)

    def __call__(self, progress: Progress, said: Said) -> None:
        if isinstance(said, Notice):
            self.close()
            say(f"! {said.text}")
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (LIVE_SECONDS if self._live else LINE_SECONDS)
        line = state_line(progress, self._lines)
        if self._live:
            print(f"\r\x1b[K{visible(line)}", end="", file=sys.stderr, flush=True)
        else:
            say(line)

    def prints_shown(self) -> AbstractContextManager[None]:
        """What tools print stands above the line that changes."""
        return prints_shown(self._printed) if self._live else nullcontext()

    def _printed(self, line: str) -> None:
        self.close()
        say(line)

    def close(self) -> None:
        """Take the line away that changes."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def state_line(progress: Progress, lines: int) -> str:
    """How far it is, in one line."""
    here = progress.answered + progress.failed
    done = progress.before + here + len(progress.bad)
    rate = here / progress.seconds if progress.seconds else 0.0
    left = max(lines - done, 0)
    time_left = f", {_time(left / rate)} left" if rate and left else ""
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{min(done, lines):,} of {lines:,} done, {rate:.2f} a second{time_left}{failed}"


def summary(progress: Progress) -> Iterator[str]:
    """What came of it, in lines."""
    before = f", {progress.before:,} before" if progress.before else ""
    yield f"answered {counted(progress.answered, 'question')} in {_time(progress.seconds)}{before}"
    for kind, count in progress.failures.most_common():
        yield f"failed: {count:,} by {kind}, such as: {progress.examples[kind]}"
    if progress.failed:
        yield "They are asked again when the same command is run again."
    for bad in progress.bad[:MOST_BAD_LINES]:
        yield bad_line(bad)
    if (more := len(progress.bad) - MOST_BAD_LINES) > 0:
        yield f"and {counted(more, 'more line')} without a question"


def bad_line(bad: BadLine) -> str:
    return f"line {bad.line} was left out: {bad.problem}"


def count_lines(path: Path) -> int:
    """The lines of a file that are not empty; 0 for a pipe, which can only be read once.

    It is 0 too where the file cannot be read, which is told later.
    """
    try:
        with open_regular(path) as file:
            return sum(1 for line in lines_of(file) if line.strip())
    except OSError:
        return 0


def _time(seconds: float) -> str:
    """A time in words: 4.2 s, or 1:02:03."""
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))
