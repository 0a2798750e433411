"""The schema that decoding is held to: what it allows, and that grammars can be made of it."""

from __future__ import annotations

import datetime
import json
from typing import Any, Literal

import httpx
import jsonschema
import pytest
from pydantic import BaseModel, Field

from azent.parsing.decoding_schema import reply_schema
from azent.parsing.reader import read
from azent.schema.introspect import function_to_json


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
        "hour": {"type": "string", "description": "Uhrzeit (HH:MM)"},
        "day": {"type": ["string", "null"], "description": "as YYYY-MM-DD", "default": None},
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
    for keyword in ("$ref", "const", "null", "allOf", "oneOf", "email"):
        assert f'"{keyword}"' not in dumped
    # The only patterns are those of the masks in two descriptions.
    assert dumped.count('"pattern"') == 2


def held_to(about: dict[str, Any]) -> dict[str, Any]:
    """What a text that is so described is held to, as the only input of a function."""
    parameters = {"type": "object", "properties": {"it": about}, "required": ["it"]}
    call = reply_schema({"f": {"name": "f", "parameters": parameters}})
    items = call["properties"]["tools"]["items"]
    schema: dict[str, Any] = items["properties"]["tool_input"]["properties"]["it"]
    return schema


@pytest.mark.parametrize(
    ("description", "right", "wrong"),
    [
        ("The date as YYYY-MM-DD", "2024-03-01", "2024-3-1"),
        ("The date (mm/dd/yyyy)", "03/31/2024", "2024-03-31"),
        ("Le jour (DD/MM/YYYY)", "31/03/2024", "03-31-2024"),
        ("日付（YYYY/MM/DD）", "2024/03/31", "2024-03-31"),
        ("Tag.Monat.Jahr, also DD.MM.YYYY.", "31.03.2024", "31-03-2024"),
        ("Дата: YYYY-MM-DD, например 2023-04-15", "2024-03-01", "1 марта"),
        ("24-hour format 'HH:MM', such as '19:00' for 7 PM", "07:30", "7:30 AM"),
        ("When, in the format 'YYYY-MM-DD HH:MM:SS'", "2024-03-01 07:30:00", "2024-03-01"),
        ("When, as YYYY-MM-DDTHH:MM:SSZ", "2024-03-01T07:30:00Z", "2024-03-01 07:30:00"),
    ],
)
def test_a_text_is_held_to_the_mask_in_its_description(
    description: str, right: str, wrong: str
) -> None:
    judge = jsonschema.Draft202012Validator(held_to({"type": "string", "description": description}))
    assert (judge.is_valid(right), judge.is_valid(wrong)) == (True, False)


@pytest.mark.parametrize(
    "description",
    [
        "",
        "The city and state, e.g. San Francisco, CA",
        "In the format 'City, State'",
        "The day, such as '2023-04-15'",
        "As YYYY-MM-DD or MM/DD/YYYY",
        "From YYYY-MM-DD to YYYY-MM-DD",
        "Uhrzeit von HH:MM bis HH:MM",
        "As HH:MM AM or PM",
        "HH:MM a.m.",
        "MMM-DD-YYYY",
        "AAAA-MM-JJ",
        "see YYYY-MM-DD.csv",
        "2024-YYYY-MM-DD",
    ],
)
def test_a_description_that_leaves_a_choice_holds_to_nothing(description: str) -> None:
    assert held_to({"type": "string", "description": description}) == {"type": "string"}


@pytest.mark.parametrize(
    ("default", "held"),
    [(None, True), ("2024-03-01", True), ("today", False), ("", False), ("YYYY-MM-DD", False)],
)
def test_a_default_of_another_form_leaves_the_model_free(default: Any, held: bool) -> None:
    about = {"type": "string", "description": "As YYYY-MM-DD", "default": default}
    assert ("pattern" in held_to(about)) is held


def test_an_optional_text_is_held_to_its_form_too() -> None:
    def book(day: str | None = None) -> None:
        """Book a table.

        Args:
            day: the day, as YYYY-MM-DD
        """

    schema = reply_schema({"book": function_to_json(book)})
    assert json.dumps(schema).count("[0-9]{4}-[0-9]{2}-[0-9]{2}") == 1


@pytest.mark.parametrize(
    "about",
    [
        {"type": "string", "enum": ["2024-01-01", "any"]},
        {"type": "string", "format": "date"},
        {"type": "integer"},
        {"type": "array", "items": {"type": "string"}},
    ],
)
def test_only_texts_that_nothing_else_holds_are_held_to_a_form(about: dict[str, Any]) -> None:
    assert held_to({**about, "description": "as YYYY-MM-DD"}) == about
