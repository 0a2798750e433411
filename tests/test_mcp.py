"""MCP in both directions, with the official SDK at the other end of each."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp import types
from starlette.types import ASGIApp

import azent
from azent.errors import AzentError, ToolServerError
from azent.mcp import Connection, connect, http_app
from azent.mcp.server import mcp_server
from azent.messages import Call, Result
from azent.serve import Options, listen
from azent.serve.run import server_of
from tests.mcp_tools import TOOLS
from tests.serving import calls_text, wait_until

ROOT = Path(__file__).resolve().parent.parent
COMMAND = f"{shlex.quote(sys.executable)} -m tests.mcp_tools"
ENV = {"PYTHONPATH": str(ROOT)}


@contextmanager
def serving_http(app: ASGIApp) -> Iterator[str]:
    """The URL of an application that runs in a thread."""
    server = server_of(app, Options(grace=1))
    with listen(Options(port=0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        server.should_exit = True
        thread.join(10)


def run(connection: Connection, tool: str, /, **tool_input: Any) -> Result:
    """The result of one call of a tool of a connection."""
    box = azent.Toolbox(connection.tools)
    (result,) = box.run([Call(f"{connection.name}_{tool}", tool_input)])
    return result


# ---- a toolbox for other clients -----------------------------------------------------------------


async def look_around(client: mcp.Client) -> None:
    """What the official client sees of the tools, and what becomes of its calls."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == [function.__name__ for function in TOOLS]
    add = tools["add"]
    assert add.description == "Add two numbers."
    assert add.input_schema["required"] == ["a"]
    assert add.input_schema["properties"]["b"]["description"] == "the other number"
    assert add.annotations is not None
    assert add.annotations.read_only_hint is True
    for name, given, text, is_error in CALLS:
        result = await client.call_tool(name, given)
        assert isinstance(result.content[0], types.TextContent)
        assert text in result.content[0].text
        assert result.is_error is is_error


CALLS: list[tuple[str, dict[str, Any], str, bool]] = [
    ("add", {"a": 2, "b": 3}, "5", False),
    ("add", {"a": 2}, "3", False),
    ("add", {"a": "2"}, "3", False),
    ("add", {"a": "two"}, "not an integer", True),
    ("add", {}, "'a'", True),
    ("slow", {"seconds": 0.01}, "after 0.01 s", False),
    ("fail", {}, "ValueError: it went wrong", True),
    ("launch", {}, "consent", True),
    ("nothing", {}, "no tool 'nothing'", True),
]


def test_the_official_client_over_standard_input_and_output() -> None:
    python, *arguments = shlex.split(COMMAND)
    target = mcp.StdioServerParameters(command=python, args=arguments, env=ENV, cwd=ROOT)
    asyncio.run(within(mcp.Client(target), look_around))


