"""Connect to MCP servers and make their tools Tools, named after the server.

A server is not trusted: its schemas' patterns are not evaluated, and its `readOnlyHint` counts only
if the user trusts it. A server that dies is restarted once; the call in progress is not repeated.
Sessions run on azent's background loop, so that calls can come from any thread or event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import shlex
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import mcp
from mcp import types
from mcp.types import CONNECTION_CLOSED

from azent.errors import SchemaError, ToolFailed, ToolServerError, UsageError, reason_of
from azent.mcp.wire import Report, Wire
from azent.runtime.concurrency import background_loop
from azent.schema.drafts import foreign_parameters
from azent.schema.introspect import introspect
from azent.tools.tool import Options, Tool
from azent.values.arguments import named, seconds, text

START_SECONDS = 30.0
CALL_SECONDS = 300.0
MOST_PAGES = 100  # of a list of tools, which may have no end
RESTARTS = 1

_logger = logging.getLogger("azent")


def connect(
    address: str,
    *,
    name: str | None = None,
    trust: bool = False,
    env: Mapping[str, str] | None = None,
    timeout: float = CALL_SECONDS,
    report: Report = _logger.warning,
) -> Connection:
    """Return a connection to an MCP server, opened when it is entered.

    - `address`: a command with its arguments, or a URL.
    - `name`: the prefix of its tools' names; by default the server's own name.
    - `trust`: believe the server which tools are readonly.
    - `env`: variables for the command, added to the few that it gets anyway.
    - `timeout`: the most seconds for one call.
    - `report`: called with each problem outside of calls.
    """
    given = _target(text("address", address), named("env", env))
    return Connection(given, address, name, trust, seconds("timeout", timeout), report)


class Connection:
    """An MCP server and its `tools`, started by `with` or `async with` and stopped at the end."""

    def __init__(
        self,
        target: Any,
        address: str,
        name: str | None = None,
        trust: bool = False,
        timeout: float = CALL_SECONDS,
        report: Report = _logger.warning,
    ) -> None:
        self.address = address
        self.name = name or ""
        self.tools: tuple[Tool, ...] = ()
        self._target = target
        self._trust = trust
        self._timeout = timeout
        self._report = report
        self._restarts = RESTARTS
        self._session: _Session | None = None
        self._reported: set[str] = set()
        self._loop = background_loop()

    def __enter__(self) -> Self:
        """Start the server and ask for its tools. Raises ToolServerError."""
        self._begun(self._open()).result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._begun(self._close()).result()

    async def __aenter__(self) -> Self:
        await self._awaited(self._open())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._awaited(self._close())

    async def _open(self) -> None:
        self._session = await self._begun_session()
        try:
            await self._look_at(self._session.client)
        except BaseException:
            await self._close()  # `__exit__` is not called after an error in `__enter__`
            raise

    async def _begun_session(self) -> _Session:
        return await _Session.opened(self._target, self.address, self._timeout, self._tell_once)

    def _tell_once(self, message: str) -> None:
        """Report a message, unless it was reported before a restart."""
        if message not in self._reported:
            self._reported.add(message)
            self._report(f"the MCP server {self.address!r}: {message}")

    async def _look_at(self, client: mcp.Client) -> None:
        """Set the name of the server and its tools."""
        own = client.server_info.name if client.server_info else ""
        self.name = self.name or _identifier(own or Path(self.address.split()[0]).stem)
        listed = await _listed(client, self.address, self._tell_once)
        names = _names([f"{self.name}_{_words(tool.name, 'tool')}" for tool in listed])
        self.tools = tuple(filter(None, map(self._tool, names, listed)))

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _begun(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine on the loop of the session."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _awaited(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return await asyncio.wrap_future(self._begun(coroutine))

    # ---- tools -----------------------------------------------------------------------------------

    def _tool(self, name: str, listed: mcp.types.Tool) -> Tool | None:
        """Return a listed tool under the name that models see; report one that is unfit as None.

        `Wire` leaves such tools out too, but a server in this process is reached without one.
        """
        try:
            parameters = foreign_parameters(name, listed.input_schema)
        except SchemaError as error:
            self._tell_once(f"{error}; the tool is not offered")
            return None
        hints = listed.annotations
        readonly = self._trust and bool(hints and hints.read_only_hint)
        function = self._function(listed.name, readonly)
        about = listed.description or listed.title or ""
        spec = {"name": name, "description": about, "parameters": parameters}
        found = introspect(function, name=name, description=about or name)
        return Tool(name, spec, function, found, Options(readonly=readonly), trusted=False)

    def _function(self, tool: str, readonly: bool) -> Callable[..., Any]:
        async def call(**arguments: Any) -> str:
            return str(await self._awaited(self._call(tool, arguments, again=readonly)))

        return call

    async def _call(self, tool: str, arguments: dict[str, Any], *, again: bool) -> str:
        session = self._session
        if session is None:
            raise ToolFailed(f"the MCP server {self.name!r} is not running")
        try:
            result = await session.client.call_tool(tool, arguments)
        except mcp.MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise ToolFailed(str(error)) from error
            await self._restart(session)
            if again:
                return await self._call(tool, arguments, again=False)
            raise ToolFailed(
                f"the MCP server {self.name!r} died during this call and was started again; "
                "whether the call took effect is not known"
            ) from error
        except (ValueError, RuntimeError) as error:  # the result violates the protocol
            message = f"the MCP server {self.name!r} gave a result that cannot be read: {error}"
            raise ToolFailed(message) from error
        if result.is_error:
            raise ToolFailed(_text_of(result))
        return _text_of(result)

    async def _restart(self, dead: _Session) -> None:
        """Restart a server that died, unless another call did. Raises ToolFailed."""
        async with dead.ending:
            if self._session is not dead:
                return
            await self._close()
            if not self._restarts:
                self._report(f"the MCP server {self.name!r} died again, and is left alone")
                raise ToolFailed(f"the MCP server {self.name!r} died again")
            self._restarts -= 1
            self._report(f"the MCP server {self.name!r} died and is started again")
            try:
                self._session = await self._begun_session()
            except ToolServerError as error:
                raise ToolFailed(str(error)) from error


class _Session:
    """A session with a server, in a task of its own, as the SDK requires."""

    def __init__(self, target: Any, timeout: float, report: Report) -> None:
        has_wire = isinstance(target, str | mcp.StdioServerParameters)
        reached = Wire(target, report) if has_wire else target
        self.client = mcp.Client(reached, read_timeout_seconds=timeout)
        self.ending = asyncio.Lock()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._live())

    @classmethod
    async def opened(cls, target: Any, address: str, timeout: float, report: Report) -> _Session:
        """Return an initialised session. Raises ToolServerError."""
        session = cls(target, timeout, report)
        try:
            async with asyncio.timeout(START_SECONDS):
                await session._ready
        except Exception as error:
            await session.close()
            hint = "Run the command, or open the URL, by itself: what does it say?"
            message = f"the MCP server {address!r} does not start: {_reason(error)}"
            raise ToolServerError(message, hint) from error
        return session

    async def close(self) -> None:
        self._over.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _live(self) -> None:
        try:
            async with self.client:
                self._ready.set_result(None)
                await self._over.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                return
            raise


# ---- results of calls ----------------------------------------------------------------------------


def _text_of(result: types.CallToolResult) -> str:
    """Return a result's text, with its value if the text lacks it; other parts are named."""
    parts = [part for part in map(_part, result.content) if part]
    value = result.structured_content
    if (value or not parts) and value is not None and not _says(parts, value):
        parts.append(json.dumps(value, ensure_ascii=False))
    return "\n".join(parts)


