"""Clients that are slow on purpose, or leave at a bad time: none holds a place or a log line."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import pytest

from azent import open_model
from azent.messages import Delta, Request
from azent.serve import Options
from tests.asking import NONE, USER, WEATHER
from tests.scripted_ollama import Say, ScriptedOllama
from tests.serving import Telling, script, serving, wait_until

HURRIED = Options(parallel=4, read_timeout=0.4, write_timeout=0.4)
LARGE = "x" * 1_000_000


def connected(url: str) -> socket.socket:
    """A connection that takes little at once, as one to a slow reader does."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, _, port = url.removeprefix("http://").partition(":")
    made.connect((host, int(port)))
    return made


def head(path: str, length: int) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", "", ""]
    return "\r\n".join(lines).encode()


def request(path: str, **more: Any) -> bytes:
    body = json.dumps({"model": "m", "messages": [USER], "stream": True, **more}).encode()
    return head(path, len(body)) + body


def is_cut(connection: socket.socket) -> bool:
    """Does the server end a connection whose client does nothing more?"""
    connection.settimeout(20)
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def at_work(url: str) -> int:
    text = httpx.get(f"{url}/metrics").text
    return int(text.partition("\nazent_requests_at_work ")[2].partition(".")[0])


# ---- readers that do not read --------------------------------------------------------------------


def flood(request: Request) -> Any:
    return NONE if request.format else [Delta(LARGE) for _ in range(100)]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat"])
def test_readers_that_do_not_read_free_their_places(path: str) -> None:
    model = Telling(flood)
    with serving({"m": model}, HURRIED) as url, ExitStack() as stack:
        for _ in range(HURRIED.parallel):
            stack.enter_context(connected(url)).sendall(request(path, tools=[WEATHER]))
        wait_until(lambda: model.stopped == HURRIED.parallel)
        wait_until(lambda: at_work(url) == 0)


def test_readers_of_what_is_passed_on_free_their_places() -> None:
    say = Say(pieces=[LARGE] * 100)
    with (
        ScriptedOllama(say) as ollama,
        serving({"m": open_model("m", host=ollama.url)}, HURRIED) as url,
        ExitStack() as stack,
    ):
        for _ in range(HURRIED.parallel):
            stack.enter_context(connected(url)).sendall(request("/api/chat"))
        wait_until(lambda: ollama.disconnects == HURRIED.parallel)
        wait_until(lambda: at_work(url) == 0)


def test_a_reader_that_takes_its_time_is_served() -> None:
    with serving({"m": Telling(flood)}, HURRIED) as url, connected(url) as reader:
        reader.sendall(request("/api/chat", tools=[WEATHER]))
        for _ in range(20):
            time.sleep(HURRIED.write_timeout / 8)
            assert reader.recv(100_000)


@pytest.mark.parametrize("tools", [[], [WEATHER]], ids=["passed on", "with tools"])
def test_a_reader_that_takes_a_little_at_a_time_has_a_limit_for_the_whole(
    tools: list[dict[str, Any]],
) -> None:
    options = Options(timeout=0.5, write_timeout=30)
    say = Say(pieces=[LARGE] * 100)
    with (
        ScriptedOllama(say) as ollama,
        serving({"m": open_model("m", host=ollama.url)}, options) as url,
        connected(url) as reader,
    ):
        reader.sendall(request("/api/chat", tools=tools, tool_choice="none"))
        end = time.monotonic() + 15
        reader.settimeout(0.1)
        while at_work(url) and time.monotonic() < end:
            with suppress(TimeoutError):
                reader.recv(10_000)
        assert time.monotonic() < end
        wait_until(lambda: ollama.disconnects == 1)


# ---- requests that do not come -------------------------------------------------------------------

NEVER_WHOLE: dict[str, bytes] = {
    "nothing at all": b"",
    "half a line": b"POST /api/ch",
    "half a head": b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nX-A",
    "a head without a body": head("/api/chat", 1000),
    "half a body": head("/api/chat", 1000) + b'{"model": "m", ',
    "a chunk without an end": b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"mod",
}  # fmt: skip


@pytest.mark.parametrize("sent", NEVER_WHOLE.values(), ids=NEVER_WHOLE)
def test_a_request_that_does_not_come_is_not_waited_for(sent: bytes) -> None:
    with serving({"m": script("Hi.")}, HURRIED) as url, connected(url) as connection:
        connection.sendall(sent)
        assert is_cut(connection)
        assert at_work(url) == 0


def test_a_second_request_is_waited_for_no_longer() -> None:
    with serving({"m": script("Hi.")}, HURRIED) as url, connected(url) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in connection.recv(4096)
        connection.sendall(b"GET /hea")
        assert is_cut(connection)


# ---- time limits of what is passed on ------------------------------------------------------------

SILENCES: dict[str, Say] = {
    "before the first byte": Say("late", before=30),
    "after the first piece": Say(pieces=["one", "two"], pause=30),
    "for ever in small steps": Say(pieces=["more "] * 10_000, pause=0.05),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("say", SILENCES.values(), ids=SILENCES)
def test_the_time_limit_holds_for_what_is_passed_on(say: Say, stream: bool) -> None:
    body = {"model": "m", "messages": [USER], "stream": stream}
    with (
        ScriptedOllama(say) as ollama,
        serving({"m": open_model("m", host=ollama.url)}, Options(timeout=0.5)) as url,
    ):
        try:
            assert httpx.post(f"{url}/api/chat", json=body, timeout=20).status_code == 504
        except httpx.RemoteProtocolError:  # cut in the middle, since there was a status already
            assert not say.before
        wait_until(lambda: at_work(url) == 0)
        assert ollama.saw_disconnect()


def test_the_first_byte_has_a_time_limit_of_its_own() -> None:
    body = {"model": "m", "messages": [USER]}
    with ScriptedOllama(Say("late", before=30)) as ollama:
        model = open_model("m", host=ollama.url, first_token=0.3)
        with serving({"m": model}) as url:
            assert httpx.post(f"{url}/api/chat", json=body, timeout=20).status_code == 504


# ---- leaving -------------------------------------------------------------------------------------


def leave_after(sent: bytes) -> Callable[[str], None]:
    def leave(url: str) -> None:
        with connected(url) as connection:
            connection.sendall(sent)

    return leave


LEAVING: dict[str, Callable[[str], None]] = {
    "in the head": leave_after(b"POST /api/ch"),
    "before the body": leave_after(head("/api/chat", 1000)),
    "in the body": leave_after(head("/api/chat", 1000) + b'{"model": "m", '),
    "in the body of another page": leave_after(head("/api/show", 1000) + b"{"),
    "before the answer": leave_after(request("/api/chat", tools=[WEATHER])),
}


@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
def test_a_client_that_leaves_writes_no_traceback(
    leave: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), serving({"m": script(NONE, "Hi.")}) as url:
        leave(url)
        httpx.get(f"{url}/health")
        wait_until(lambda: at_work(url) == 0)
    assert not caplog.records
