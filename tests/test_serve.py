"""Both protocols, streamed and whole, over a model that is told what to say."""

from __future__ import annotations

from typing import Any

import pytest

from azent.messages import Delta, End
from azent.models import Scripted
from tests.asking import (
    BOTH,
    CALLED,
    IMAGE,
    NONE,
    PARIS,
    PATHS,
    SUNNY,
    USER,
    called,
    chat,
    events,
    named,
    ollama,
    openai,
)
from tests.serving import calls_text, script

# ---- OpenAI --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
class TestOpenAI:
    def test_a_call(self, stream: bool) -> None:
        message = openai(script(PARIS), stream=stream)
        assert called(message) == [("get_weather", {"city": "Paris"})]
        assert message["finish_reason"] == "tool_calls"
        assert message["content"] is None
        assert message["role"] == "assistant"
        assert all(
            c["id"].startswith("call_") and c["type"] == "function" for c in message["tool_calls"]
        )

    def test_several_calls_have_ids_of_their_own(self, stream: bool) -> None:
        message = openai(script(BOTH), stream=stream)
        assert called(message) == [("get_weather", {"city": "Paris"}), ("get_time", {})]
        assert len({call["id"] for call in message["tool_calls"]}) == 2

    def test_the_same_call_twice_is_made_once(self, stream: bool) -> None:
        twice = calls_text(("get_time", {}), ("get_time", {}))
        assert called(openai(script(twice), stream=stream)) == [("get_time", {})]

    def test_words_where_no_tool_fits(self, stream: bool) -> None:
        message = openai(script(NONE, "It is 42."), stream=stream)
        assert (message["content"], message["finish_reason"]) == ("It is 42.", "stop")
        assert "tool_calls" not in message

    def test_words_in_reply_to_a_decision(self, stream: bool) -> None:
        message = openai(script("It is 42."), stream=stream)
        assert message["content"] == "It is 42."

    def test_a_bad_reply_is_corrected_out_of_sight(self, stream: bool) -> None:
        message = openai(
            script('{"tools": [{"tool": "get_weather", "tool_input": {}}]}', PARIS), stream=stream
        )
        assert called(message) == [("get_weather", {"city": "Paris"})]
        assert message["content"] is None

    def test_reasoning_stands_apart(self, stream: bool) -> None:
        message = openai(script([Delta(thinking="Hm."), Delta(PARIS)]), stream=stream)
        assert message["reasoning_content"] == "Hm."
        assert called(message) == [("get_weather", {"city": "Paris"})]

    @pytest.mark.parametrize(
        "replies",
        [["No.</think>" + NONE, "A sum.</think>It is 42."], ["A sum.</think>It is 42."]],
    )
    def test_reasoning_without_its_opening_tag(self, stream: bool, replies: list[str]) -> None:
        message = openai(script(*replies), stream=stream)
        assert message["content"] == "It is 42."
        assert message["reasoning_content"].endswith("A sum.")

    def test_an_answer_that_was_cut_says_so(self, stream: bool) -> None:
        cut = [Delta("It is"), End("length")]
        assert openai(script(NONE, cut), stream=stream)["finish_reason"] == "length"

    def test_results_come_back_in_any_number_of_turns(self, stream: bool) -> None:
        model = script(calls_text(("get_time", {})))
        said = [
            USER,
            CALLED,
            SUNNY,
            {"role": "assistant", "content": "Sunny."},
            USER,
            CALLED,
            SUNNY,
        ]
        assert called(openai(model, stream=stream, messages=said)) == [("get_time", {})]
        shown = model.heard[0].messages[-1]["content"]
        assert '{"tool": "get_weather", "result": "sunny"}' in shown

    def test_an_answer_after_results(self, stream: bool) -> None:
        message = openai(script(NONE, "Sunny."), stream=stream, messages=[USER, CALLED, SUNNY])
        assert (message["content"], message["finish_reason"]) == ("Sunny.", "stop")

    def test_half_a_character_of_a_model_breaks_nothing(self, stream: bool) -> None:
        assert openai(script(NONE, "a \ud800 b"), stream=stream)["content"] == "a ? b"

    def test_unicode_survives(self, stream: bool) -> None:
        text = 'Zürich "東京"\n🚀 \\ \u2028'
        made = calls_text(("get_weather", {"city": text}))
        assert called(openai(script(made), stream=stream)) == [("get_weather", {"city": text})]

    def test_one_call_where_no_more_are_wanted(self, stream: bool) -> None:
        model = script(BOTH)
        message = openai(model, stream=stream, parallel_tool_calls=False)
        assert called(message) == [("get_weather", {"city": "Paris"})]
        schema = model.heard[0].format
        assert schema is not None
        calls, _ = schema["anyOf"]
        assert calls["properties"]["tools"]["maxItems"] == 1


