"""Trying again what may pass, as long as nobody has seen a piece of the reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from azent.errors import ModelError
from azent.messages import Delta, End
from azent.models.limit import Limit
from azent.models.trouble import may_pass

Piece = TypeVar("Piece")
Once: TypeAlias = Callable[[], Generator[Piece, None, None]]
AsyncOnce: TypeAlias = Callable[[], AsyncGenerator[Delta | End, None]]


@dataclass(frozen=True, slots=True)
class Patience:
    """How many more tries, and the seconds before the first of them, then twice that, and so on."""

    retries: int
    wait: float

    def next_wait(self, error: ModelError, attempt: int, began: bool) -> float:
        """The seconds before another try; raises the error where there is to be none."""
        if began or attempt >= self.retries or not may_pass(error):
            raise error
        return float(self.wait * 2**attempt)


def patiently(once: Once[Piece], patience: Patience, limit: Limit) -> Generator[Piece, None, None]:
    """The pieces of the first try that succeeds, or has begun. Raises what the last one raised."""
    for attempt in range(patience.retries + 1):
        began = False
        try:
            with closing(once()) as pieces:
                for piece in pieces:
                    began = True
                    yield piece
            return
        except ModelError as error:
            wait = patience.next_wait(error, attempt, began)
        time.sleep(limit.at_most(wait))


async def apatiently(
    once: AsyncOnce, patience: Patience, limit: Limit
) -> AsyncGenerator[Delta | End, None]:
    """The asynchronous twin of `patiently`."""
    for attempt in range(patience.retries + 1):
        began = False
        try:
            async with aclosing(once()) as pieces:
                async for piece in pieces:
                    began = True
                    yield piece
            return
        except ModelError as error:
            wait = patience.next_wait(error, attempt, began)
        await asyncio.sleep(limit.at_most(wait))
