"""Limits for what a server sends: a deadline for the whole reply, and a largest size.

A reply that never ends must neither be waited for without an end nor fill the memory.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from azent.errors import ModelError

if TYPE_CHECKING:
    import httpx

SHORTEST_WAIT = 0.001  # seconds; some libraries take 0 for no limit
MAX_PART = 4 * 1024 * 1024  # bytes of one line, or of one server-sent event
MAX_REPLY = 64 * 1024 * 1024  # bytes of a whole reply
UNCOMPRESSED = {"accept-encoding": "identity"}  # a few compressed bytes can become gigabytes


class Deadline:
    """The time by which a reply must be complete: some seconds from now, or never.

    An HTTP client has a limit for each read, and none for all of them. So a watched connection is
    shut down when the time is up, which wakes the thread that reads from it.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def left(self) -> float | None:
        """Return the seconds that are left, at least a moment; None for no limit."""
        return None if self._end is None else max(self._end - time.monotonic(), SHORTEST_WAIT)

    def at_most(self, seconds: float) -> float:
        """Return so many seconds, or what is left if that is less."""
        left = self.left()
        return seconds if left is None else min(seconds, left)

    def is_over(self) -> bool:
        """Return whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end

    def watch(self, response: httpx.Response) -> None:
        """Shut down the connection of a response when the time is up."""
        left = self.left()
        stream = response.extensions.get("network_stream")
        if left is None or stream is None:
            return
        connection = stream.get_extra_info("socket")
        self._timer = threading.Timer(min(left, threading.TIMEOUT_MAX), _shut_down, [connection])
        self._timer.daemon = True
        self._timer.start()


def _shut_down(connection: Any) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


async def next_part(parts: AsyncIterator[Any], deadline: Deadline) -> Any:
    """Return the next part of a stream, None at its end. Raises TimeoutError at the deadline."""
    async with asyncio.timeout(deadline.left()):
        return await anext(parts, None)


# ---- sizes ---------------------------------------------------------------------------------------


def limit_size(response: Any, part_end: bytes = b"\n") -> None:
    """Limit the size of a response, whose parts end in `part_end`; a hook of HTTP clients.

    Clients keep a line until it is complete, and a page until it is read, so both are counted as
    they come from the network. Reading beyond a limit raises ModelError, and so does a compressed
    answer.
    """
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise ModelError(f"the model's server sent a reply compressed by {encoding[:40]!r}")
    library = type(response).__module__.partition(".")[0]
    response.stream = _stream_type(library)(response.stream, _Counter(part_end))


async def limit_size_async(response: Any, part_end: bytes = b"\n") -> None:
    """Limit the size of a response; a hook of asynchronous HTTP clients."""
    limit_size(response, part_end)


class _Counter:
    """Counts the bytes of a reply, and those since the end of its last complete part."""

    def __init__(self, part_end: bytes) -> None:
        self.part_end = part_end
        self.total = 0
        self.part = 0
        self._last = b""

    def add(self, piece: bytes) -> bytes:
        """Count a piece and return it. Raises ModelError beyond a limit."""
        seen = self._last + piece.replace(b"\r", b"")
        end = seen.rfind(self.part_end)
        self.total += len(piece)
        self.part = self.part + len(piece) if end < 0 else len(seen) - end - len(self.part_end)
        self._last = seen[-1:]
        if self.part > MAX_PART:
            raise ModelError(f"the model's server sent a line of more than {MAX_PART:,} bytes")
        if self.total > MAX_REPLY:
            raise ModelError(f"the model's server sent more than {MAX_REPLY:,} bytes")
        return piece


@cache
def _stream_type(library: str) -> Any:
    """Return a counting stream for responses of httpx, or of httpx2, which OpenAI's client uses."""
    http = importlib.import_module(library)

    class Counted(http.SyncByteStream, http.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, counter: _Counter) -> None:
            self.stream = stream
            self.counter = counter

        def __iter__(self) -> Iterator[bytes]:
            return map(self.counter.add, self.stream)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self.stream:
                yield self.counter.add(piece)

        def close(self) -> None:
            self.stream.close()

        async def aclose(self) -> None:
            await self.stream.aclose()

    return Counted
