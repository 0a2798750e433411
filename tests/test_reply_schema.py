"""The schema that decoding is held to: what it allows, and that grammars can be made of it."""

from __future__ import annotations

import datetime
import json
from typing import Any, Literal

import httpx
import jsonschema
import pytest
from pydantic import BaseModel, Field

from azent.reply import read, reply_schema
from azent.schema import function_to_json


class Node(BaseModel):
    value: str
    children: list[Node] = []


class Person(BaseModel):
    name: str = Field(pattern=r"^[A-Z]\w+$", max_length=5000)
    age: int | None = Field(None, ge=0, le=150)
    kind: Literal["a", "b"] = "a"
    when: datetime.datetime | None = None
    tags: set[str] = set()
    many: list[float] = Field(default=[], max_length=1000)


def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather."""
    return city + unit


def plant(tree: Node) -> None:
    """Plant a tree."""


def store(person: Person, extra: dict[str, int] | None = None, note: Any = None) -> None:
    """Store a person."""


def now() -> str:
    """The time."""
    return ""


SPECS = {each.__name__: function_to_json(each) for each in (weather, plant, store, now)}
ODD = {
    "type": "object",
    "properties": {
        "only_described": {"description": "anything"},
        "either": {"oneOf": [{"type": "string"}, {"type": "null"}]},
        "several": {"type": ["string", "integer", "null"]},
        "mixed": {"enum": [1, "x", None]},
        "list": {"type": "array"},
        "all": {"allOf": [{"type": "object", "properties": {"z": {"type": "integer"}}}]},
        "not": {"not": {"type": "null"}},
        "free": {"type": "string", "format": "email", "pattern": "foo(?=bar)"},
        "four": {"const": 4},
        "anything": True,
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 1},
    },
    "required": ["only_described"],
}
CALLS: dict[str, list[Any]] = {
    "none": [],
    "weather": [{"tool": "weather", "tool_input": {"city": "Oslo", "unit": "celsius"}}],
    "now": [{"tool": "now", "tool_input": {}}],
    "unknown": [{"tool": "fly", "tool_input": {}}],
    "no input": [{"tool": "now"}],
    "wrong input": [{"tool": "weather", "tool_input": {"city": 3}}],
    "two": [{"tool": "now", "tool_input": {}}, {"tool": "weather", "tool_input": {"city": "Oslo"}}],
}


@pytest.mark.parametrize(
    ("choice", "allowed"),
    [
        ("auto", {"none", "weather", "now", "two"}),
        ("none", {"none"}),
        ("required", {"weather", "now", "two"}),
        ("now", {"now"}),
        ("weather", {"weather"}),
    ],
)
def test_what_a_choice_allows(choice: str, allowed: set[str]) -> None:
    judge = jsonschema.Draft202012Validator(reply_schema(SPECS, choice))
    assert {name for name, calls in CALLS.items() if judge.is_valid({"tools": calls})} == allowed


def test_what_it_allows_is_read() -> None:
    for name in ("weather", "now", "two"):
        reply = read(json.dumps({"tools": CALLS[name]}), SPECS)
        assert [{"tool": c.tool, "tool_input": c.tool_input} for c in reply.calls] == CALLS[name]
        assert all(call.problem is None for call in reply.calls)


@pytest.mark.model
@pytest.mark.parametrize("choice", ["auto", "none", "odd"])
def test_a_real_server_makes_a_grammar_of_it(ollama: str, choice: str) -> None:
    specs = {"odd": {"name": "odd", "parameters": ODD}, **SPECS}
    body = {
        "model": "qwen2.5-coder:0.5b",
        "stream": False,
        "format": reply_schema(specs, choice, thought=choice == "auto"),
        "options": {"temperature": 0, "num_predict": 4},
        "messages": [{"role": "user", "content": "now"}],
    }
    answer = httpx.post(f"{ollama}/api/chat", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
    assert answer.json()["message"]["content"].startswith("{")


def test_a_thought_comes_first() -> None:
    schema = reply_schema(SPECS, thought=True)
    assert list(schema["properties"]) == schema["required"] == ["thought", "tools"]


def test_nothing_in_it_refers_or_names_null() -> None:
    dumped = json.dumps(reply_schema({"odd": {"name": "odd", "parameters": ODD}, **SPECS}))
    for keyword in ("$ref", "const", "null", "pattern", "allOf", "oneOf", "email"):
        assert f'"{keyword}"' not in dumped
