"""How many questions a server is asked at once: found out by trying, within bounds. Pure.

As long as twice as many at once get more done in the same time, twice as many are asked; where not,
it goes back. A server that says that it is busy is asked half as many. Every so often one more step
is tried, because servers change. Time is given, so that nothing here waits.
"""

from __future__ import annotations

FIRST = 2
BETTER = 1.15  # the rate at twice as many must be this many times the rate before
FEWEST = 8  # answers, to know a rate by
CALM = 20  # spans without a trial, after one that was no better


class Pace:
    """The `limit` of one server: it begins at `FIRST`, and is never more than `most`.

    A `fixed` one stays as it is.
    """

    def __init__(self, most: int, fixed: int | None = None) -> None:
        self.most = most
        self.fixed = fixed
        self.limit = fixed or min(FIRST, most)
        self._before = 0.0  # the rate at half the limit, 0 where nothing is being tried
        self._answers = 0
        self._began: float | None = None
        self._calm = 0

    def answered(self, now: float) -> None:
        """An answer came, at so many seconds of some clock."""
        if self.fixed:
            return
        if self._began is None:
            self._began = now
            return
        self._answers += 1
        if self._answers >= max(FEWEST, 2 * self.limit) and now > self._began:
            self._judge(self._answers / (now - self._began))

    def busy(self) -> None:
        """The server could not take so many."""
        if not self.fixed:
            self._settle(max(self.limit // 2, 1))

    def _judge(self, rate: float) -> None:
        """A span is over: is it worth to ask more at once?"""
        if self._before and rate < BETTER * self._before:
            self._settle(self.limit // 2)
        elif self._calm:
            self._calm -= 1
            self._begin_span()
        else:
            self._try_more(rate)

    def _try_more(self, rate: float) -> None:
        more = min(2 * self.limit, self.most)
        self._before = rate if more == 2 * self.limit else 0.0
        self.limit = more
        self._begin_span()

    def _settle(self, limit: int) -> None:
        self.limit = limit
        self._before = 0.0
        self._calm = CALM
        self._begin_span()

    def _begin_span(self) -> None:
        self._answers = 0
        self._began = None
