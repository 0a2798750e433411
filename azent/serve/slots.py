"""A bounded queue before the models: so many requests at work, and so many more that wait.

A client that finds the queue full is told when to come back, at once, in place of waiting for a
reply that it would no longer want.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter

from azent.errors import RequestRefused
from azent.wording import counted

LONGEST_WAIT = 60  # seconds that a client is told to wait at most
WEIGHT = 0.2  # of the newest reply in the average of how long replies take


class Slots:
    """`parallel` requests at work at once, and `waiting` more that wait for their turn."""

    def __init__(self, parallel: int, waiting: int) -> None:
        self.parallel = parallel
        self.most_waiting = waiting
        self._limiter = CapacityLimiter(parallel)
        self._average = 1.0  # seconds that a reply takes

    @property
    def at_work(self) -> int:
        return int(self._limiter.borrowed_tokens)

    @property
    def waiting(self) -> int:
        return self._limiter.statistics().tasks_waiting

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """A slot, for as long as the context lasts. Raises RequestRefused (429) when full."""
        self.check_room()
        async with self._limiter:
            began = time.monotonic()
            try:
                yield
            finally:
                self._average += WEIGHT * (time.monotonic() - began - self._average)

    def check_room(self) -> None:
        """Refuse a request that would find the queue full. Raises RequestRefused (429)."""
        if self.at_work < self.parallel or self.waiting < self.most_waiting:
            return
        raise RequestRefused(
            f"{counted(self.at_work, 'request')} at work, {self.waiting} waiting",
            "Come back later.",
            status=429,
            retry_after=self.retry_after(),
        )

    def retry_after(self) -> int:
        """Estimate the seconds after which a slot will be free."""
        rounds = (self.waiting + 1) / self.parallel
        return min(max(math.ceil(rounds * self._average), 1), LONGEST_WAIT)
