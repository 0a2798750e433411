"""`azent serve`, `azent mcp` and `azent ask --mcp`, as people run them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import mcp
import pytest

from azent.cli.serve import announce, warn_if_open
from azent.serve import Options, listen
from tests.asking import PATHS, USER, WEATHER, called
from tests.scripted_ollama import ScriptedOllama
from tests.serving import calls_text
from tests.test_mcp import COMMAND

ROOT = Path(__file__).resolve().parent.parent
AZENT = [sys.executable, "-m", "azent"]
TOOLS = str(ROOT / "tests" / "mcp_tools.py")
PARIS = calls_text(("get_weather", {"city": "Paris"}))


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


@contextmanager
def running(*arguments: str, **more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A command that serves, and the URL that it names; it is told to stop at the end."""
    process = subprocess.Popen(
        [*AZENT, *arguments], stderr=subprocess.PIPE, text=True, env=environment(**more)
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if match := re.search(r"http://\S+", line):
                yield match[0], process
                break
        else:
            pytest.fail("it named no address")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def ran(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [*AZENT, *arguments]
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(**more),
    )


@pytest.mark.parametrize("path", PATHS)
def test_a_model_of_ollamas_calls_tools_through_the_command(path: str) -> None:
    body = {"model": "scripted", "messages": [USER], "tools": [WEATHER], "stream": False}
    with (
        ScriptedOllama(PARIS) as ollama,
        running("serve", "-m", "scripted", "--port", "0", OLLAMA_HOST=ollama.url) as (url, _),
    ):
        answer = httpx.post(url + path, json=body, timeout=30).json()
    message = answer["message"] if "message" in answer else answer["choices"][0]["message"]
    assert called(message) == [("get_weather", {"city": "Paris"})]


def test_a_token_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from the file\n")
    bearing = {"Authorization": "Bearer from the file"}
    serve = ("serve", "-m", "m", "--port", "0", "--token-file", str(file))
    with running(*serve, AZENT_TOKEN="another") as (url, _):
        assert httpx.get(f"{url}/v1/models").status_code == 401
        assert httpx.get(f"{url}/v1/models", headers=bearing).status_code == 200
    with running("serve", "-m", "m", "--port", "0", AZENT_TOKEN="from the file") as (url, _):
        assert httpx.get(f"{url}/v1/models").status_code == 401
        assert httpx.get(f"{url}/v1/models", headers=bearing).status_code == 200


@pytest.mark.parametrize(
    ("host", "shown", "warned"),
    [("127.0.0.1", "http://127.0.0.1:8000", False), ("::1", "http://[::1]:8000", False),
     ("0.0.0.0", "http://0.0.0.0:8000", True), ("::", "http://[::]:8000", True)],
)  # fmt: skip
def test_where_it_is_and_who_may_come_in_is_said(
    host: str, shown: str, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    announce("f", "/mcp", Options(host=host), 8000)
    warn_if_open(Options(host=host))
    warn_if_open(Options(host=host, token="hush"))
    first, *more = capsys.readouterr().err.splitlines()
    assert first == f"serving f at {shown}/mcp (Ctrl-C ends it)"
    assert len(more) == warned


@pytest.mark.parametrize("command", [["serve", "-m", "m"], ["mcp", "-t", TOOLS]])
def test_a_server_that_is_open_to_all_says_so(command: list[str]) -> None:
    with running(*command, "--host", "0.0.0.0", "--port", "0") as (_, process):
        assert process.stderr is not None
        assert any("anyone who reaches this address" in line for line in process.stderr)


def test_it_ends_when_it_is_told_to() -> None:
    with running("serve", "-m", "m", "--port", "0") as (_, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_what_is_wrong_is_said_in_words(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with listen(Options(port=0)) as taken:
        port = str(taken.getsockname()[1])
        busy = ran("serve", "-m", "m", "--port", port)
    assert (busy.returncode, "cannot listen" in busy.stderr) == (2, True)
    for file, said in ((empty, "is empty"), (tmp_path / "none", "cannot be read")):
        wrong = ran("serve", "-m", "m", "--port", "0", "--token-file", str(file))
        assert (wrong.returncode, said in wrong.stderr) == (9, True)
    twice = ran("serve", "-m", "m", "-m", "m", "--port", "0")
    assert (twice.returncode, "the same name" in twice.stderr) == (2, True)


# ---- MCP -----------------------------------------------------------------------------------------


def test_a_command_that_is_not_there_is_told_without_numbers_of_errors() -> None:
    asked = ran("ask", "Hi", "-m", "m", "--mcp", "./none")
    said = "azent: the MCP server './none' does not start: no such file or directory"
    assert (asked.returncode, asked.stderr.splitlines()[0]) == (13, said)


async def sum_by(client: mcp.Client) -> tuple[list[str], str]:
    """The names of the tools of a server, and what its `add` makes of 2 and 3."""
    async with client:
        listed = await client.list_tools()
        result = await client.call_tool("add", {"a": 2, "b": 3})
        text = result.content[0]
        assert isinstance(text, mcp.types.TextContent)
        return [tool.name for tool in listed.tools], text.text


def test_a_file_of_tools_over_standard_input_and_output() -> None:
    python, *arguments = AZENT
    command = [*arguments, "mcp", "--tools", TOOLS]
    target = mcp.StdioServerParameters(command=python, args=command, env={"PYTHONPATH": str(ROOT)})
    names, text = asyncio.run(sum_by(mcp.Client(target)))
    assert (names, text) == (["add", "launch", "die_once"], "5")


def test_it_ends_with_its_client() -> None:
    served = ran("mcp", "--tools", TOOLS)
    assert (served.returncode, served.stdout) == (0, "")
    assert "Traceback" not in served.stderr


def test_a_file_of_tools_over_http(tmp_path: Path) -> None:
    with running("mcp", "--tools", TOOLS, "--port", "0") as (url, _):
        names, text = asyncio.run(sum_by(mcp.Client(url)))
        foreign = httpx.post(url, headers={"Host": "evil.example"}, json={})
    assert ("add" in names, text) == (True, "5")
    assert foreign.status_code == 403
    file = tmp_path / "token"
    file.write_text("secret")
    with running("mcp", "--tools", TOOLS, "--port", "0", "--token-file", str(file)) as (url, _):
        assert httpx.post(url, json={}).status_code == 401


def test_ask_with_the_tools_of_a_server() -> None:
    made = calls_text(("sums_add", {"a": 2, "b": 3}))
    with ScriptedOllama(made, "It is 5.") as ollama:
        asked = ran("ask", "-m", "m", "--json", "--mcp", f"sums={COMMAND}", "What is 2 + 3?",
                    OLLAMA_HOST=ollama.url)  # fmt: skip
    answer = json.loads(asked.stdout)
    assert answer["answer"] == "It is 5."
    assert answer["results"] == [{"tool": "sums_add", "ok": True, "text": "5"}]


def test_ask_with_a_server_that_does_not_start() -> None:
    asked = ran("ask", "-m", "m", "--mcp", shlex.quote("no such command"), "?")
    assert asked.returncode == 13
    assert "does not start" in asked.stderr
