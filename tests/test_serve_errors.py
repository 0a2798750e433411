"""What goes wrong has the right status, in the shape of the protocol that was spoken."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from azent.errors import ModelNotFound, ModelRefused, ModelTimeout, ModelUnreachable, ReplyBroken
from azent.messages import Delta, End
from tests.asking import (
    NONE,
    PATHS,
    SUNNY,
    USER,
    WEATHER,
    chat,
    named,
    said_of,
)
from tests.serving import Telling, calls_text, script, serving

# ---- errors --------------------------------------------------------------------------------------

FAILURES = [
    (ModelUnreachable("nothing answers"), 503),
    (ModelNotFound("no such model"), 404),
    (ModelTimeout("too slow"), 504),
    (ModelRefused("too long", status=400), 400),
    (ModelRefused("out of memory", status=500), 502),
    (ReplyBroken("it broke off"), 502),
    ("[TOOL_CALLS]nonsense {", 502),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("failure", "status"), FAILURES, ids=lambda one: str(one)[:20])
def test_failures_have_a_status_and_a_shape(
    path: str, failure: Any, status: int, stream: bool
) -> None:
    bad = (
        '{"tools": [{"tool": "get_weather", "tool_input": {"city": 5'
        if isinstance(failure, str)
        else failure
    )
    answer = chat(script(bad), path, stream=stream, tool_choice="required")
    assert answer.status_code == status
    assert said_of(answer)


@pytest.mark.parametrize("path", PATHS)
def test_what_breaks_off_in_a_stream_says_so_there(path: str) -> None:
    class Breaking(Telling):
        async def astream(self, request: Any) -> Any:
            if request.format:
                yield Delta(NONE)
                yield End()
                return
            yield Delta("It is ")
            yield Delta("so ")
            raise ReplyBroken("the runner died")

    answer = chat(Breaking(lambda request: ""), path, stream=True)
    assert answer.status_code == 200
    last = answer.text.strip().splitlines()[-1].removeprefix("data: ")
    assert "the runner died" in json.dumps(json.loads(last)["error"])
    assert "[DONE]" not in answer.text


BAD_BODIES: list[tuple[str, Any]] = [
    ("not JSON", b"{"),
    ("a list", b"[]"),
    ("too deep", b"[" * 100_000),
    ("no Unicode", b'{"model": "\xff"}'),
    ("half a character", b'{"model": "\\uD800", "messages": [{"role": "user"}]}'),
    ("no number", b'{"model": "m", "messages": [{"role": "user"}], "temperature": NaN}'),
    ("no model", {"messages": [USER]}),
    ("a model of another type", {"model": 5, "messages": [USER]}),
    ("no messages", {"model": "m"}),
    ("empty messages", {"model": "m", "messages": []}),
    ("messages of another type", {"model": "m", "messages": "hi"}),
    ("a message of another type", {"model": "m", "messages": ["hi"]}),
    ("an unknown role", {"model": "m", "messages": [{"role": "wizard", "content": "hi"}]}),
    ("tools of another type", {"model": "m", "messages": [USER], "tools": {"a": 1}}),
    ("a tool without a name", {"model": "m", "messages": [USER], "tools": [{"function": {}}]}),
    ("a name twice", {"model": "m", "messages": [USER], "tools": [WEATHER, WEATHER]}),
    ("a reserved name", {"model": "m", "messages": [USER], "tools": [named("auto")]}),
    ("an empty name", {"model": "m", "messages": [USER], "tools": [named("")]}),
    ("a name with a line break", {"model": "m", "messages": [USER], "tools": [named("a\nb")]}),
    (
        "an unknown choice",
        {"model": "m", "messages": [USER], "tools": [WEATHER], "tool_choice": "x"},
    ),
    ("a choice among no tools", {"model": "m", "messages": [USER], "tool_choice": "required"}),
    ("a result without a call", {"model": "m", "messages": [USER, SUNNY], "tools": [WEATHER]}),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body", [body for _, body in BAD_BODIES], ids=[name for name, _ in BAD_BODIES]
)
def test_bad_requests_are_refused_in_words(path: str, body: Any) -> None:
    with serving({"m": script("Hello.")}) as url:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = httpx.post(url + path, content=content)
    assert answer.status_code == 400
    assert said_of(answer)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"tool_choice": "x"}, "tool_choice: Input should be 'auto', 'none' or 'required'"),
        ({"messages": "x"}, "messages: Input should be a valid list"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content: Input should be a"),
        ({"tools": [{"function": {}}]}, "tools.0.function.name: Field required"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(more: dict[str, Any], said: str) -> None:
    answer = chat(script("Hello."), "/v1/chat/completions", **more)
    assert said_of(answer).startswith(said)


BAD_SCHEMAS = [
    {"type": "string"},
    {"type": 5},
    {"type": "object", "properties": ["a"]},
    {"type": "object", "properties": {"a": {"type": "nonsense"}}},
    {"type": "object", "required": "a"},
]


@pytest.mark.parametrize("schema", BAD_SCHEMAS, ids=str)
def test_what_is_no_schema_of_an_object_is_refused(schema: Any) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    answer = chat(script("Hello."), "/v1/chat/completions", tools=[tool])
    assert answer.status_code == 400
    assert "'f'" in said_of(answer)


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
    ],
)
def test_schemas_of_clients_are_not_trusted(parameters: Any) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    made = calls_text(("f", {"a": "a" * 40 + "!"}))
    answer = chat(script(made), "/v1/chat/completions", tools=[tool])
    assert answer.status_code in (200, 400, 502)


def test_n_is_one() -> None:
    assert chat(script("x"), "/v1/chat/completions", n=2).status_code == 400


def test_images_are_not_fetched() -> None:
    part = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/x.png"}}
    answer = chat(
        script("x"), "/v1/chat/completions", messages=[{"role": "user", "content": [part]}]
    )
    assert answer.status_code == 400
