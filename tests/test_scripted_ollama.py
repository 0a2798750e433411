"""The scripted server is a server like Ollama's, as the official client sees it."""

from __future__ import annotations

from typing import Any

import httpx
import ollama
import pytest

from tests.scripted_ollama import Fail, HangUp, Lines, Say, ScriptedOllama

HELLO = [{"role": "user", "content": "Hello"}]


def parts(server: ScriptedOllama, **more: Any) -> list[ollama.ChatResponse]:
    with ollama.Client(server.url, timeout=more.pop("timeout", 10)) as client:
        return list(client.chat("scripted", HELLO, stream=True, **more))


def said(server: ScriptedOllama, **more: Any) -> str:
    return "".join(part.message.content or "" for part in parts(server, **more))


def test_it_follows_its_script_and_repeats_the_last_item() -> None:
    with ScriptedOllama("one", Say(pieces=("t", "wo"))) as server:
        assert [said(server) for _ in range(3)] == ["one", "two", "two"]
    assert server.counted[0].text == "Hello"


def test_it_goes_round_where_it_is_told_to() -> None:
    with ScriptedOllama("one", "two", cycles=True) as server:
        assert [said(server) for _ in range(3)] == ["one", "two", "one"]


def test_words_wait_for_a_request_without_a_format() -> None:
    with ScriptedOllama("words") as server:
        assert said(server, format={"type": "object"}) == '{"tools": []}'
        assert said(server) == "words"
    assert len(server.requests) == 2
    assert len(server.counted) == 1


def test_a_function_may_answer() -> None:
    with ScriptedOllama(lambda body: body["messages"][-1]["content"].upper()) as server:
        assert said(server) == "HELLO"


def test_the_end_has_counts() -> None:
    with ScriptedOllama(Say("abcdefgh", done_reason="length", prompt_tokens=7)) as server:
        *_, last = parts(server)
    assert (last.done, last.done_reason) == (True, "length")
    assert (last.prompt_eval_count, last.eval_count) == (7, 2)


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (Fail(404, "model not found"), ollama.ResponseError),
        (Fail(502, b"<html>"), ollama.ResponseError),
        (HangUp(), httpx.TransportError),
        (Say("half", breaks=True), httpx.TransportError),
        (Lines(['{"error": "runner died"}']), ollama.ResponseError),
    ],
)
def test_trouble(item: Fail | HangUp | Say | Lines, error: type[Exception]) -> None:
    with ScriptedOllama(item) as server, pytest.raises(error):
        said(server)


def test_a_client_that_leaves_is_seen_at_once() -> None:
    with ScriptedOllama(Say("never", before=60)) as server:
        with pytest.raises(httpx.ReadTimeout):
            said(server, timeout=0.1)
        assert server.saw_disconnect()


def test_it_knows_its_models() -> None:
    names = ("a:latest", "b:1b")
    with (
        ScriptedOllama(models=names, context_length=2048) as server,
        ollama.Client(server.url) as client,
    ):
        assert [model.model for model in client.list().models] == ["a:latest", "b:1b"]
        assert client.show("a").modelinfo == {
            "general.architecture": "scripted",
            "scripted.context_length": 2048,
        }
