"""The client of Ollama's servers, over real HTTP: what it sends, its limits, whatever fails."""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

import azent
from azent.errors import ModelUnreachable
from azent.messages import Call, Delta, End, Request
from azent.models.ollama import Ollama
from tests.scripted_ollama import Fail, HangUp, Item, Lines, Say, ScriptedOllama

ASK = Request(({"role": "user", "content": "Hello"},))
FAST: dict[str, Any] = {"retry_wait": 0.01}


def streamed(model: Any, request: Request = ASK) -> list[Delta | End]:
    return list(model.stream(request))


def astreamed(model: Any, request: Request = ASK) -> list[Delta | End]:
    async def all_of() -> list[Delta | End]:
        return [piece async for piece in model.astream(request)]

    return asyncio.run(all_of())


@pytest.fixture(params=[streamed, astreamed])
def pieces(request: pytest.FixtureRequest) -> Callable[..., list[Delta | End]]:
    """Both ways to ask: what holds for one holds for the other."""
    way: Callable[..., list[Delta | End]] = request.param
    return way


def opened(server: ScriptedOllama, **settings: Any) -> Any:
    return azent.open_model("scripted", host=server.url, **{**FAST, **settings})


def text_of(pieces: list[Delta | End]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Delta))


# ---- what is sent and heard ----------------------------------------------------------------------


def test_a_reply_comes_in_pieces_and_with_what_it_cost(pieces: Any) -> None:
    with ScriptedOllama(Say(pieces=("Hel", "lo"), prompt_tokens=7)) as server:
        *deltas, end = pieces(opened(server))
    assert deltas == [Delta("Hel"), Delta("lo")]
    assert (end.done_reason, end.usage.prompt_tokens, end.usage.reply_tokens) == ("stop", 7, 2)
    assert (end.usage.requests, end.usage.prompt_seconds, end.usage.reply_seconds) == (
        1,
        0.001,
        0.002,
    )


def test_what_is_sent(pieces: Any) -> None:
    schema = {"type": "object"}
    with ScriptedOllama("ok", decides=False) as server:
        model = opened(server, num_ctx=1024, keep_alive="5m", options={"top_k": 3})
        pieces(model)
        pieces(model, Request(ASK.messages, schema, options={"temperature": 1}))
    plain, held = (asked.body for asked in server.requests)
    assert plain["messages"] == list(ASK.messages)
    assert (plain["model"], plain["stream"], plain["keep_alive"]) == ("scripted", True, "5m")
    wanted = {"num_ctx": 1024, "seed": 0, "temperature": 0, "top_k": 3}
    assert plain["options"].items() >= wanted.items()
    assert not any(plain.get(name) for name in ("format", "tools", "think"))
    assert held["format"] == schema
    assert held["think"] is False
    assert held["options"]["temperature"] == 1


def test_calls_that_the_server_read_are_taken(pieces: Any) -> None:
    call = {"function": {"name": "add", "arguments": {"a": 1}}}
    with ScriptedOllama(Say(message={"tool_calls": [call]})) as server:
        first, _ = pieces(opened(server))
    assert first == Delta("", "", (Call("add", {"a": 1}),))


def test_reasoning_is_kept_apart(pieces: Any) -> None:
    with ScriptedOllama(Say(pieces=("5",), message={"thinking": "2 and 3"})) as server:
        first, _ = pieces(opened(server))
    assert first == Delta("5", "2 and 3")


# ---- what fails ----------------------------------------------------------------------------------

HALF = '{"message": {"role": "assistant", "content": "half"}, "done": false}'
NOT_FOUND = Fail(404, "model 'scripted' not found, try pulling it first")

