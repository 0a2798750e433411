"""The model outputs of canitoolcall: nine dialects, none of which the reader is told.

Its rules are ours but for the few in `cases/dialects.json`, each with its reason. Output that the
suite calls broken is right when nothing runs; arguments that break a schema may be refused.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from azent.messages import Call, Reply, Specs
from azent.parsing.reader import Reader, read
from tests.reading import CASES

# What opens reasoning, or an answer, in a prompt that begins the reply itself; and what closes it.
OPENERS = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<|channel>thought": "<channel|>",
    "<|open|>think<|sep|>": "<|close|>think",
    "<|open|>response<|sep|>": "<|close|>response",
}
DIFFERENT = json.loads((CASES / "dialects.json").read_text("utf-8"))


def fixtures() -> Iterator[Any]:
    found = importlib.util.find_spec("canitoolcall")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0]) / "_data" / "fixtures"
    for family in sorted(folder.glob("*/family.json")):
        models = json.loads(family.read_text("utf-8"))["reference_models"]
        prompts = {model["repo"]: model.get("default_generation_prompt") for model in models}
        for file in sorted(family.parent.glob("*.jsonl")):
            for fixture in map(json.loads, file.read_text("utf-8").splitlines()):
                own = fixture.get("generation_prompt")
                prompt = prompts.get(fixture["models"][0]) if own is None else own
                fixture["text"] = left_open(prompt or "") + fixture["raw_output"]
                yield pytest.param(fixture, id=fixture["id"])


def left_open(prompt: str) -> str:
    """What a prompt opens and leaves to the reply to close."""
    for opener, closer in OPENERS.items():
        _, found, rest = prompt.rpartition(opener)
        if found and closer not in rest:
            return opener + rest
    return ""


def specs_of(fixture: dict[str, Any]) -> Specs:
    return {tool["function"]["name"]: tool["function"] for tool in fixture["tools"]}


def reason_of(fixture: dict[str, Any]) -> str:
    return "length" if "truncated" in fixture["tags"] else "stop"


def is_right(reply: Reply, fixture: dict[str, Any]) -> bool:
    legal = [call for call in reply.calls if call.problem is None]
    expected = fixture.get("expected")
    if expected is None:
        return not legal
    said = (
        (expected.get("content") or "").strip(),
        (expected.get("reasoning_content") or "").strip(),
    )
    return (reply.text, reply.thinking) == said and has_calls(
        legal, expected["tool_calls"], fixture
    )


def has_calls(legal: list[Call], wanted: list[Any], fixture: dict[str, Any]) -> bool:
    specs = specs_of(fixture)
    allowed = [call for call in wanted if is_allowed(call, specs)]
    return [(call.tool, given(call.tool_input, specs[call.tool])) for call in legal] == [
        (call["name"], given(call["arguments"], specs[call["name"]])) for call in allowed
    ]


def is_allowed(call: dict[str, Any], specs: Specs) -> bool:
    parameters = specs.get(call["name"], {"parameters": False}).get("parameters") or {}
    return jsonschema.Draft202012Validator(parameters).is_valid(call["arguments"])


def given(arguments: dict[str, Any], spec: Any) -> dict[str, Any]:
    """The arguments without optional ones that are null: they say nothing."""
    required = (spec.get("parameters") or {}).get("required", ())
    return {k: v for k, v in arguments.items() if v is not None or k in required}


FIXTURES = list(fixtures())


@pytest.mark.parametrize("fixture", FIXTURES)
def test_output(fixture: dict[str, Any]) -> None:
    reply = read(fixture["text"], specs_of(fixture), done_reason=reason_of(fixture))
    assert is_right(reply, fixture) == (fixture["id"] not in DIFFERENT), reply


@pytest.mark.parametrize("fixture", FIXTURES)
def test_output_in_pieces(fixture: dict[str, Any]) -> None:
    text, specs, reason = fixture["text"], specs_of(fixture), reason_of(fixture)
    reader, shown = Reader(specs), ""
    for piece in text:
        reader.feed(piece)
        shown += reader.words()
    reply = reader.close(reason)
    assert reply == read(text, specs, done_reason=reason)
    assert (shown + reader.words()).strip() == reply.text
