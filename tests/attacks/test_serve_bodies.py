"""Bodies that clients send to exhaust the server, to stall it, or to reach what is not served."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest

from azent import open_model
from azent.errors import ModelError, RequestRefused
from azent.messages import Request
from azent.serve import Options
from azent.serve.guard import DEEPEST, MOST_VALUES, body_of
from azent.serve.translate import DEEPEST_SCHEMA, MOST_MESSAGES, MOST_SCHEMA_PARTS, specs_of
from tests.asking import NONE, PATHS, USER, WEATHER, said_of
from tests.scripted_ollama import ScriptedOllama
from tests.serving import Telling, script, serving, wait_until
from tests.test_serve_traffic import recorded

STRING = {"type": "string"}


def wrapped(depth: int, wrap: Callable[[Any], Any]) -> Any:
    """A string's schema inside so many others."""
    node: Any = STRING
    for _ in range(depth):
        node = wrap(node)
    return node


def offering(*schemas: Any) -> dict[str, Any]:
    """The part of a request that offers a function for each schema."""
    functions = [{"name": f"f{n}", "parameters": schema} for n, schema in enumerate(schemas)]
    return {"tools": [{"type": "function", "function": function} for function in functions]}


def holding(schema: Any) -> dict[str, Any]:
    """The part of a request that holds an answer to a schema, in both protocols."""
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    return {"format": schema, "response_format": form, "tools": []}


@pytest.fixture(scope="module")
def model() -> Telling:
    return script("Hi.")


@pytest.fixture(scope="module")
def url(model: Telling) -> Iterator[str]:
    with serving({"m": model}) as url:
        yield url


def ask(address: str, **more: Any) -> httpx.Response:
    body = {"model": "m", "messages": [USER], "tools": [WEATHER], **more}
    return httpx.post(address, json=body, timeout=60)


# ---- size and depth ------------------------------------------------------------------------------

HALF = MOST_SCHEMA_PARTS // 2
TOO_LARGE: dict[str, dict[str, Any]] = {
    "a wide union": offering({"properties": {"a": {"anyOf": [STRING] * MOST_SCHEMA_PARTS}}}),
    "many properties": offering({"properties": dict.fromkeys(map(str, range(5000)), STRING)}),
    "many functions": offering(*[{"properties": {"a": STRING}}] * HALF),
    "functions that are large together": offering(*[{"allOf": [{}] * 1000}] * 6),
    "many definitions": offering({"$defs": dict.fromkeys(map(str, range(5000)), STRING)}),
    "data in place of schemas": offering({"default": [[]] * MOST_SCHEMA_PARTS}),
    "objects": offering(wrapped(40, lambda n: {"properties": {"a": n}})),
    "lists of lists": offering({"enum": wrapped(DEEPEST_SCHEMA, lambda n: [n])}),
    "unions in unions": offering(wrapped(40, lambda n: {"anyOf": [n]})),
    "negations": offering(wrapped(DEEPEST_SCHEMA, lambda n: {"not": n})),
    "a large schema of the answer": holding({"anyOf": [STRING] * MOST_SCHEMA_PARTS}),
    "a deep schema of the answer": holding(wrapped(DEEPEST_SCHEMA, lambda n: {"items": n})),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("more", TOO_LARGE.values(), ids=TOO_LARGE)
def test_schemas_are_refused_before_they_are_checked(
    url: str, model: Telling, path: str, more: dict[str, Any]
) -> None:
    before = len(model.heard)
    answer = ask(url + path, **more)
    assert answer.status_code == 400
    assert f"{MOST_SCHEMA_PARTS:,} parts" in said_of(answer)
    assert len(model.heard) == before


@pytest.mark.parametrize("depth", [60, 100, 300])
def test_schemas_of_any_depth_have_an_answer(url: str, depth: int) -> None:
    schema = wrapped(depth, lambda n: {"properties": {"a": n}})
    assert ask(f"{url}/api/chat", **offering(schema)).status_code == 400


STRUCTURES = {
    "empty lists": (b"[" + b"[]," * MOST_VALUES + b"1]", 413),
    "numbers": (b"[" + b"1," * MOST_VALUES + b"1]", 413),
    "objects": (b"[" + b'{"":0},' * MOST_VALUES + b"1]", 413),
    "keys": (b"{" + b'"a":1,' * MOST_VALUES + b'"b":1}', 413),
    "brackets after a string": (b'["\\"[[[",' + b"[]," * MOST_VALUES + b"1]", 413),
    "a deep list": (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), 400),
    "a deep object": (b'{"a":' * 300 + b"1" + b"}" * 300, 400),
    "a list without an end": (b"[" * 1_000_000, 400),
    "a string without an end": (b"[" * 100 + b'"' + b'\\"' * 1_000_000, 400),
    "closed before it is opened": (b"]" * 1_000_000, 400),
    "a number beyond all numbers": (b'{"model":"m","temperature":1e999}', 400),
    "a number without an end": (b'{"model":"m","seed":' + b"9" * 100_000 + b"}", 400),
}