def _says(parts: list[str], value: Any) -> bool:
    """Return whether the text parts contain the value already, as the protocol recommends.

    Servers wrap other values than objects in {"result": value}, and write a list item by item.
    """
    read = [_read(part) for part in parts]
    inner = value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value
    is_list = isinstance(inner, list) and bool(parts) and inner in (read, parts)
    return is_list or value in read or inner in read or inner in parts


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _part(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ResourceLink):
        return f"({block.name}: {block.uri})"
    if isinstance(block, types.EmbeddedResource):
        return _resource(block.resource)
    return f"({block.type} of {block.mime_type}, {len(block.data) * 3 // 4:,} bytes)"


def _resource(resource: types.ResourceContents) -> str:
    if isinstance(resource, types.TextResourceContents):
        return resource.text
    return f"({resource.mime_type or 'a file'}: {resource.uri})"


# ---- names and addresses -------------------------------------------------------------------------


async def _listed(client: mcp.Client, address: str, report: Report) -> list[mcp.types.Tool]:
    """Read the tools of a server, page by page, each name once. Raises ToolServerError."""
    tools: dict[str, mcp.types.Tool] = {}
    cursor = None
    for _ in range(MOST_PAGES):
        try:
            page = await client.list_tools(cursor=cursor)
        except (mcp.MCPError, ValueError) as error:
            if tools:
                report(f"some of its tools are missing: {error}")
                break
            message = f"the MCP server {address!r} lists no tools: {error}"
            raise ToolServerError(message, "Leave it out, or name one that has tools.") from error
        for tool in page.tools:
            tools.setdefault(tool.name, tool)
        cursor = page.next_cursor
        if not cursor:
            break
    return list(tools.values())


def _names(wanted: list[str]) -> list[str]:
    """Return the names, with a number appended to repeated ones."""
    names: list[str] = []
    for name in wanted:
        others = (f"{name}_{number}" for number in itertools.count(2))
        free = (each for each in itertools.chain([name], others) if each not in names)
        names.append(next(free))
    return names


def _target(address: str, env: Mapping[str, str]) -> Any:
    """Return what the SDK connects to: the URL, or the parameters of the command."""
    if address.startswith(("http://", "https://")):
        return address
    hint = "Give a command, or a URL that begins with http:// or https://."
    try:
        words = shlex.split(address)
    except ValueError as error:
        raise UsageError(f"{address!r} is no MCP server: {error}", hint) from error
    if not words:
        raise UsageError(f"{address!r} is no MCP server", hint)
    return mcp.StdioServerParameters(
        command=words[0],
        args=words[1:],
        env=dict(env) or None,
        encoding_error_handler="replace",  # invalid lines may have any encoding
    )


def _identifier(name: str) -> str:
    """Return a server's name as a prefix of tool names, which cannot begin with a digit."""
    words = _words(name, "server")
    return words if words.isidentifier() else f"server_{words}"


def _words(name: str, otherwise: str) -> str:
    """Return a name reduced to letters, digits and `_`, or `otherwise` if nothing is left."""
    kept = "".join(char if f"a{char}".isidentifier() else " " for char in name)
    return "_".join(kept.split()).strip("_") or otherwise


def _reason(error: BaseException) -> str:
    """Return the reason of an error in a few words; of a group, that of its first exception."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return reason_of(error) if isinstance(error, OSError) else str(error) or type(error).__name__
