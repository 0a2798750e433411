"""How a search for a prompt set goes, and what it came to."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from azent.cli.figures import print_figures
from azent.cli.polite import say
from azent.cli.printed import print_json, print_text
from azent.cli.region import Region, console_of, is_live
from azent.cli.visible import visible
from azent.wording import counted

if TYPE_CHECKING:
    from azent.lab import About, SearchProgress, Standing, Tuned, TuningProgress, Watch
    from azent.prompt import PromptSet

LINE_SECONDS = 60.0  # between two lines within a rung, where there is no terminal
SHOWN = 5  # of the sets that were tried


@contextmanager
def progress(budget: int, aside: int, quiet: bool) -> Iterator[Watch]:
    """What watches a search: lines that change on a terminal, a line now and then elsewhere."""
    from azent.lab import ignore

    if quiet:
        yield ignore
        return
    report = Report(budget, aside)
    try:
        yield report
    finally:
        report.close()


class Report:
    """Shows how far a search is that has such a budget, and so many cases set aside."""

    def __init__(self, budget: int, aside: int) -> None:
        self._budget = budget
        self._aside = aside
        self._began = time.monotonic()
        self._asked = 0
        self._now: TuningProgress | None = None
        self._said: tuple[object, ...] = ()
        self._next = 0.0
        self._region = Region(console_of(sys.stderr)) if is_live(sys.stderr) else None

    def __call__(self, now: TuningProgress, asked: int) -> None:
        self._now, self._asked = now, asked
        if self._region is None:
            self._say_line(now)
        elif not self._region.is_drawn:
            self._region.draw(self._drawn)

    def close(self) -> None:
        """Take it off the screen."""
        if self._region:
            self._region.close()

    def _lines(self, now: TuningProgress) -> list[str]:
        """How far it is: where in the search, the best so far, the time."""
        from azent.lab import JudgingProgress

        if isinstance(now, JudgingProgress):
            asked = f"{now.done} of {now.of} asked{self._time(now.of - now.done)}"
            return ["judging the winner on the cases set aside", asked]
        best = [f"best: {figures(now.best)}"] if now.best else []
        left = self._budget - now.spent + 2 * self._aside
        return [place(now), *best, f"{now.spent} of {self._budget} asked{self._time(left)}"]

    def _time(self, left: int) -> str:
        """How fast it is, and what that makes of so many that are left."""
        seconds = time.monotonic() - self._began
        if not self._asked or not seconds:
            return ""
        rate = 60 * self._asked / seconds
        shown = f"{rate:,.0f}" if rate > 10 else f"{rate:.1f}"
        return f", {shown} a minute, at most {_clock(60 * left / rate)} left"

    def _drawn(self) -> Any:
        from rich.text import Text

        lines = self._lines(self._now) if self._now else []
        return Text("\n".join(map(visible, lines)), overflow="ellipsis", no_wrap=True)

    def _say_line(self, now: TuningProgress) -> None:
        """Say a line where a rung begins, and after a while."""
        from azent.lab import JudgingProgress

        rung = ("judging",) if isinstance(now, JudgingProgress) else (now.round, now.cases)
        if rung != self._said or time.monotonic() >= self._next:
            say("; ".join(self._lines(now)))
            self._said, self._next = rung, time.monotonic() + LINE_SECONDS


def place(now: SearchProgress) -> str:
    """Where in the search it is."""
    left = counted(now.left, "prompt set")
    return f"round {now.round}: {left} left, case {now.done + 1} of {now.cases}"


def figures(score: Standing) -> str:
    """How a prompt set did, and which one: its name may be long."""
    cases = counted(score.cases, "case")
    return f"{score.mean:.2f} on {cases}, {score.tokens:.0f} prompt tokens: {score.candidate.name}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def show(tuned: Tuned, about: About, written: PromptSet, address: str, as_json: bool) -> None:
    """Show what was found, how it did on the cases set aside, and where the new set is.

    `address` is how the model was named.
    """
    from azent import prompt
    from azent.lab import evidence

    taken = prompt.load(None, tuned.model)
    if as_json:
        folder = {"folder": str(written.folder), "taken": taken.name == written.name}
        print_json({**folder, **evidence(tuned, about)})
        return
    sets, cases = len(tuned.result.tried), tuned.result.spent
    print_text(f"tried {counted(sets, 'prompt set')} on {counted(cases, 'case')} in all:")
    for score in tuned.result.tried[:SHOWN]:
        print_text(f"  {figures(score)}")
    print_text(f"\non {counted(tuned.winner.all.count, 'case')} set aside:")
    print_figures(tuned.judged)
    for verdict in tuned.verdicts:
        print_text(str(verdict))
        if verdict.comparison.difference <= 0:
            print_text(f"there it is no better than {tuned.start.prompts}: try more cases")
    print_text(f"wrote {written.folder}")
    print_text(_use(address, taken, written))


def _use(address: str, taken: PromptSet, written: PromptSet) -> str:
    if taken.name == written.name:
        return f"`azent ask -m {address}` takes it from here on"
    told = f"{taken.name} suits {address} too and comes first"
    return f"{told}: take the new one with -p {written.name}"