@pytest.mark.parametrize(("raw", "status"), STRUCTURES.values(), ids=STRUCTURES)
def test_structures_are_counted_before_they_are_built(raw: bytes, status: int) -> None:
    with pytest.raises(RequestRefused) as refused:
        body_of(raw)
    assert refused.value.status == status


def test_brackets_in_texts_do_not_count() -> None:
    text = "[{,}]" * MOST_VALUES
    raw = json.dumps({"model": "m", "prompt": text, "lists": [[]] * DEEPEST}).encode()
    assert body_of(raw)["prompt"] == text


def test_other_clients_are_answered_while_a_large_schema_is_checked() -> None:
    properties = dict.fromkeys(map(str, range(MOST_SCHEMA_PARTS - 100)), STRING)
    body = {"model": "m", "messages": [USER], **offering({"properties": properties})}
    with serving({"m": script(NONE, "Hi.")}) as url, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx.post, f"{url}/api/chat", json=body, timeout=60)
        wait_until(lambda: "azent_requests_at_work 1" in httpx.get(f"{url}/metrics").text)
        assert httpx.get(f"{url}/health").status_code == 200
        assert not asked.done()
        assert asked.result().status_code in (200, 400)


def test_checks_end_with_their_client() -> None:
    looked_at: list[str] = []

    class Tool(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            looked_at.append(key)
            return super().__getitem__(key)

    schema = {"properties": dict.fromkeys(map(str, range(90)), STRING)}
    tools = [Tool(name=f"f{number}", parameters=schema) for number in range(50)]

    async def leave() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, specs_of, tools)
            while not looked_at:
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()

    anyio.run(leave)
    assert len(looked_at) < len(tools)


def called(number: int, id: str) -> dict[str, Any]:
    return {"id": id, "function": {"name": f"f{number}", "arguments": "{}"}}


