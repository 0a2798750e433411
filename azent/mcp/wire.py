"""The streams to a server, with what comes in mended before the SDK reads it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import mcp
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import JSONRPCResponse

from azent.mcp.mend import Report, mended

_SDK_LOG = logging.getLogger("mcp.client.stdio")
_NOISE = "Failed to parse JSONRPC message"
_LONGEST_LINE = 80


class Wire:
    """The transport to a server, as the SDK's client takes one: a command to run, or a URL.

    `report` is told of tools that cannot be offered, and of the first line that is no message.
    """

    def __init__(self, target: mcp.StdioServerParameters | str, report: Report) -> None:
        self._streams: AbstractAsyncContextManager[tuple[Any, Any]] = (
            streamable_http_client(target) if isinstance(target, str) else stdio_client(target)
        )
        self._report = report
        self._is_loud = _loud_elsewhere(-1)

    async def __aenter__(self) -> tuple[Any, Any]:
        self._is_loud = _loud_elsewhere(threading.get_ident())
        _SDK_LOG.addFilter(self._is_loud)
        reading, writing = await self._streams.__aenter__()
        return _Reading(reading, self._report), writing

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        _SDK_LOG.removeFilter(self._is_loud)
        return await self._streams.__aexit__(kind, error, trace)


def _loud_elsewhere(thread: int) -> Callable[[logging.LogRecord], bool]:
    """A filter of the SDK's log: lines of noise are reported once, not logged with a traceback.

    It holds for the thread of azent's own sessions alone.
    """
    return lambda record: record.thread != thread or _NOISE not in record.getMessage()


class _Reading:
    """A stream of messages without what is none, their results mended."""

    def __init__(self, stream: Any, report: Report) -> None:
        self._stream = stream
        self._report = report
        self._has_noise = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while isinstance(item := await self._stream.__anext__(), Exception):
            self._tell(item)
        return self._mended(item)

    async def receive(self) -> Any:
        while isinstance(item := await self._stream.receive(), Exception):
            self._tell(item)
        return self._mended(item)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def _mended(self, item: Any) -> Any:
        if isinstance(item.message, JSONRPCResponse):
            item.message.result = dict(mended(item.message.result, self._report))
        return item

    def _tell(self, error: Exception) -> None:
        if not self._has_noise:
            self._has_noise = True
            line = _line_of(error)[:_LONGEST_LINE]
            self._report(f"it sends what is no message of the protocol, such as {line!r}")


def _line_of(error: Exception) -> str:
    """The line that could not be read, which pydantic's error holds."""
    errors: list[dict[str, Any]] = getattr(error, "errors", list)()
    given = errors[0].get("input") if errors else None
    return given if isinstance(given, str) else str(error)
