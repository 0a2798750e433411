"""Requests to a server, and what clients make of its answers, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from azent.models import Scripted
from tests.serving import Telling, calls_text, serving

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}
TIME = {
    "type": "function",
    "function": {"name": "get_time", "description": "Now.", "parameters": {}},
}
PARIS = calls_text(("get_weather", {"city": "Paris"}))
BOTH = calls_text(("get_weather", {"city": "Paris"}), ("get_time", {}))
NONE = calls_text()
PATHS = ["/v1/chat/completions", "/api/chat"]
IMAGE = "iVBORw0KGgo="  # how a PNG begins
USER = {"role": "user", "content": "What is the weather in Paris?"}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
        }
    ],
}
SUNNY = {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}


def chat(model: Telling | Scripted, path: str, *, name: str = "m", **body: Any) -> httpx.Response:
    """What the server says to one request."""
    asked = {"model": name, "messages": [USER], "tools": [WEATHER, TIME], **body}
    with serving({"m": model}) as url:
        return httpx.post(url + path, json=asked, timeout=20)


def openai(model: Telling | Scripted, *, stream: bool = False, **body: Any) -> dict[str, Any]:
    """The choice of a completion, put together where it was streamed."""
    answer = chat(model, "/v1/chat/completions", stream=stream, **body)
    assert answer.status_code == 200, answer.text
    if not stream:
        choice = answer.json()["choices"][0]
        return {"finish_reason": choice["finish_reason"], **choice["message"]}
    return joined(events(answer))


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    lines = answer.text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def joined(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a stream's deltas make, as clients put them together."""
    made: dict[str, Any] = {"content": None}
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            made["role"] = delta.get("role", made.get("role"))
            made["finish_reason"] = choice["finish_reason"]
            for name in ("content", "reasoning_content"):
                if delta.get(name):
                    made[name] = (made.get(name) or "") + delta[name]
            for part in delta.get("tool_calls", ()):
                call = calls.setdefault(part["index"], {"function": {"name": "", "arguments": ""}})
                call.update({key: part[key] for key in ("id", "type") if key in part})
                for name, piece in part["function"].items():
                    call["function"][name] += piece
    return {**made, "tool_calls": [calls[at] for at in sorted(calls)]} if calls else made


def called(message: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The calls of a message of either protocol."""
    functions = [call["function"] for call in message.get("tool_calls", ())]
    given = [function["arguments"] for function in functions]
    inputs = [json.loads(one) if isinstance(one, str) else one for one in given]
    return [(f["name"], one) for f, one in zip(functions, inputs, strict=True)]


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def ollama(model: Telling | Scripted, **body: Any) -> dict[str, Any]:
    """The last line of a chat, with the message that all of them make."""
    answer = chat(model, "/api/chat", **body)
    assert answer.status_code == 200, answer.text
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    message: dict[str, Any] = {"content": "".join(line["message"]["content"] for line in lines)}
    message["tool_calls"] = [c for line in lines for c in line["message"].get("tool_calls", ())]
    message["thinking"] = "".join(line["message"].get("thinking", "") for line in lines)
    return {**lines[-1], "message": message}


def said_of(answer: httpx.Response) -> str:
    """The message of an error, in whichever shape the path has."""
    error = answer.json()["error"]
    if answer.url.path.startswith("/api/"):
        assert isinstance(error, str)
        return error
    assert set(error) == {"message", "type", "param", "code"}
    return str(error["message"])
