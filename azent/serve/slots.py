"""Who is at work and who waits: a bounded queue before the models.

A client that finds the queue full is told when to come back, at once, in place of waiting for a
reply that it would no longer want.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from azent.errors import RequestRefused
from azent.wording import counted

LONGEST_WAIT = 60  # seconds that a client is told to wait at most
WEIGHT = 0.2  # of the newest reply in the average of how long replies take


class Slots:
    """`parallel` requests at work at once, and `waiting` more that wait for their turn."""

    def __init__(self, parallel: int, waiting: int) -> None:
        self.parallel = parallel
        self.most_waiting = waiting
        self.at_work = 0
        self.waiting = 0
        self._free = asyncio.Semaphore(parallel)
        self._average = 1.0  # seconds that a reply takes

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """A slot, for as long as the context lasts. Raises RequestRefused (429) when full."""
        if self._free.locked() and self.waiting >= self.most_waiting:
            raise RequestRefused(
                f"{counted(self.at_work, 'request')} at work, {self.waiting} waiting",
                "Come back later.",
                status=429,
                retry_after=self.retry_after(),
            )
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.at_work += 1
        began = time.monotonic()
        try:
            yield
        finally:
            self.at_work -= 1
            self._free.release()
            self._average += WEIGHT * (time.monotonic() - began - self._average)

    def retry_after(self) -> int:
        """The seconds after which a slot should be free, for all that one can know."""
        rounds = (self.waiting + 1) / self.parallel
        return min(max(math.ceil(rounds * self._average), 1), LONGEST_WAIT)