FAILURES: dict[str, tuple[Item, type[azent.ModelError], str, int]] = {
    # what the server does: the error, words of it, and how often it is asked with two retries
    "no such model": (NOT_FOUND, azent.ModelNotFound, "has no model 'scripted'", 1),
    "another server": (Fail(404, b"404 page not found"), azent.ModelRefused, "page not", 1),
    "bad request": (Fail(400, "invalid options"), azent.ModelRefused, "invalid options", 1),
    "no key": (Fail(401, "unauthorized"), azent.ModelRefused, "unauthorized", 1),
    "no memory": (Fail(500, "needs more system memory"), azent.ModelRefused, "memory", 1),
    "runner died": (Fail(500, "llama runner process has terminated"), azent.ModelRefused, "run", 3),
    "busy": (Fail(503, "server busy, please try again"), azent.ModelRefused, "busy", 3),
    "proxy": (Fail(502, b"<html>Bad Gateway</html>"), azent.ModelRefused, "Bad Gateway", 3),
    "hangs up": (HangUp(), azent.ReplyBroken, "broke off", 3),
    "breaks off": (Say("half a reply", breaks=True), azent.ReplyBroken, "broke off", 1),
    "no end": (Say("half a reply", ends=False), azent.ReplyBroken, "before its end", 1),
    "nothing": (Say(ends=False), azent.ReplyBroken, "before its end", 3),
    "no JSON": (Lines(["<html>"]), azent.ReplyBroken, "broke off", 3),
    "error first": (Lines(['{"error": "runner died"}']), azent.ModelRefused, "runner died", 3),
    "error later": (Lines([HALF, '{"error": "died"}']), azent.ReplyBroken, "died", 1),
    "garbage later": (Lines([HALF, '{"done": tru']), azent.ReplyBroken, "broke off", 1),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures(name: str, pieces: Any) -> None:
    item, kind, words, requests = FAILURES[name]
    with ScriptedOllama(item) as server:
        with pytest.raises(azent.ModelError, match=words) as caught:
            pieces(opened(server))
        assert type(caught.value) is kind
        assert len(server.requests) == requests


def test_nothing_listens(pieces: Any) -> None:
    with ScriptedOllama("") as server:
        model = opened(server)
    with pytest.raises(azent.ModelUnreachable, match=f"127.0.0.1:{server.port}") as caught:
        pieces(model)
    assert "ollama serve" in caught.value.hint


@pytest.mark.parametrize(
    "item",
    [Fail(503, "busy"), HangUp(), Fail(500, "llama runner died"), Say(ends=False)],
    ids=lambda item: type(item).__name__,
)
def test_what_may_pass_is_tried_again(item: Item, pieces: Any) -> None:
    with ScriptedOllama(item, item, "good") as server:
        assert text_of(pieces(opened(server))) == "good"


def test_no_more_tries_than_allowed(pieces: Any) -> None:
    with ScriptedOllama(HangUp(), "good") as server, pytest.raises(azent.ReplyBroken):
        pieces(opened(server, retries=0))


def test_a_missing_model_comes_with_those_that_there_are(pieces: Any) -> None:
    with (
        ScriptedOllama(NOT_FOUND, models=("a:latest", "b:1b")) as server,
        pytest.raises(azent.ModelNotFound) as caught,
    ):
        pieces(opened(server))
    assert "ollama pull scripted" in caught.value.hint
    assert "a:latest, b:1b" in caught.value.hint


# ---- limits of time ------------------------------------------------------------------------------

SLOW_TO_START = Say("late", before=60)
SLOW_TO_END = Say(pieces=["x"] * 1000, pause=0.05)


@pytest.mark.parametrize(
    ("item", "settings", "timeout"),
    [
        (SLOW_TO_START, {"first_token": 0.3}, None),
        (SLOW_TO_START, {"reply_timeout": 0.3}, None),
        (SLOW_TO_START, {}, 0.3),
        (SLOW_TO_END, {"reply_timeout": 0.3}, None),
        (SLOW_TO_END, {}, 0.3),
        (Say(pieces=["x", "y"], pause=60), {"first_token": 0.3}, None),
        (Say(pieces=["x", "y"], pause=60), {"reply_timeout": 0.3}, None),
        (Fail(503, "busy"), {"reply_timeout": 0.3, "retries": 9, "retry_wait": 0.2}, None),
    ],
)
def test_limits(item: Item, settings: dict[str, Any], timeout: float | None, pieces: Any) -> None:
    with ScriptedOllama(item) as server:
        began = time.monotonic()
        with pytest.raises(azent.ModelError):
            pieces(opened(server, **settings), Request(ASK.messages, timeout=timeout))
        assert time.monotonic() - began < 5  # and not a minute
        if not isinstance(item, Fail):
            assert server.saw_disconnect()


@pytest.mark.parametrize("item", [SLOW_TO_START, SLOW_TO_END])
def test_a_limit_that_is_reached_says_so(item: Item, pieces: Any) -> None:
    with ScriptedOllama(item) as server, pytest.raises(azent.ModelTimeout):
        pieces(opened(server, reply_timeout=0.2))


def test_a_slow_start_is_no_failure(pieces: Any) -> None:
    with ScriptedOllama(Say("warm", before=1.2)) as server:
        assert text_of(pieces(opened(server, connect_timeout=1))) == "warm"
    assert len(server.requests) == 1


# ---- stopping the server -------------------------------------------------------------------------


def test_closing_the_stream_closes_the_connection() -> None:
    with ScriptedOllama(SLOW_TO_END) as server:
        stream: Any = opened(server).stream(ASK)
        assert isinstance(next(stream), Delta)
        stream.close()
        assert server.saw_disconnect()


@pytest.mark.parametrize("item", [SLOW_TO_START, SLOW_TO_END])
def test_cancelling_closes_the_connection(item: Item) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(azent.Agent(opened(server)).aask("?"))
        await asyncio.to_thread(server.was_asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ScriptedOllama(item) as server:
        asyncio.run(cancelled())
        assert server.saw_disconnect()


def test_leaving_the_events_closes_the_connection() -> None:
    with ScriptedOllama(SLOW_TO_END) as server:
        for event in azent.Agent(opened(server)).stream("?"):
            if isinstance(event, azent.Chunk):
                break
        assert server.saw_disconnect()


# ---- where and how it connects -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "digest"), [("m", "0" * 64), ("m:latest", "0" * 64), ("other", "")]
)
def test_the_digest_is_that_of_the_model_of_the_name(name: str, digest: str) -> None:
    with ScriptedOllama("", models=["more:8b", "m:latest"]) as server:
        assert Ollama(name, host=server.url).digest() == digest
    with pytest.raises(ModelUnreachable):
        Ollama(name, host=server.url).digest()


def test_headers_and_logins_are_sent_and_never_shown(pieces: Any) -> None:
    with ScriptedOllama(Fail(401, "the token s3cr3t-token of kim:pa$$word is wrong")) as server:
        url = server.url.replace("//", "//kim:pa%24%24word@")
        model: Any = azent.open_model("m", host=url, headers={"X-Key": "Bearer s3cr3t-token"})
        with pytest.raises(azent.ModelError) as caught:
            pieces(model)
    sent = server.requests[0].headers
    assert sent["X-Key"] == "Bearer s3cr3t-token"
    assert base64.b64decode(sent["Authorization"].removeprefix("Basic ")) == b"kim:pa$$word"
    for shown in (repr(model), str(caught.value), repr(caught.value), caught.value.hint):
        assert "s3cr3t" not in shown
        assert "word" not in shown


@pytest.mark.parametrize("address", ["http://kim:s3cr3t@box:port", "kim:s3cr3t@box:99999999"])
def test_an_address_that_is_none_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(azent.SettingsError) as caught:
        azent.open_model("m", host=address)
    assert "s3cr3t" not in str(caught.value)


def test_loopback_ignores_proxies(pieces: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedOllama("direct") as server:
        assert text_of(pieces(opened(server))) == "direct"
        by_name = azent.open_model("m", host=f"http://localhost:{server.port}")
        assert text_of(pieces(by_name)) == "direct"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[ScriptedOllama]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with ScriptedOllama("sealed", tls=context) as server:
        yield server


def test_a_certificate_of_ones_own(
    pieces: Any, secure: ScriptedOllama, authority: trustme.CA, tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    context = ssl.create_default_context(cafile=str(file))
    for verify in (str(file), context, False):
        assert text_of(pieces(opened(secure, verify=verify))) == "sealed"


def test_a_certificate_that_nobody_vouches_for(pieces: Any, secure: ScriptedOllama) -> None:
    with pytest.raises(azent.ModelUnreachable, match="certificate") as caught:
        pieces(opened(secure))
    assert "verify" in caught.value.hint


def test_many_at_once() -> None:
    with ScriptedOllama(lambda body: body["messages"][-1]["content"]) as server:
        model = opened(server)
        said: dict[int, str] = {}

        def ask(n: int) -> None:
            said[n] = text_of(streamed(model, Request(({"role": "user", "content": f"I am {n}"},))))

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert said == {n: f"I am {n}" for n in range(20)}
