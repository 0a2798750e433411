"""How much a model's server may send: a reply that never ends must not fill the memory.

Clients of servers keep a line until it is complete, and a page until it is read. Both are counted
as they come from the network. A compressed answer is refused, as a few bytes of it can become
gigabytes; none is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any

from azent.errors import ModelError

MOST_PART = 4 * 1024 * 1024  # bytes of one line, or of one server-sent event
MOST_REPLY = 64 * 1024 * 1024  # bytes of a whole reply
HEADERS = {"accept-encoding": "identity"}


def bounded(response: Any, part_end: bytes = b"\n") -> None:
    """Limit what a response may bring; its parts are separated by `part_end`.

    This is a hook for the responses of an HTTP client. What is read beyond a limit raises
    ModelError.
    """
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise ModelError(f"the model's server sent a reply compressed by {encoding[:40]!r}")
    library = type(response).__module__.partition(".")[0]
    response.stream = _stream_type(library)(response.stream, _Count(part_end))


async def abounded(response: Any, part_end: bytes = b"\n") -> None:
    """The same as a hook for an asynchronous client."""
    bounded(response, part_end)


class _Count:
    """Counts the bytes of a reply, and those since its last complete part."""

    def __init__(self, part_end: bytes) -> None:
        self.part_end = part_end
        self.total = 0
        self.part = 0
        self._last = b""

    def add(self, piece: bytes) -> bytes:
        """Count a piece, and give it back. Raises ModelError beyond a limit."""
        seen = self._last + piece.replace(b"\r", b"")
        end = seen.rfind(self.part_end)
        self.total += len(piece)
        self.part = self.part + len(piece) if end < 0 else len(seen) - end - len(self.part_end)
        self._last = seen[-1:]
        if self.part > MOST_PART:
            raise ModelError(f"the model's server sent a line of more than {MOST_PART:,} bytes")
        if self.total > MOST_REPLY:
            raise ModelError(f"the model's server sent more than {MOST_REPLY:,} bytes")
        return piece


@cache
def _stream_type(library: str) -> Any:
    """A stream for the responses of httpx, or of httpx2, which OpenAI's client uses."""
    http = importlib.import_module(library)

    class Counted(http.SyncByteStream, http.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, count: _Count) -> None:
            self.stream = stream
            self.count = count

        def __iter__(self) -> Iterator[bytes]:
            for piece in self.stream:
                yield self.count.add(piece)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self.stream:
                yield self.count.add(piece)

        def close(self) -> None:
            self.stream.close()

        async def aclose(self) -> None:
            await self.stream.aclose()

    return Counted
