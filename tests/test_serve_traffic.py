"""What passes through, who hangs up, and many at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from azent import open_model
from azent.messages import Delta, Request
from azent.serve import Options
from azent.serve.app import app
from azent.serve.run import listen, server_of
from tests.asking import NONE, PATHS, USER, WEATHER, called, said_of
from tests.scripted_ollama import Fail, Say, ScriptedOllama
from tests.serving import Telling, calls_text, serving, wait_until

# ---- passing through -----------------------------------------------------------------------------

ANSWER = b'{"id":1,  "odd" : "\\u00e4", "spaces":   true}'


class Recorder(BaseHTTPRequestHandler):
    """Keeps each request and answers it oddly, in pieces where it is asked to."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, body))
        self.send_response(418)
        self.send_header("Content-Type", "application/x-odd")
        self.send_header("X-Odd", "yes")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_: Any) -> None:
        """Tests are quiet."""


@contextmanager
def recorded() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """The URL of a server that keeps what it is asked, and what it kept."""
    seen: list[tuple[str, bytes]] = []
    handler = type("Kept", (Recorder,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("tools", [{}, {"tools": []}, {"tools": None}], ids=str)
def test_a_chat_without_tools_passes_through_as_it_is(path: str, tools: dict[str, Any]) -> None:
    said = {"model": "m", "messages": [USER], "unknown": {"a": 1.5}, "seed": 7, **tools}
    body = json.dumps(said, indent=3).encode()
    with recorded() as (host, seen), serving({"m": open_model("m", host=host)}) as url:
        answer = httpx.post(url + path, content=body)
    assert [(where, json.loads(sent)) for where, sent in seen] == [(path, said)]
    assert (answer.status_code, answer.content) == (418, ANSWER)
    assert answer.headers["content-type"] == "application/x-odd"
    assert answer.headers["x-odd"] == "yes"


@pytest.mark.parametrize("path", ["/api/generate", "/api/embed", "/v1/embeddings"])
def test_what_is_no_chat_passes_through(path: str) -> None:
    body = {"model": "m", "input": "x"}
    with recorded() as (host, seen), serving({"m": open_model("m", host=host)}) as url:
        answer = httpx.post(url + path, json=body)
    assert [(where, json.loads(sent)) for where, sent in seen] == [(path, body)]
    assert answer.content == ANSWER
    with serving({"m": Telling(endless)}) as url:
        assert httpx.post(url + path, json=body).status_code == 404


def test_a_name_of_ours_becomes_the_name_of_the_server() -> None:
    with recorded() as (host, seen), serving({"ours": open_model("theirs", host=host)}) as url:
        httpx.post(f"{url}/api/chat", json={"model": "ours", "messages": [USER], "x": "ü"})
    assert json.loads(seen[0][1]) == {"model": "theirs", "messages": [USER], "x": "ü"}


def test_a_stream_passes_through_piece_by_piece() -> None:
    slow = Say(pieces=("one ", "two ", "three"), pause=0.3)
    with ScriptedOllama(slow) as ollama:
        model = open_model("m", host=ollama.url)
        body = {"model": "m", "messages": [USER]}
        with (
            serving({"m": model}) as url,
            httpx.stream("POST", f"{url}/api/chat", json=body) as answer,
        ):
            came = [(time.monotonic(), json.loads(line)) for line in answer.iter_lines()]
    assert "".join(line["message"]["content"] for _, line in came) == "one two three"
    assert came[-1][0] - came[0][0] > 0.2


def test_a_server_without_the_protocol_is_asked_in_its_own() -> None:
    with ScriptedOllama("Hello there") as ollama:
        with serving({"m": open_model("m", host=ollama.url)}) as url:
            body = {"model": "m", "messages": [USER]}
            answers = [httpx.post(f"{url}/v1/chat/completions", json=body) for _ in range(2)]
        said = [answer.json()["choices"][0]["message"]["content"] for answer in answers]
    assert said == ["Hello there"] * 2


@pytest.mark.parametrize("tools", [[], [WEATHER]], ids=["passed on", "with tools"])
@pytest.mark.parametrize("path", PATHS)
def test_a_server_that_is_not_there(path: str, tools: list[Any]) -> None:
    model = open_model("m", host="127.0.0.1:9", retries=0)
    with serving({"m": model}) as url:
        answer = httpx.post(url + path, json={"model": "m", "messages": [USER], "tools": tools})
    assert answer.status_code == 503
    assert "127.0.0.1:9" in said_of(answer)


def test_an_error_of_the_server_passes_through_as_it_is() -> None:
    with (
        ScriptedOllama(Fail(500, "out of memory")) as ollama,
        serving({"m": open_model("m", host=ollama.url)}) as url,
    ):
        answer = httpx.post(f"{url}/api/chat", json={"model": "m", "messages": [USER]})
    assert (answer.status_code, answer.json()) == (500, {"error": "out of memory"})


def test_tags_and_show_are_the_servers_own() -> None:
    with ScriptedOllama("x") as ollama:
        with serving({"scripted": open_model("scripted", host=ollama.url)}) as url:
            tags = httpx.get(f"{url}/api/tags").json()["models"]
            shown = httpx.post(f"{url}/api/show", json={"model": "scripted"}).json()
            version = httpx.get(f"{url}/api/version").json()
        own = httpx.get(f"{ollama.url}/api/tags").json()["models"]
    assert tags == [tag for tag in own if tag["name"].startswith("scripted")]
    assert "tools" in shown["capabilities"]
    assert version["version"]


def test_a_server_that_is_down_hides_the_models_of_no_other() -> None:
    down = open_model("lost", host="http://127.0.0.1:9", retries=0)
    with (
        ScriptedOllama("x") as ollama,
        serving({"lost": down, "scripted": open_model("scripted", host=ollama.url)}) as url,
    ):
        names = [tag["name"] for tag in httpx.get(f"{url}/api/tags").json()["models"]]
    assert [name.partition(":")[0] for name in names] == ["scripted"]
    with serving({"lost": down}) as url:
        assert httpx.get(f"{url}/api/tags").status_code >= 500


# ---- hanging up ----------------------------------------------------------------------------------


def endless(request: Request) -> Any:
    return "more " * 10_000


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_a_client_that_hangs_up_stops_the_model(path: str, stream: bool) -> None:
    model = Telling(endless, pause=0.01)
    body = {"model": "m", "messages": [USER], "stream": stream, "tools": [WEATHER]}
    with serving({"m": model}) as url:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url + path, json=body, timeout=0.3)
        wait_until(lambda: model.stopped == 1)
        wait_until(lambda: "azent_requests_at_work 0" in httpx.get(f"{url}/metrics").text)


@pytest.mark.parametrize("tools", [[], [WEATHER]], ids=["passed on", "with tools"])
def test_a_client_that_hangs_up_stops_the_server_behind(tools: list[Any]) -> None:
    slow = Say(pieces=["more "] * 1000, pause=0.05)
    body = {"model": "m", "messages": [USER], "tools": tools}
    with (
        ScriptedOllama(slow, decides=False) as ollama,
        serving({"m": open_model("m", host=ollama.url)}) as url,
    ):
        asked = httpx.stream("POST", f"{url}/api/chat", json=body, timeout=0.5)
        with contextlib.suppress(httpx.ReadTimeout), asked as answer:
            next(answer.iter_bytes())
        wait_until(lambda: ollama.disconnects == 1)


@pytest.mark.parametrize("path", PATHS)
def test_a_client_that_does_not_read_holds_the_model_up(path: str) -> None:
    large = ["x" * 100_000] * 1000

    def answer(request: Request) -> Any:
        return NONE if request.format else [Delta(text) for text in large]

    model = Telling(answer)
    body = {"model": "m", "messages": [USER], "stream": True, "tools": [WEATHER]}
    with serving({"m": model}) as url:
        with httpx.stream("POST", url + path, json=body, timeout=20):
            wait_until(lambda: model.given > 3)
            time.sleep(1)
            held_at = model.given
            assert held_at < len(large)
            time.sleep(0.5)
            assert model.given == held_at
        wait_until(lambda: model.stopped == 1)


def test_a_client_that_leaves_frees_its_place() -> None:
    model = Telling(endless, pause=0.01)
    body = {"model": "m", "messages": [USER], "tools": [WEATHER]}
    with serving({"m": model}, Options(parallel=1, waiting=1)) as url:
        for _ in range(2):
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{url}/api/chat", json=body, timeout=0.3)
        wait_until(lambda: "azent_requests_waiting 0" in httpx.get(f"{url}/metrics").text)
        wait_until(lambda: "azent_requests_at_work 0" in httpx.get(f"{url}/metrics").text)
    assert len(model.heard) <= 2


# ---- many at once --------------------------------------------------------------------------------


def own_number(request: Request) -> str:
    """Calls, or words, that hold what stood in the question."""
    said = request.messages[-1]["content"]
    number = said[said.index("#") + 1 :].split()[0]
    return calls_text(("get_weather", {"city": number})) if request.format else number


async def one_client(client: httpx.AsyncClient, url: str, number: int, until: float) -> int:
    """Ask again and again; how often. Fails where an answer is another client's."""
    count = 0
    while time.monotonic() < until:
        mine = f"{number}-{count}"
        question = {"role": "user", "content": f"Where is #{mine} now?"}
        body = {"model": "m", "messages": [question], "tools": [WEATHER], "stream": False}
        answer = (await client.post(f"{url}/api/chat", json=body)).json()
        assert called(answer["message"]) == [("get_weather", {"city": mine})]
        count += 1
    return count


async def crowd(url: str, clients: int, seconds: float) -> list[int]:
    limits = httpx.Limits(max_connections=None)
    until = time.monotonic() + seconds
    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client:
        asking = (one_client(client, url, number, until) for number in range(clients))
        return await asyncio.gather(*asking)


def test_many_clients_at_once_lose_nothing_and_cross_nothing() -> None:
    model = Telling(own_number, pause=0.002)
    with serving({"m": model}) as url:
        counts = asyncio.run(crowd(url, clients=200, seconds=8))
    assert min(counts) >= 1
    assert sum(counts) == len(model.heard)


# ---- ending --------------------------------------------------------------------------------------


def test_a_server_that_is_told_to_stop_lets_replies_end() -> None:
    words = "a few words that take a while to say"

    def answer(request: Request) -> str:
        return NONE if request.format else words

    with listen(Options(port=0)) as listener:
        server = server_of(app({"m": Telling(answer, pause=0.05)}), Options())
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        wait_until(lambda: server.started)
        address = listener.getsockname()
        body = {"model": "m", "messages": [USER], "tools": [WEATHER]}
        url = f"http://127.0.0.1:{address[1]}/api/chat"
        with httpx.stream("POST", url, json=body) as reply:
            lines = reply.iter_lines()
            first = next(lines)
            server.should_exit = True
            rest = [json.loads(line)["message"]["content"] for line in lines]
        thread.join(10)
    assert json.loads(first)["message"]["content"] + "".join(rest) == words
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(address, timeout=1)
