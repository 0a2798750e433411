"""Serve a toolbox to MCP clients, over standard input and output or over HTTP.

Calls are validated and run as in any toolbox. Tools with `confirm` do not run, because there is no
person to ask.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Container
from contextlib import redirect_stdout
from dataclasses import replace
from io import TextIOWrapper
from typing import Any, BinaryIO

import anyio
from mcp import stdio_server, types
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

import azent
from azent.errors import UsageError
from azent.messages import Call, Result
from azent.runtime.toolbox import Toolbox
from azent.tools.tool import Tool

NOBODY = "this call needs a person's consent, and nobody can be asked here"


def serve_stdio(
    toolbox: Toolbox, *, allow_all: bool = False, output: BinaryIO | None = None
) -> None:
    """Serve a toolbox over standard input and output, until the client disconnects.

    `allow_all` also runs tools with `confirm`. `output` replaces standard output.
    """
    wire = TextIOWrapper(output, "utf-8") if output else None
    try:
        asyncio.run(_serve_stdio(mcp_server(toolbox, allow_all=allow_all), wire))
    finally:
        if wire:
            wire.detach()  # without closing the standard streams


def http_app(toolbox: Toolbox, *, allow_all: bool = False, guarded: bool = False) -> ASGIApp:
    """Return the ASGI application that serves a toolbox at /mcp.

    `guarded` says that the caller checks hosts and origins; otherwise only loopback is allowed.
    """
    off = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = mcp_server(toolbox, allow_all=allow_all)
    return server.streamable_http_app(transport_security=off if guarded else None)


async def _serve_stdio(server: Server[Any], wire: TextIOWrapper | None) -> None:
    stdout = anyio.wrap_file(wire) if wire else None
    async with stdio_server(stdout=stdout) as (reading, writing):
        with redirect_stdout(sys.stderr):  # what tools print must not wait for the wire's return
            await server.run(reading, writing, server.create_initialization_options())


def mcp_server(toolbox: Toolbox, *, allow_all: bool = False) -> Server[Any]:
    """Return the SDK's server of a toolbox."""
    if not isinstance(toolbox, Toolbox):
        raise UsageError(f"toolbox is {toolbox!r}", "Give azent.Toolbox([function, ...]).")
    forbidden = set() if allow_all else {t.name for t in toolbox if t.options.confirm}

    async def list_tools(context: Any, asked: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in toolbox])

    async def call_tool(context: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        call = Call(asked.name, dict(asked.arguments or {}))
        return _as_mcp(await _run(toolbox, call, forbidden))

    return Server(
        "azent", version=azent.__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )


async def _run(toolbox: Toolbox, call: Call, forbidden: Container[str]) -> Result:
    if call.tool in forbidden:
        return Result(call.tool, NOBODY, ok=False)
    (result,) = await asyncio.to_thread(toolbox.run, [replace(call, id="1")])
    return result


def _listed(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.options.readonly)
    return types.Tool(
        name=tool.name,
        description=tool.spec.get("description") or None,
        input_schema=dict(tool.spec["parameters"]),
        annotations=hints,
    )


def _as_mcp(result: Result) -> types.CallToolResult:
    """Return a result in MCP's form."""
    block = types.TextContent(type="text", text=result.text)
    return types.CallToolResult(content=[block], is_error=not result.ok)
