"""A model behind an HTTP server: how often it is tried, and how long it is waited for."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Any

from azent.arguments import seconds, whole
from azent.messages import Request
from azent.models.checks import seconds_or_none, verified
from azent.models.limit import Limit
from azent.models.patience import Patience


class Remote:
    """What models behind HTTP servers have in common; `azent.models.ollama.Ollama` explains it."""

    def __init__(
        self,
        *,
        retries: int,
        retry_wait: float,
        connect_timeout: float,
        first_token: float,
        reply_timeout: float | None,
        verify: bool | str | ssl.SSLContext,
    ) -> None:
        self.retries = whole("retries", retries, 0)
        self.retry_wait = seconds("retry_wait", retry_wait)
        self.connect_timeout = seconds("connect_timeout", connect_timeout)
        self.first_token = seconds("first_token", first_token)
        self.reply_timeout = seconds_or_none("reply_timeout", reply_timeout)
        self.verify = verified(verify)

    def _patience(self) -> Patience:
        return Patience(self.retries, self.retry_wait)

    def _limit(self, request: Request) -> Limit:
        limits = [each for each in (request.timeout, self.reply_timeout) if each is not None]
        return Limit(min(limits, default=None))


async def next_part(parts: AsyncIterator[Any], limit: Limit) -> Any:
    """The next part of a stream within the limit, None at its end. Raises TimeoutError."""
    async with asyncio.timeout(limit.left()):
        return await anext(parts, None)