@pytest.mark.parametrize(
    ("choice", "replies", "calls"),
    [
        ("auto", [NONE, "Hello."], []),
        ("auto", [PARIS], [("get_weather", {"city": "Paris"})]),
        ("none", ["Hello."], []),
        ("required", [NONE, PARIS], [("get_weather", {"city": "Paris"})]),
        ("required", ["Hello.", PARIS], [("get_weather", {"city": "Paris"})]),
        (named("get_time"), [PARIS, calls_text(("get_time", {}))], [("get_time", {})]),
        (named("get_time"), [NONE, calls_text(("get_time", {}))], [("get_time", {})]),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_a_choice_is_enforced(path: str, choice: Any, replies: list[str], calls: list[Any]) -> None:
    model = script(*replies)
    answer = chat(model, path, tool_choice=choice, stream=False).json()
    message = answer["message"] if "message" in answer else answer["choices"][0]["message"]
    assert called(message) == calls
    assert bool(calls) or message["content"] == "Hello."
    assert len(model.heard) == len(replies)


@pytest.mark.parametrize("choice", ["required", named("get_time")])
def test_a_choice_holds_after_results_too(choice: Any) -> None:
    model = script(NONE, calls_text(("get_time", {})))
    message = openai(model, messages=[USER, CALLED, SUNNY], tool_choice=choice)
    assert called(message) == [("get_time", {})]


def test_no_tools_are_shown_where_none_may_be_called() -> None:
    model = script("Sunny.")
    openai(model, messages=[USER, CALLED, SUNNY], tool_choice="none")
    assert model.heard[0].format is None
    system = [m for m in model.heard[0].messages if m["role"] == "system"]
    assert system == []


def test_a_stream_counts_tokens_when_asked() -> None:
    answer = chat(script(NONE, "It is so."), "/v1/chat/completions", stream=True,
                  stream_options={"include_usage": True})  # fmt: skip
    last = events(answer)[-1]
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 25)


def test_an_answer_is_held_to_the_schema_that_is_asked_for() -> None:
    schema = {"type": "object", "properties": {"degrees": {"type": "integer"}}}
    model = script(NONE, '{"degrees": 18}')
    wanted = {"type": "json_schema", "json_schema": {"name": "w", "schema": schema}}
    message = openai(model, response_format=wanted)
    assert message["content"] == '{"degrees": 18}'
    assert model.heard[1].format == schema
    assert model.heard[0].format != schema


def test_a_schema_for_words_is_inlined() -> None:
    model = script(NONE, "{}")
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "w", "schema": schema}}
    openai(model, response_format=wanted)
    assert model.heard[1].format == {"properties": {"a": {"type": "integer"}}}
    away = {"type": "json_schema", "json_schema": {"schema": {"$ref": "http://127.0.0.1:9/"}}}
    assert chat(model, PATHS[0], response_format=away).status_code == 400


def test_options_are_for_words_and_not_for_decisions() -> None:
    model = script(NONE, "Hello.")
    openai(model, temperature=0.7, max_tokens=5, stop="x", seed=3, top_k=9)
    assert model.heard[0].options == {}
    assert model.heard[1].options == {
        "top_k": 9,
        "temperature": 0.7,
        "num_predict": 5,
        "stop": ["x"],
        "seed": 3,
    }


def test_images_reach_the_model() -> None:
    model = script(PARIS)
    parts = [
        {"type": "text", "text": "Where is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}},
    ]
    openai(model, messages=[{"role": "user", "content": parts}])
    assert model.heard[0].messages[-1]["images"] == [IMAGE]


# ---- Ollama --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True, None])
def test_ollama_calls_and_words(stream: bool | None) -> None:
    asked = {} if stream is None else {"stream": stream}
    made = ollama(script(BOTH), **asked)
    assert called(made["message"]) == [("get_weather", {"city": "Paris"}), ("get_time", {})]
    assert made["done_reason"] == "stop"
    assert made["eval_count"] > 0
    said = ollama(script(NONE, [Delta(thinking="Hm."), Delta("It "), Delta("is.")]), **asked)
    assert said["message"] == {"content": "It is.", "tool_calls": [], "thinking": "Hm."}


@pytest.mark.parametrize("more", [{}, {"tool_name": "get_weather"}, {"tool_call_id": "x"}])
def test_ollama_results_are_matched_without_ids(more: dict[str, str]) -> None:
    model = script(NONE, "Sunny.")
    function = {"name": "get_weather", "arguments": {"city": "Paris"}}
    said = [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [{"function": function}]},
        {"role": "tool", "content": "sunny", **more},
    ]
    assert ollama(model, messages=said)["message"]["content"] == "Sunny."
    assert '"result": "sunny"' in model.heard[0].messages[-1]["content"]


def test_ollama_options_format_and_images() -> None:
    model = script(NONE, "{}")
    said = [{**USER, "images": [IMAGE]}]
    ollama(
        model, messages=said, options={"temperature": 1, "num_ctx": 99}, format={"type": "object"}
    )
    assert model.heard[1].options == {"temperature": 1}
    assert model.heard[1].format == {"type": "object"}
    assert model.heard[1].messages[-1]["images"] == [IMAGE]


# ---- long conversations --------------------------------------------------------------------------


class Small(Scripted):
    """A model that has less context than was asked for."""

    def context(self) -> int | None:
        return 2048


@pytest.mark.parametrize("model", [Scripted(NONE, "It is sunny.", num_ctx=2048),
                                   Small(NONE, "It is sunny.", num_ctx=32768)])  # fmt: skip
def test_a_conversation_that_is_longer_than_the_context_is_shortened(model: Scripted) -> None:
    result = {**SUNNY, "content": "sunny " * 10_000}
    message = openai(model, messages=[USER, CALLED, result])
    assert message["content"] == "It is sunny."
    assert all(len(str(request.messages)) < 8 * 2048 for request in model.heard)


# ---- without a server behind ---------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_a_model_without_a_server_answers_chats_without_tools(path: str) -> None:
    model = Scripted("Hello there.")
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    answer = chat(model, path, messages=said, tools=[], stream=False).json()
    message = answer["message"] if "message" in answer else answer["choices"][0]["message"]
    assert message["content"] == "Hello there."
    assert model.heard[0].messages == tuple(said)
    assert model.heard[0].format is None


def test_a_whole_answer_has_no_reasoning_that_came_unopened() -> None:
    message = openai(script(NONE, "A sum.</think>It is 42."), stream=False)
    assert (message["content"], message["reasoning_content"]) == ("It is 42.", "A sum.")
