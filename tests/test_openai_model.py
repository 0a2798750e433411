"""Models of servers that speak OpenAI's protocol: azent's own server stands at the other end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import httpx
import pytest

import azent
from azent.errors import ModelRefused
from azent.messages import Delta, End, Request
from azent.models.openai import OpenAI
from azent.serve import Options
from tests.asking import NONE, PATHS, USER, WEATHER, called
from tests.serving import Telling, calls_text, script, serving, wait_until

Pieces = list[Delta | End]
HELLO = Request(({"role": "user", "content": "Hello"},))


def by_stream(model: OpenAI, request: Request) -> Pieces:
    return list(model.stream(request))


def by_astream(model: OpenAI, request: Request) -> Pieces:
    async def streamed() -> Pieces:
        return [piece async for piece in model.astream(request)]

    return asyncio.run(streamed())


@pytest.fixture(params=[by_stream, by_astream])
def stream(request: pytest.FixtureRequest) -> Callable[[OpenAI, Request], Pieces]:
    """Both ways to read a reply: what holds for one holds for the other."""
    way: Callable[[OpenAI, Request], Pieces] = request.param
    return way


def opened(url: str, **settings: Any) -> OpenAI:
    model = azent.open_model(f"openai:{url}/v1#m", retries=0, **settings)
    assert isinstance(model, OpenAI)
    return model


def test_format_options_and_images_go_along(stream: Callable[..., Pieces]) -> None:
    model = script("{}")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    said = {"role": "user", "content": "What is this?", "images": ["/9j/aa=="]}
    with serving({"m": model}) as url:
        stream(
            opened(url, options={"top_p": 0.5}),
            Request((said,), schema, options={"num_predict": 9}),
        )
    heard = model.heard[0]
    assert heard.messages == (said,)
    assert heard.format == schema
    options = {
        name: heard.options[name] for name in ("temperature", "seed", "top_p", "num_predict")
    }
    assert options == {"temperature": 0, "seed": 0, "top_p": 0.5, "num_predict": 9}


def test_a_key_goes_along(stream: Callable[..., Pieces], monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"m": script("Hi.")}, Options(token="secret")) as url:
        with pytest.raises(ModelRefused) as refused:
            stream(opened(url), HELLO)
        assert refused.value.status == 401
        assert stream(opened(url, api_key="secret"), HELLO)
        monkeypatch.setenv("AZENT_API_KEY", "secret")
        assert stream(opened(url), HELLO)


# ---- and as the model behind a server ------------------------------------------------------------


def test_leaving_a_reply_stops_the_server() -> None:
    behind = Telling(lambda request: "more " * 1000, pause=0.01)
    with serving({"m": behind}) as url:
        pieces = opened(url).stream(HELLO)
        next(pieces)
        assert isinstance(pieces, Generator)
        pieces.close()
        wait_until(lambda: behind.stopped == 1)


@pytest.mark.parametrize("path", PATHS)
def test_tools_for_a_model_behind_another_server(path: str) -> None:
    behind = script(calls_text(("get_weather", {"city": "Paris"})))
    body = {"model": "m", "messages": [USER], "tools": [WEATHER], "stream": False}
    with serving({"m": behind}) as url, serving({"m": opened(url)}) as front:
        answer = httpx.post(front + path, json=body, timeout=20).json()
    message = answer["message"] if "message" in answer else answer["choices"][0]["message"]
    assert called(message) == [("get_weather", {"city": "Paris"})]


@pytest.mark.parametrize("path", PATHS)
def test_chats_without_tools_reach_a_server_of_one_protocol(path: str) -> None:
    behind = script("Hello.")
    body = {"model": "m", "messages": [USER], "stream": False}
    with serving({"m": behind}) as url, serving({"m": opened(url)}) as front:
        answer = httpx.post(front + path, json=body, timeout=20).json()
    message = answer["message"] if "message" in answer else answer["choices"][0]["message"]
    assert message["content"] == "Hello."
    assert NONE not in str(behind.heard)
