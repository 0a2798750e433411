"""Use the tools of MCP servers, and serve tools to MCP clients, with the official SDK.

with connect("uvx some-server") as server:      a command, or a URL
    azent.Agent(model, server.tools)

serve_stdio(toolbox)                            over standard input and output
http_app(toolbox)                               an application for any ASGI server
"""

from __future__ import annotations

from azent.mcp.client import Connection, connect
from azent.mcp.server import http_app, serve_stdio

__all__ = ["Connection", "connect", "http_app", "serve_stdio"]
