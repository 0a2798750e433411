"""Rewrite the answers of MCP servers into forms that the SDK accepts.

The SDK rejects a whole list for one invalid tool, and a whole result for one invalid part. So lists
keep the valid tools, and results keep their text.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import mcp
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import JSONRPCResponse

from azent.errors import SchemaError
from azent.schema.drafts import foreign_parameters

Report = Callable[[str], None]

_SDK_LOG = logging.getLogger("mcp.client.stdio")
_NOISE = "Failed to parse JSONRPC message"
_LONGEST_LINE = 80


class Wire:
    """A transport for the SDK's client to a server, which is a command to run or a URL.

    `report` is called for each tool that cannot be offered, and for the first invalid line.
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
    """Return a filter of the SDK's log that drops tracebacks of invalid lines in this thread."""
    return lambda record: record.thread != thread or _NOISE not in record.getMessage()


class _Reading:
    """A stream of messages without invalid lines, with rewritten results."""

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
    """Return the invalid line, which pydantic's error contains."""
    errors: list[dict[str, Any]] = getattr(error, "errors", list)()
    given = errors[0].get("input") if errors else None
    return given if isinstance(given, str) else str(error)


# ---- answers in forms that the SDK accepts -------------------------------------------------------


_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# The required fields of each kind of content, beside its type.
_CONTENT: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"name": str, "uri": str},
    "resource": {"resource": dict},
}


_OF_CALLS = {"content", "structuredContent", "isError", "toolResult"}  # the last is of 2024


def mended(result: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
    """Return a server's answer, rewritten; `report` is called for tools that cannot be offered."""
    if "tools" in result:
        return _listing(result, report)
    return _call_result(result) if _OF_CALLS & result.keys() else result


# ---- lists of tools ------------------------------------------------------------------------------


def _listing(result: Mapping[str, Any], report: Report) -> dict[str, Any]:
    listed = result["tools"] if isinstance(result["tools"], list) else []
    tools = [tool for tool in (_tool(each, report) for each in listed) if tool is not None]
    cursor = result.get("nextCursor")
    rest = {key: value for key, value in result.items() if key not in ("tools", "nextCursor")}
    return {**rest, "tools": tools, **({"nextCursor": cursor} if isinstance(cursor, str) else {})}


def _tool(listed: Any, report: Report) -> dict[str, Any] | None:
    """Return the fields of a tool that azent needs; report one that cannot be offered as None.

    `outputSchema` is left out, because the SDK would reject results that violate it.
    """
    name = listed.get("name") if isinstance(listed, dict) else None
    if not isinstance(name, str):
        report("a tool without a name is not offered")
        return None
    try:
        parameters = foreign_parameters(name, listed.get("inputSchema"))
    except SchemaError as error:
        report(f"{error}; the tool is not offered")
        return None
    texts = {key: listed[key] for key in ("title", "description") if _is_text(listed.get(key))}
    hints = listed.get("annotations")
    known = hints if isinstance(hints, dict) else {}
    annotations = {key: known[key] for key in _HINTS if isinstance(known.get(key), bool)}
    return {"name": name, **texts, "inputSchema": parameters, "annotations": annotations}


# ---- results of calls ----------------------------------------------------------------------------


def _call_result(result: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in result.items() if key not in ("_meta", "toolResult")}
    content = result.get("content", result.get("toolResult"))
    made["content"] = [_block(each) for each in _blocks(content)]
    structured = made.pop("structuredContent", None)
    if structured is not None:
        is_object = isinstance(structured, dict)
        made["structuredContent"] = structured if is_object else {"result": structured}
    if "isError" in made:
        made["isError"] = made["isError"] not in (None, 0, "", "false", "False")
    return made


def _blocks(content: Any) -> Iterator[Any]:
    if isinstance(content, list):
        yield from content
    elif content is not None:
        yield content


def _block(content: Any) -> dict[str, Any]:
    """Return one part of a result; an unknown kind of content becomes text."""
    if not isinstance(content, dict):
        return {"type": "text", "text": content if _is_text(content) else _written(content)}
    needed = _CONTENT.get(str(content.get("type")), {})
    given = {**content, "mimeType": content.get("mimeType") or "application/octet-stream"}
    inner = content.get("resource")
    if isinstance(inner, dict) and not _is_text(inner.get("uri")) and _is_text(inner.get("text")):
        return {"type": "text", "text": inner["text"]}
    if needed and all(isinstance(given.get(key), kind) for key, kind in needed.items()):
        return {"type": content["type"], **{key: given[key] for key in needed}}
    text = content.get("text")
    return {"type": "text", "text": text if _is_text(text) else _written(content)}


def _written(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