def test_what_tools_print_does_not_reach_the_wire() -> None:
    python, *arguments = shlex.split(COMMAND)
    said: list[dict[str, Any]] = [
        {"method": "initialize", "id": 1, "params": HELLO},
        {"method": "notifications/initialized"},
        {"method": "tools/call", "id": 2, "params": {"name": "add", "arguments": {"a": 1}}},
    ]
    process = subprocess.Popen(
        [python, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ENV},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for each in said:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    out, err = process.communicate(timeout=20)
    assert answers[1]["result"]["content"][0]["text"] == "2"
    assert out == b""
    assert b"not part of the protocol" in err


def test_the_official_client_over_http() -> None:
    with serving_http(http_app(azent.Toolbox(TOOLS))) as url:
        asyncio.run(within(mcp.Client(url), look_around))


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


async def within(client: mcp.Client, look: Callable[[mcp.Client], Awaitable[None]]) -> None:
    async with client:
        await look(client)


def test_what_needs_a_consent_runs_where_all_is_allowed() -> None:
    async def look(client: mcp.Client) -> None:
        result = await client.call_tool("launch", {})
        assert isinstance(result.content[0], types.TextContent)
        assert result.content[0].text == "launched"

    asyncio.run(within(mcp.Client(mcp_server(azent.Toolbox(TOOLS), allow_all=True)), look))


# ---- tools of other servers ----------------------------------------------------------------------


def test_tools_of_a_server_answer_a_question() -> None:
    script_of = [calls_text(("azent_add", {"a": 2, "b": 3})), calls_text(), "It is 5."]
    with connect(COMMAND, env=ENV) as server:
        model = azent.Scripted(*script_of)
        answer = azent.Agent(model, server.tools).ask("What is 2 + 3?")
        again = asyncio.run(azent.Agent(azent.Scripted(*script_of), server.tools).aask("?"))
    assert (answer.text, [result.text for result in answer.results]) == ("It is 5.", ["5"])
    assert again.results == answer.results
    assert "the other number" in model.heard[0].messages[0]["content"]


@pytest.mark.parametrize("trust", [False, True])
def test_a_servers_word_that_a_tool_changes_nothing_counts_with_trust_only(trust: bool) -> None:
    with connect(COMMAND, env=ENV, trust=trust, name="mine") as server:
        readonly = {tool.name: tool.options.readonly for tool in server.tools}
    assert readonly["mine_add"] is trust
    assert readonly["mine_fail"] is False


def test_a_connection_can_be_entered_on_a_loop() -> None:
    async def ask() -> azent.Answer:
        async with connect(COMMAND, env=ENV, name="sums") as server:
            made = calls_text(("sums_add", {"a": 2, "b": 3}))
            model = azent.Scripted(made, calls_text(), "It is 5.")
            return await azent.Agent(model, server.tools).aask("?")

    assert [result.text for result in asyncio.run(ask()).results] == ["5"]


def test_names_are_kept_apart_by_server() -> None:
    with connect(COMMAND, env=ENV, name="one") as one, connect(COMMAND, env=ENV, name="two") as two:
        box = azent.Toolbox([*one.tools, *two.tools])
    assert {"one_add", "two_add"} <= set(box.specs)


def test_failures_are_told_to_the_model() -> None:
    with connect(COMMAND, env=ENV) as server:
        result = run(server, "fail")
        wrong = run(server, "add", a="two")
    assert (result.ok, result.text) == (False, "ValueError: it went wrong")
    assert wrong.problem is not None
    assert wrong.problem.kind == "invalid_argument"


def test_a_server_that_dies_is_started_again_once(tmp_path: Path) -> None:
    reports: list[str] = []
    starts = tmp_path / "starts"
    with connect(f"{COMMAND} {starts}", env=ENV, report=reports.append) as server:
        assert "not known" in run(server, "die").text
        assert run(server, "add", a=1).text == "2"
        assert "died again" in run(server, "die").text
        assert "not running" in run(server, "add", a=1).text
    assert len(starts.read_text().splitlines()) == 2
    assert [("again, and is left" in report) for report in reports] == [False, True]


@pytest.mark.parametrize(("trust", "text"), [(True, "alive"), (False, "not known")])
def test_only_what_changes_nothing_is_called_again(tmp_path: Path, trust: bool, text: str) -> None:
    with connect(COMMAND, env=ENV, trust=trust, report=lambda report: None) as server:
        assert text in run(server, "die_once", marker=str(tmp_path / "marker")).text


@pytest.mark.parametrize(
    "address",
    ["no-such-command", f"{shlex.quote(sys.executable)} -c 1", "http://127.0.0.1:9/mcp", "'", ""],
)
def test_a_server_that_does_not_start_is_an_error_in_words(address: str) -> None:
    with pytest.raises(AzentError) as caught, connect(address):
        pass
    assert caught.value.hint


LISTLESS = """
import asyncio, os, sys
from mcp import stdio_server
from mcp.server.lowlevel import Server

async def main():
    server = Server("listless")
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

open(sys.argv[1], "w").write(str(os.getpid()))
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="looks for the process by a signal")
def test_a_server_whose_tools_cannot_be_had_is_ended(tmp_path: Path) -> None:
    script, file = tmp_path / "listless.py", tmp_path / "pid"
    script.write_text(LISTLESS, "utf-8")
    command = shlex.join([sys.executable, str(script), str(file)])
    with pytest.raises(ToolServerError, match="lists no tools"), connect(command):
        pass
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)
