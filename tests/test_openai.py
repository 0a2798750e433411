"""The client of servers that speak OpenAI's protocol: what it sends and hears, whatever fails."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

import azent
from azent.messages import Call, Delta, End, Request
from azent.models import Model
from tests.scripted_openai import DONE, Answer, ScriptedOpenAI, chunk, event, fails, says
from tests.serving import calls_text, script, serving, wait_until

pytest.importorskip("openai", reason="the extra `openai` is not installed")

ASK = Request(({"role": "user", "content": "Hello"},))
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
Pieces = Callable[..., list[Delta | End]]


def streamed(model: Any, request: Request = ASK) -> list[Delta | End]:
    return list(model.stream(request))


def astreamed(model: Any, request: Request = ASK) -> list[Delta | End]:
    async def all_of() -> list[Delta | End]:
        return [piece async for piece in model.astream(request)]

    return asyncio.run(all_of())


@pytest.fixture(params=[streamed, astreamed])
def pieces(request: pytest.FixtureRequest) -> Pieces:
    """Both ways to ask: what holds for one holds for the other."""
    way: Pieces = request.param
    return way


def opened(server: ScriptedOpenAI, **settings: Any) -> Model:
    return azent.open_model(f"openai:{server.url}#m", **{"retry_wait": 0.01, **settings})


def text_of(pieces: list[Delta | End]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Delta))


# ---- what is sent and heard ----------------------------------------------------------------------


def test_a_reply_comes_in_pieces_and_with_what_it_cost(pieces: Pieces) -> None:
    with ScriptedOpenAI(says("Hel", "lo")) as server:
        *deltas, end = pieces(opened(server))
    assert deltas == [Delta("Hel"), Delta("lo")]
    assert isinstance(end, End)
    assert (end.usage.prompt_tokens, end.usage.reply_tokens, end.usage.requests) == (7, 2, 1)
    assert end.usage.seconds > 0


def test_what_is_sent(pieces: Pieces) -> None:
    image = Request(({"role": "user", "content": "What?", "images": ["/9j/AA", "iVBO"]},), SCHEMA)
    with ScriptedOpenAI(says("ok")) as server:
        model = opened(server, num_ctx=4096, options={"top_k": 3, "stop": ["."], "num_ctx": 1})
        pieces(model)
        pieces(model, Request(image.messages, SCHEMA, options={"temperature": 1}))
    plain, held = server.bodies
    assert plain["messages"] == list(ASK.messages)
    wanted = {"model": "m", "stream": True, "temperature": 0, "seed": 0, "max_tokens": 2048}
    assert plain.items() >= {**wanted, "top_k": 3, "stop": ["."]}.items()
    assert not {"response_format", "num_ctx", "num_predict", "tools", "extra_body"} & plain.keys()
    assert held["response_format"]["json_schema"]["schema"] == SCHEMA
    assert held["temperature"] == 1
    assert [part["type"] for part in held["messages"][0]["content"]] == [
        "text",
        "image_url",
        "image_url",
    ]
    urls = [part["image_url"]["url"] for part in held["messages"][0]["content"][1:]]
    assert urls == ["data:image/jpeg;base64,/9j/AA", "data:image/png;base64,iVBO"]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_kept_apart(name: str, pieces: Pieces) -> None:
    answer = Answer([chunk({name: "hm"}), chunk({"content": "Yes"}, "stop"), DONE])
    with ScriptedOpenAI(answer) as server:
        *deltas, _ = pieces(opened(server))
    assert deltas == [Delta("", "hm"), Delta("Yes")]


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (['{"a"', ": 1}"], Call("f", {"a": 1})),
        ([""], Call("f", {})),
        (["[1]"], "malformed"),
        (["[" * 100_000], "malformed"),
        (['{"a": '], "malformed"),
    ],
)
def test_calls_that_the_server_read(arguments: list[str], call: Any, pieces: Pieces) -> None:
    named = chunk({"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f"}}]})
    parts = [{"tool_calls": [{"index": 0, "function": {"arguments": a}}]} for a in arguments]
    script = Answer([named, *map(chunk, parts), chunk({}, "tool_calls"), DONE])
    with ScriptedOpenAI(script) as server:
        spec = {"name": "f", "description": "", "parameters": {"type": "object"}}
        (delta, end) = pieces(opened(server), Request(ASK.messages, tools=(spec,)))
    assert server.bodies[0]["tools"] == [{"type": "function", "function": spec}]
    assert isinstance(delta, Delta)
    assert isinstance(end, End)
    (made,) = delta.calls
    assert made == call or (made.problem and made.problem.kind == call)
    assert end.done_reason == "stop"


def test_a_reply_that_reached_its_limit_says_so(pieces: Pieces) -> None:
    with ScriptedOpenAI(says("He", why="length")) as server:
        end = pieces(opened(server))[-1]
    assert isinstance(end, End)
    assert end.done_reason == "length"


def test_nothing_of_the_environment_is_sent(
    pieces: Pieces, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", "secret-of-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with ScriptedOpenAI(says("ok")) as server:
        assert text_of(pieces(opened(server))) == "ok"
    assert "secret-of-mine" not in str(server.headers[0])


@pytest.mark.parametrize(
    ("address", "settings", "sent"),
    [
        ("http://", {"api_key": "k3y"}, "Bearer k3y"),
        ("http://me:p%40ss@", {}, "Basic bWU6cEBzcw=="),
        ("http://", {"headers": {"Authorization": "Token t"}}, "Token t"),
    ],
)
def test_who_asks(address: str, settings: dict[str, Any], sent: str) -> None:
    with ScriptedOpenAI(says("ok")) as server:
        url = server.url.replace("http://", address)
        model = azent.open_model(f"openai:{url}#m", **settings)
        assert text_of(streamed(model)) == "ok"
    assert server.headers[0]["Authorization"] == sent
    assert not any(secret in repr(model) for secret in ("k3y", "p%40ss", "p@ss", "Token t"))


# ---- what fails ----------------------------------------------------------------------------------


DEAD = Answer([chunk({"content": "He"}), event({"error": {"message": "dead"}})])


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (fails(400, "context of 4096 exceeded"), azent.ModelRefused, "context of 4096 exceeded"),
        (fails(404, "The model `m` does not exist."), azent.ModelNotFound, "has no 'm'"),
        (fails(404, "Not Found"), azent.ModelRefused, "Not Found"),
        (fails(401, "who? Bearer k3y"), azent.ModelRefused, r"who\? .*\*\*\*"),
        (fails(500, "broken"), azent.ModelRefused, "broken"),
        (Answer([b"<html>no</html>"], 500), azent.ModelRefused, "<html>no"),
        (says("He", why=None), azent.ReplyBroken, "broke off"),
        (says("He", why=None, breaks=True), azent.ReplyBroken, "broke off"),
        (
            Answer([chunk({"content": "He"}), event({"error": {"message": "dead"}})]),
            azent.ReplyBroken,
            "dead",
        ),
        (Answer([b"data: {oops\n\n"]), azent.ReplyBroken, "broke off"),
        (Answer(hangs_up=True), azent.ReplyBroken, "broke off"),
    ],
)
def test_what_fails_is_told_in_our_words(
    answer: Answer, error: type[Exception], words: str, pieces: Pieces
) -> None:
    with ScriptedOpenAI(answer) as server, pytest.raises(error, match=words) as raised:
        pieces(opened(server, api_key="k3y", retries=0))
    assert "k3y" not in str(raised.value)


@pytest.mark.parametrize(
    "trouble",
    [fails(503, "busy"), fails(429, "slowly"), Answer(), Answer(breaks=True)],
    ids=["503", "429", "nothing", "cut"],
)
def test_what_may_pass_is_tried_again(trouble: Answer, pieces: Pieces) -> None:
    with ScriptedOpenAI(trouble, trouble, says("ok")) as server:
        assert text_of(pieces(opened(server, retries=2))) == "ok"
    assert len(server.bodies) == 3


def test_what_has_begun_is_not_tried_again(pieces: Pieces) -> None:
    script = [says("He", why=None), says("ok")]
    with ScriptedOpenAI(*script) as server, pytest.raises(azent.ReplyBroken):
        pieces(opened(server))
    assert len(server.bodies) == 1


def test_nobody_listens(pieces: Pieces) -> None:
    model = azent.open_model("openai:http://127.0.0.1:9/v1#m", retries=1, retry_wait=0.01)
    with pytest.raises(azent.ModelUnreachable, match="cannot reach the server") as raised:
        pieces(model)
    assert "Ollama" not in raised.value.hint


@pytest.mark.parametrize("limit", ["request", "reply_timeout", "first_token"])
def test_a_reply_has_a_time_limit(limit: str, pieces: Pieces) -> None:
    settings = {} if limit == "request" else {limit: 0.2}
    request = Request(ASK.messages, timeout=0.2 if limit == "request" else None)
    slow = says("a", "b", "c", pause=0.5)
    with ScriptedOpenAI(slow) as server, pytest.raises(azent.ModelTimeout):
        pieces(opened(server, **settings), request)


def test_closing_a_reply_hangs_up() -> None:
    with ScriptedOpenAI(says(*["word "] * 200, pause=0.02)) as server:
        reply: Any = opened(server).stream(ASK)
        next(reply)
        reply.close()
        wait_until(lambda: server.left)


@pytest.mark.parametrize(
    "address",
    ["openai:", "openai:gpt", "openai:http://host/v1", "openai:ftp://h/v1#m", "openai:#m"],
)
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(azent.UsageError):
        azent.open_model(address)


def test_certificates(pieces: Pieces, tmp_path: Path) -> None:
    authority, file = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    sealed = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(sealed)
    with ScriptedOpenAI(says("sealed"), tls=sealed) as server:
        for verify in (str(file), ssl.create_default_context(cafile=str(file)), False):
            assert text_of(pieces(opened(server, verify=verify))) == "sealed"
        with pytest.raises(azent.ModelUnreachable, match="certificate") as raised:
            pieces(opened(server))
    assert "verify" in raised.value.hint


# ---- real servers --------------------------------------------------------------------------------


def test_an_agent_by_way_of_azents_own_server() -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    behind = script(calls_text(("add", {"a": 2, "b": 3})), "It is 5.")
    with serving({"m": behind}) as url:
        answer = azent.Agent(f"openai:{url}/v1#m", [add]).ask("What is 2 + 3?")
    assert (answer.text, [result.text for result in answer.results]) == ("It is 5.", ["5"])


@pytest.fixture(scope="module")
def llama_server(small_model_file: Path) -> Iterator[str]:
    """llama.cpp's own server, with a key, on a port of its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("OMP_WAIT_POLICY", "passive")  # see azent.models.embedded
        llama = pytest.importorskip("xllamacpp", reason="the extra `embedded` is not installed")
    parameters = llama.CommonParams()
    parameters.model.path = str(small_model_file)
    parameters.n_ctx, parameters.n_parallel, parameters.warmup = 1024, 1, False
    parameters.verbosity, parameters.port, parameters.api_keys = -1, 0, ["k3y"]
    server = llama.Server(parameters)
    yield f"{server.listening_address}/v1#qwen"
    del server  # it serves for as long as it is referred to


@pytest.mark.model
def test_llama_cpps_server_is_held_to_a_schema(llama_server: str, pieces: Pieces) -> None:
    model = azent.open_model(f"openai:{llama_server}", api_key="k3y", options={"num_predict": 60})
    asked = ({"role": "user", "content": "What is the capital of France? One word."},)
    said = pieces(model, Request(asked))
    assert "Paris" in text_of(said)
    assert isinstance(said[-1], End)
    assert said[-1].usage.prompt_tokens > 10
    assert json.loads(text_of(pieces(model, Request(asked, SCHEMA)))) == {"city": "Paris"}


@pytest.mark.model
def test_llama_cpps_server_wants_its_key(llama_server: str, pieces: Pieces) -> None:
    with pytest.raises(azent.ModelRefused) as raised:
        pieces(azent.open_model(f"openai:{llama_server}"))
    assert "api_key" in raised.value.hint