def calling(ids: list[str], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A conversation of one message with many calls, and their results."""
    calls = [called(number, id) for number, id in enumerate(ids)]
    results = [{"role": "tool", "content": "1", **each} for each in results]
    return [USER, {"role": "assistant", "content": "", "tool_calls": calls}, *results]


HUNDRED = [f"c{number}" for number in range(100)]
THOUSANDS = [f"c{number}" for number in range(MOST_MESSAGES // 2)]
ANSWERED = {"role": "assistant", "content": "Yes."}
LONG_TALKS: dict[str, list[dict[str, Any]]] = {
    "questions": [USER] * (MOST_MESSAGES + 1),
    "system texts": [{"role": "system", "content": "x"}] * (MOST_MESSAGES + 1),
    "questions and answers": [USER, ANSWERED] * MOST_MESSAGES,
    "calls without results": calling(THOUSANDS * 2, []),
    "results in the other order": calling(
        THOUSANDS, [{"tool_call_id": id} for id in reversed(THOUSANDS)]
    ),
    "results by name": calling([""] * len(THOUSANDS), [{"name": f[1:]} for f in THOUSANDS]),
    "rounds": [m for id in HUNDRED for m in calling([id], [{"tool_call_id": id}])] * 14,
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("messages", LONG_TALKS.values(), ids=LONG_TALKS)
def test_conversations_that_would_take_minutes_are_refused(
    url: str, model: Telling, path: str, messages: list[dict[str, Any]]
) -> None:
    before = len(model.heard)
    answer = ask(url + path, messages=messages)
    assert answer.status_code == 413
    assert f"{MOST_MESSAGES:,} messages" in said_of(answer)
    assert len(model.heard) == before


def test_a_conversation_that_agents_have_is_taken(url: str) -> None:
    messages = [m for id in HUNDRED for m in calling([id], [{"tool_call_id": id}])]
    assert ask(f"{url}/api/chat", messages=messages).status_code == 200


# ---- all bodies together -------------------------------------------------------------------------


def halves(body: bytes, sent: list[int], go: Callable[[], bool]) -> Iterator[bytes]:
    """A body whose second half waits for a word."""
    yield body[: len(body) // 2]
    sent.append(1)
    wait_until(go, seconds=30)
    yield body[len(body) // 2 :]


def test_all_bodies_together_have_a_limit() -> None:
    body = json.dumps({"model": "m", "messages": [USER]}).encode().ljust(100_000)
    options = Options(max_bytes=200_000, max_total_bytes=260_000)
    sent: list[int] = []
    over: list[httpx.Response] = []

    def send(url: str) -> httpx.Response:
        content = halves(body, sent, lambda: bool(over))
        return httpx.post(f"{url}/api/chat", content=content, timeout=60)

    with serving({"m": script("Hi.")}, options) as url, ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(send, url) for _ in range(4)]
        wait_until(lambda: len(sent) == 4)
        answer = httpx.post(f"{url}/api/chat", content=body, timeout=60)
        over.append(answer)
        statuses = [each.result().status_code for each in slow]
        after = httpx.post(f"{url}/api/chat", content=body)
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert set(statuses) <= {200, 503}
    assert after.status_code == 200


def test_small_requests_are_answered_while_large_ones_fill_the_limit() -> None:
    large = json.dumps({"model": "m", "messages": [USER]}).encode().ljust(100_000)
    sent: list[int] = []
    over: list[httpx.Response] = []
    options = Options(max_bytes=200_000, max_total_bytes=99_000)

    def send(url: str) -> httpx.Response:
        content = halves(large, sent, lambda: bool(over))
        return httpx.post(f"{url}/api/chat", content=content, timeout=60)

    body = {"model": "m", "messages": [USER]}
    with serving({"m": script("Hi.")}, options) as url, ThreadPoolExecutor(2) as pool:
        slow = [pool.submit(send, url) for _ in range(2)]
        wait_until(lambda: len(sent) == 2)
        over.append(httpx.post(f"{url}/api/chat", json=body, timeout=60))
        assert {each.result().status_code for each in slow} <= {200, 503}
    assert over[0].status_code == 200


# ---- other models --------------------------------------------------------------------------------

OTHERS = [
    '{"model": "m", "MODEL": "secret", %s}',
    '{"model": "m", "Model": "secret", %s}',
    '{"MODEL": "secret", "model": "m", %s}',
    '{"model": "m", "mod\\u0045l": "secret", %s}',
    '{"model": "secret", "model": "m", %s}',
    '{"model": "m", "name": "secret", "NAME": "secret", %s}',
    '{"model": "m", "draft_model": "secret", %s}',
    '{"model": "m", "models": ["secret"], %s}',
]
WAYS = [*PATHS, "/api/generate", "/api/embed", "/v1/embeddings", "/v1/completions"]


@pytest.mark.parametrize("body", OTHERS)
def test_no_model_is_used_but_those_that_are_served(body: str) -> None:
    rest = '"messages": [{"role": "user", "content": "hi"}]'
    with recorded() as (host, seen), serving({"m": open_model("m", host=host)}) as url:
        for path in WAYS:
            httpx.post(url + path, content=body % rest)
    for _, sent in seen:
        pairs = json.loads(sent, object_pairs_hook=list)
        assert [value for key, value in pairs if key.casefold() == "model"] == ["m"]
        assert not [key for key, _ in pairs if key in ("MODEL", "draft_model", "models")]


@pytest.mark.parametrize("key", ["MODEL", "Messages", "TOOLS", "toolS", "Response_Format"])
def test_keys_that_others_read_differently_are_refused(url: str, key: str) -> None:
    answer = ask(f"{url}/v1/chat/completions", **{key: "x"})
    assert answer.status_code == 400
    assert key.casefold() in said_of(answer)


CHOOSING = {
    "model": "secret",
    "Model": "secret",
    "models": ["secret"],
    "messages": [],
    "stream": False,
    "tools": [],
    "fallbacks": ["secret"],
    "lora": [{"id": 0, "scale": 1.0}],
    "lora_path": "secret",
    "api_base": "http://127.0.0.1:1",
    "draft_model": "secret",
}


@pytest.mark.parametrize("address", ["{}", "openai:{}/v1#m"])
def test_no_option_takes_the_place_of_a_field(address: str) -> None:
    """With `tool_choice` "none" the model is asked for words, and for these the options count."""
    with recorded() as (host, seen):
        where = address.format(host)
        model = open_model(where, retries=0) if "#" in where else open_model("m", host=host)
        with serving({"m": model}) as url:
            for key, value in CHOOSING.items():
                for tools in ([], [WEATHER]):
                    more = {"options": {key: value}, "tools": tools, "tool_choice": "none"}
                    assert ask(f"{url}/api/chat", **more).status_code == 400, key
    assert seen == []


@pytest.mark.parametrize("key", ["lora", "LORA_path", "api_base", "model_list", "adapter_id"])
@pytest.mark.parametrize("path", WAYS)
def test_no_field_chooses_an_adapter_or_a_server(url: str, key: str, path: str) -> None:
    answer = ask(url + path, **{key: "secret"})
    assert answer.status_code == 400
    assert "`model` alone" in said_of(answer)


# ---- images --------------------------------------------------------------------------------------


def test_a_path_in_place_of_an_image_is_not_read(url: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    for image in [str(secret), "/etc/passwd", "/etc/init", "not base64", "aGVsbG8=", ""]:
        answer = ask(f"{url}/api/chat", messages=[{**USER, "images": [image]}])
        assert answer.status_code == 400, image
        part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}}
        said = [{"role": "user", "content": [part]}]
        answer = ask(f"{url}/v1/chat/completions", messages=said)
        assert answer.status_code == 400, image


@pytest.mark.parametrize("image", ["/etc/passwd", "/etc/init", "x.png", "not base64"])
def test_no_image_of_a_message_is_read_from_a_file(image: str) -> None:
    messages = ({"role": "user", "content": "What is this?", "images": [image]},)
    with ScriptedOllama("A picture.") as server:
        with suppress(ModelError):
            list(open_model("m", host=server.url, retries=0).stream(Request(messages)))
        sent = [asked.body["messages"][0]["images"] for asked in server.requests]
    assert all(images == [image] for images in sent)
