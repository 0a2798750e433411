"""Model servers that answer wrongly, endlessly or not at all, and what clients are told then."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

import httpx
import pytest

from azent import open_model
from azent.errors import ModelError
from azent.messages import Request
from azent.models import Model
from azent.models.limits import MAX_PART, MAX_REPLY
from azent.serve import Options
from tests.asking import NONE, PATHS, USER, WEATHER, said_of
from tests.serving import script, serving

MEGABYTE = b"x" * 1024 * 1024
Answer: TypeAlias = tuple[int, dict[str, str], list[bytes]]  # a status, headers and a body
SPEAKERS: dict[str, Callable[[str], Model]] = {
    "ollama": lambda host: open_model("m", host=host, retries=0),
    "openai": lambda host: open_model(f"openai:{host}/v1#m", retries=0),
}


class Answering(BaseHTTPRequestHandler):
    """Answers each request with the next of some statuses, headers and pieces; the last stays."""

    answers: list[Answer]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, pieces = self.answers[0]
        del self.answers[: len(self.answers) > 1]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in pieces:
                self.wfile.write(piece)
        except OSError:
            pass  # who asked has heard enough

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        """Tests are quiet."""


@contextmanager
def answering(*answers: Answer) -> Iterator[str]:
    """The URL of a server that gives these answers, and then hangs up."""
    handler = type("Given", (Answering,), {"answers": list(answers)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def chat(url: str, path: str, *, tools: bool, stream: bool = False) -> httpx.Response:
    body = {"model": "m", "messages": [USER], "stream": stream, "tools": [WEATHER] * tools}
    return httpx.post(url + path, json=body, timeout=60)


# ---- replies without an end ----------------------------------------------------------------------

LINE = b'{"message": {"content": "' + MEGABYTE[:100_000] + b'"}}\n'
EVENT = b'data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", '
EVENT += b'"choices": [{"index": 0, "delta": {"content": "' + MEGABYTE[:100_000] + b'"}}]}\n\n'
ENDLESS: dict[str, Answer] = {
    "a line": (200, {}, [MEGABYTE] * 200),
    "an empty line": (200, {}, [b" " * len(MEGABYTE)] * 200),
    "an event of many lines": (200, {}, [b"data: " + MEGABYTE + b"\n"] * 200),
    "lines without an end": (200, {}, [LINE * 10] * (MAX_REPLY // 10**6 + 2)),
    "events without an end": (200, {}, [EVENT * 10] * (MAX_REPLY // 10**6 + 2)),
    "a page of an error": (500, {}, [MEGABYTE] * 200),
    "an error in lines": (500, {}, [MEGABYTE + b"\n"] * 200),
    "a compressed line": (200, {"Content-Encoding": "gzip"}, [gzip.compress(MEGABYTE * 50)]),
    "a compressed error": (500, {"Content-Encoding": "gzip"}, [gzip.compress(MEGABYTE * 50)]),
}


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize("answer", ENDLESS.values(), ids=ENDLESS)
def test_a_reply_without_an_end_is_given_up(speaker: str, answer: Any) -> None:
    request = Request(({"role": "user", "content": "Hi"},))
    with answering(answer) as host, pytest.raises(ModelError):
        for _ in SPEAKERS[speaker](host).stream(request):
            pass


def test_an_endless_description_is_given_up() -> None:
    endless: Answer = (200, {}, [MEGABYTE] * 200)
    with answering(endless) as host, serving({"m": SPEAKERS["ollama"](host)}) as url:
        shown = httpx.post(f"{url}/api/show", json={"model": "m"}, timeout=60)
        tags = httpx.get(f"{url}/api/tags", timeout=60)
    assert (shown.status_code, tags.status_code) == (502, 502)


def test_long_lines_within_the_limit_are_read() -> None:
    said = {"message": {"role": "assistant", "content": "x" * (MAX_PART // 2)}, "done": True}
    reply: Answer = (200, {}, [json.dumps(said).encode() + b"\n"])
    with answering(reply) as host:
        (words, _) = SPEAKERS["ollama"](host).stream(Request(({"role": "user", "content": "Hi"},)))
    assert len(words.text) == MAX_PART // 2  # type: ignore[union-attr]  # a Delta comes first


# ---- answers that mean something else ------------------------------------------------------------

GOOD = (200, {"Content-Type": "application/json", "X-Real": "yes"}, [b'{"choices": []}'])
ODD_404S: dict[str, bytes] = {
    "a page": b"<html>404 Not Found</html>",
    "nothing": b"",
    "other JSON": b'{"detail": "Not Found"}',
    "a list": b"[]",
    "half of an error": b'{"error": {"mess',
}


@pytest.mark.parametrize("page", ODD_404S.values(), ids=ODD_404S)
def test_an_odd_404_does_not_end_passing_on(page: bytes) -> None:
    with (
        answering((404, {}, [page]), GOOD) as host,
        serving({"m": SPEAKERS["ollama"](host)}) as url,
    ):
        chat(url, "/v1/chat/completions", tools=False)
        later = [chat(url, "/v1/chat/completions", tools=False) for _ in range(2)]
    assert [answer.headers.get("x-real") for answer in later] == ["yes", "yes"]


STATUSES = [(401, 502), (403, 502), (407, 502), (400, 400), (413, 413), (422, 422), (429, 429)]
STATUSES += [(500, 502), (503, 502)]
ODD_STATUSES = [101, 103, 199, 300, 301, 302, 304, 307, 308, 399, 600, 999]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("theirs", "ours"), STATUSES)
def test_statuses_with_tools_say_whose_fault_it_is(path: str, theirs: int, ours: int) -> None:
    refusal = (theirs, {"Retry-After": "7"}, [b'{"error": "no"}'])
    with answering(refusal) as host, serving({"m": SPEAKERS["ollama"](host)}) as url:
        answer = chat(url, path, tools=True)
    assert answer.status_code == ours
    assert said_of(answer)
    assert theirs != 429 or answer.headers["retry-after"] == "7"


def test_no_client_is_sent_elsewhere_or_given_a_status_that_is_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    odd = [(status, {"Location": "http://elsewhere.example/"}, [b"{}"]) for status in ODD_STATUSES]
    with answering(*odd) as host, serving({"m": SPEAKERS["ollama"](host)}) as url:
        for status in ODD_STATUSES:
            answer = chat(url, "/v1/chat/completions", tools=False)
            assert answer.status_code == 502, status
            assert "location" not in answer.headers
    assert not caplog.records


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [401, 403, 407])
def test_a_login_that_azent_lacks_is_not_asked_of_clients(path: str, status: int) -> None:
    refusal = (status, {"WWW-Authenticate": "Basic"}, [b'{"error": "who are you?"}'])
    with answering(refusal) as host, serving({"m": SPEAKERS["ollama"](host)}) as url:
        answer = chat(url, path, tools=False)
    assert answer.status_code == 502
    assert "www-authenticate" not in answer.headers
    assert str(status) in said_of(answer)


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize("later", ["7", None, "soon", "-1", "9" * 50])
def test_a_busy_server_says_when_to_come_back(speaker: str, later: str | None) -> None:
    headers = {} if later is None else {"Retry-After": later}
    busy = (429, headers, [b'{"error": "busy"}'])
    with answering(busy) as host, serving({"m": SPEAKERS[speaker](host)}) as url:
        answer = chat(url, "/v1/chat/completions", tools=True)
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 3600


def test_refusals_of_the_guard_are_counted() -> None:
    options = Options(token="secret", max_bytes=10)
    signed = {"Authorization": "Bearer secret"}
    with serving({"m": script(NONE, "Hi.")}, options) as url:
        httpx.get(f"{url}/v1/models")
        httpx.get(f"{url}/v1/models", headers={**signed, "Host": "evil.example"})
        httpx.post(f"{url}/v1/models", headers=signed, content=b"x" * 11)
        text = httpx.get(f"{url}/metrics", headers=signed).text
    for status in (401, 403, 413):
        assert f'azent_requests_total{{route="other",status="{status}"}} 1.0' in text
