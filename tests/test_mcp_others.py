"""Tools of MCP servers that are not azent's: what they may say, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import mcp
import pytest
from mcp import types
from mcp.server.lowlevel import Server

import azent
from azent.mcp import Connection
from tests.serving import calls_text, script
from tests.test_mcp import run

Answer = Callable[[str, dict[str, Any]], types.CallToolResult]


def server_with(tools: Sequence[types.Tool], answer: Answer) -> Server[Any]:
    """A server of the SDK's, one tool to a page."""

    async def list_tools(context: Any, asked: Any) -> types.ListToolsResult:
        at = int((asked and asked.cursor) or 0)
        more = str(at + 1) if at + 1 < len(tools) else None
        return types.ListToolsResult(tools=list(tools[at : at + 1]), next_cursor=more)

    async def call_tool(context: Any, asked: Any) -> types.CallToolResult:
        return answer(asked.name, asked.arguments or {})

    return Server("other server!", on_list_tools=list_tools, on_call_tool=call_tool)


def tool(name: str, **schema: Any) -> types.Tool:
    return types.Tool(name=name, description=name, input_schema={"type": "object", **schema})


IMAGE = types.ImageContent(data="aGVsbG8=", mime_type="image/png")
LINK = types.ResourceLink(name="file", uri="file:///x")
DATA = types.BlobResourceContents(uri="file:///y", blob="aGVsbG8=")
FILE = types.TextResourceContents(uri="file:///x", text="in it")
BLOCKS: list[tuple[list[Any], Any, str]] = [
    ([types.TextContent(text="one"), types.TextContent(text="two")], None, "one\ntwo"),
    ([], {"a": [1]}, '{"a": [1]}'),
    ([IMAGE], None, "(image of image/png, 6 bytes)"),
    ([LINK], None, "(file: file:///x)"),
    ([types.EmbeddedResource(resource=FILE)], None, "in it"),
    ([types.EmbeddedResource(resource=DATA)], None, "(a file: file:///y)"),
]


@pytest.mark.parametrize(("content", "structured", "text"), BLOCKS, ids=lambda one: str(one)[:20])
def test_every_kind_of_content_becomes_text(content: Any, structured: Any, text: str) -> None:
    result = types.CallToolResult(content=content, structured_content=structured)
    server = server_with([tool("f")], lambda name, given: result)
    with Connection(server, "in this process", report=pytest.fail) as connection:
        assert connection.name == "other_server"
        assert run(connection, "f").text == text


def test_lists_are_read_page_by_page_and_names_made_plain() -> None:
    tools = [tool("a"), tool("b.c/d"), tool("e")]
    echo = types.CallToolResult(content=[])
    server = server_with(tools, lambda name, given: echo)
    with Connection(server, "here", "s") as connection:
        assert [t.name for t in connection.tools] == ["s_a", "s_b_c_d", "s_e"]


def test_a_tool_with_a_broken_schema_is_left_out_with_a_word() -> None:
    reports: list[str] = []
    broken = tool("bad", properties={"x": {"type": "nonsense"}})
    server = server_with(
        [broken, tool("good")], lambda name, given: types.CallToolResult(content=[])
    )
    with Connection(server, "here", "s", report=reports.append) as connection:
        assert [t.name for t in connection.tools] == ["s_good"]
    assert "'s_bad'" in reports[0]


def test_patterns_of_a_server_are_not_evaluated() -> None:
    evil = tool("f", properties={"x": {"type": "string", "pattern": "^(a+)+$"}})
    said = types.CallToolResult(content=[types.TextContent(text="fine")])
    server = server_with([evil], lambda name, given: said)
    with Connection(server, "here", "s") as connection:
        model = script(calls_text(("s_f", {"x": "a" * 40 + "!"})), calls_text(), "Done.")
        answer = asyncio.run(azent.Agent(model, connection.tools).aask("?"))
        assert run(connection, "f", x="a" * 40 + "!").text == "fine"
    assert [result.text for result in answer.results] == ["fine"]


def test_an_error_of_the_protocol_is_a_failed_call() -> None:
    def refuse(name: str, given: dict[str, Any]) -> types.CallToolResult:
        raise mcp.MCPError(-32602, "no such thing")

    with Connection(server_with([tool("f")], refuse), "here", "s") as connection:
        result = run(connection, "f")
    assert (result.ok, result.text) == (False, "no such thing")
