"""Who may come in, and how many at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from azent.errors import RequestRefused
from azent.serve import Options
from azent.serve.guard import Guard
from tests.asking import NONE, USER, WEATHER, said_of
from tests.serving import Telling, script, serving, wait_until

LOCAL = Options()
NAMED = Options(hosts=("box.example",), origins=("https://chat.example",))
OUTSIDE = Options(host="0.0.0.0")
SECRET = Options(token="correct horse")


async def nothing(scope: object, receive: object, send: object) -> None:
    raise AssertionError("only the checks are looked at here")


def verdict(options: Options, path: str = "/v1/models", **headers: str) -> int:
    """The status with which a request is refused; 200 where it is let in."""
    given = {"host": "127.0.0.1:1", **headers}
    try:
        Guard(nothing, options).check(path, given)
    except RequestRefused as error:
        return error.status
    return 200


@pytest.mark.parametrize(
    ("options", "host", "status"),
    [
        (LOCAL, "127.0.0.1:11435", 200),
        (LOCAL, "127.0.0.1", 200),
        (LOCAL, "localhost:11435", 200),
        (LOCAL, "LOCALHOST", 200),
        (LOCAL, "[::1]:11435", 200),
        (LOCAL, "evil.example", 403),
        (LOCAL, "localhost.evil.example", 403),
        (LOCAL, "evil.example:11435", 403),
        (LOCAL, "user@localhost", 403),
        (LOCAL, "localhost/@evil.example", 403),
        (LOCAL, "192.168.0.7", 403),
        (LOCAL, "", 403),
        (LOCAL, "[::1", 403),
        (LOCAL, "[nonsense]", 403),
        (LOCAL, "lócalhost", 403),
        (NAMED, "box.example:80", 200),
        (NAMED, "other.example", 403),
        (OUTSIDE, "192.168.0.7:11435", 200),
        (OUTSIDE, "[fe80::1]:11435", 200),
        (OUTSIDE, "evil.example", 403),
    ],
)
def test_the_server_answers_to_its_own_names(options: Options, host: str, status: int) -> None:
    assert verdict(options, host=host) == status


@pytest.mark.parametrize(
    ("options", "origin", "status"),
    [
        (LOCAL, "http://127.0.0.1:1", 200),
        (LOCAL, "https://127.0.0.1:1", 200),
        (LOCAL, "http://127.0.0.1:2", 403),
        (LOCAL, "https://evil.example", 403),
        (LOCAL, "null", 403),
        (LOCAL, "", 403),
        (NAMED, "https://chat.example", 200),
        (NAMED, "http://chat.example", 403),
        (NAMED, "https://chat.example.evil", 403),
    ],
)
def test_pages_are_let_in_by_name(options: Options, origin: str, status: int) -> None:
    assert verdict(options, origin=origin) == status


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer correct horse", 200),
        ("bearer correct horse", 200),
        ("Bearer  correct horse ", 200),
        ("Bearer correct", 401),
        ("Bearer correct horse battery", 401),
        ("Bearer ", 401),
        ("Basic correct horse", 401),
        ("correct horse", 401),
        ("Bearer h\u00f6rse", 401),
        ("", 401),
    ],
)
def test_a_token_lets_in(header: str, status: int) -> None:
    assert verdict(SECRET, authorization=header) == status


def test_health_needs_no_token_and_all_else_does() -> None:
    assert verdict(SECRET, "/health") == 200
    assert verdict(SECRET, "/metrics") == verdict(SECRET, "/api/tags") == 401


def test_refusals_have_the_shape_of_the_protocol() -> None:
    with serving({"m": script(NONE, "Hi.")}, SECRET) as url:
        openai, ollama = httpx.get(f"{url}/v1/models"), httpx.get(f"{url}/api/tags")
        allowed = httpx.get(f"{url}/v1/models", headers={"Authorization": "Bearer correct horse"})
        rebound = httpx.get(f"{url}/api/tags", headers={"Host": "evil.example"})
    assert (openai.status_code, ollama.status_code, allowed.status_code) == (401, 401, 200)
    assert openai.headers["www-authenticate"] == "Bearer"
    assert "token" in said_of(openai)
    assert "token" in said_of(ollama)
    assert rebound.status_code == 403
    assert "evil.example" in said_of(rebound)


def test_pages_that_were_named_may_read_the_answer() -> None:
    headers = {"Origin": "https://chat.example"}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-a"}
    with serving({"m": script("Hi.")}, NAMED) as url:
        before = httpx.options(f"{url}/v1/chat/completions", headers={**headers, **asks})
        after = httpx.get(f"{url}/v1/models", headers=headers)
    assert before.status_code == 200
    assert after.headers["access-control-allow-origin"] == "https://chat.example"


# ---- size ----------------------------------------------------------------------------------------


def in_pieces(body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), 1000):
        yield body[at : at + 1000]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(1500, 200), (3000, 413)])
def test_bodies_have_a_limit(chunked: bool, size: int, status: int) -> None:
    body = json.dumps({"model": "m", "messages": [USER], "tools": [WEATHER]}).encode().ljust(size)
    with serving({"m": script(NONE, "Hi.")}, Options(max_bytes=2000)) as url:
        content = in_pieces(body) if chunked else body
        answer = httpx.post(f"{url}/v1/chat/completions", content=content)
    assert answer.status_code == status
    assert status == 200 or "2,000 bytes" in said_of(answer)


# ---- the queue -----------------------------------------------------------------------------------


def test_beyond_the_queue_clients_are_told_to_come_back() -> None:
    model = Telling(lambda request: "more " * 1000, pause=0.05)
    body = {"model": "m", "messages": [USER], "tools": [WEATHER]}

    def ask(url: str) -> httpx.Response:
        return httpx.post(f"{url}/api/chat", json=body, timeout=60)

    with (
        serving({"m": model}, Options(parallel=1, waiting=2)) as url,
        ThreadPoolExecutor(3) as pool,
    ):
        first = [pool.submit(ask, url) for _ in range(3)]
        wait_until(lambda: "azent_requests_waiting 2" in httpx.get(f"{url}/metrics").text)
        refused = ask(url)
        model.pause = 0
        assert [answer.result().status_code for answer in first] == [200] * 3
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "come back later" in said_of(refused).lower()
    assert len(model.heard) == 3
