"""Examples made from functions: what they show, and that their calls are always legal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from azent.conversation.requests import Terms, messages_for
from azent.messages import Question
from azent.prompt import Example, PromptSet, examples, read
from azent.schema.introspect import function_to_json
from azent.schema.validate import checked
from tests.test_prompt import write_set


def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Get the current weather of a city. Free of charge."""
    return city + unit


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Room(BaseModel):
    beds: Annotated[int, Field(ge=10, le=20)]
    since: date
    tags: Annotated[list[str], Field(min_length=2)]


def book(room: Room, level: Annotated[float, Field(gt=0, lt=1)], note: str | None) -> str:
    """Book a room."""
    return f"{room}{level}{note}"


def odd(code: Annotated[str, Field(pattern="^[A-Z]{3}[0-9]$")]) -> str:
    """Look up a code."""
    return code


def nothing() -> str:
    """Say what time it is."""
    return "now"


FUNCTIONS: tuple[Callable[..., Any], ...] = (weather, add, book, odd, nothing)
SPECS = {function.__name__: function_to_json(function) for function in FUNCTIONS}


def of(*names: str) -> dict[str, Any]:
    return {name: SPECS[name] for name in names}


@pytest.mark.parametrize(
    ("names", "kind", "question", "called"),
    [
        (["weather"], "one", "Get the current weather of a city (city Oslo)", ["weather"]),
        (["nothing"], "one", "Say what time it is", ["nothing"]),
        (
            ["add", "weather"],
            "two",
            "Add two numbers (a 3, b 3), and then: get the current weather of a city (city Lima)",
            ["add", "weather"],
        ),
        (["add"], "none", "Write two lines about the sea.", []),
        (["weather"], "near", 'What does the word "weather" mean?', []),
    ],
)
def test_an_example(names: list[str], kind: Any, question: str, called: list[str]) -> None:
    (made,) = examples(of(*names), [kind])
    assert (made.question, [call.tool for call in made.calls]) == (question, called)


def test_two_calls_of_one_function_differ() -> None:
    (made,) = examples(of("weather"), ["two"])
    assert made.calls[0] != made.calls[1]


def test_functions_take_turns_and_the_unsure_are_passed_over() -> None:
    made = examples(of("odd", "weather", "add"), ["one", "one"])
    assert [example.calls[0].tool for example in made] == ["weather", "add"]


def test_without_a_sure_function_only_examples_without_calls_are_left() -> None:
    assert [e.calls for e in examples(of("odd"), ["one", "two", "none", "near"])] == [(), ()]
    assert examples({}, ["one", "two", "near"]) == ()


def test_chinese_words_for_a_chinese_set() -> None:
    (made,) = examples(of("add"), ["none"], "zh")
    assert made == Example("写两句关于大海的话。")


@pytest.mark.parametrize("kind", ["one", "two"])
def test_the_calls_of_the_functions_above_are_legal(kind: Any) -> None:
    for name, spec in SPECS.items():
        for made in examples({name: spec}, [kind]):
            assert [checked(call, {name: spec})[0] for call in made.calls] == list(made.calls)


BOUNDED = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-50, 50),
            "maximum": st.integers(-50, 50),
            "exclusiveMinimum": st.integers(-50, 50),
            "exclusiveMaximum": st.integers(-50, 50),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 12),
            "maxLength": st.integers(0, 12),
            "format": st.sampled_from(["date", "time", "email", "uri", "uuid", "duration"]),
        },
    ),
    st.fixed_dictionaries({"enum": st.lists(st.integers() | st.text(), min_size=1)}),
    st.fixed_dictionaries({"type": st.just("boolean")}),
)
SCHEMAS = st.recursive(
    BOUNDED,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": st.integers(0, 3), "maxItems": st.integers(0, 3)},
        ),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(st.sampled_from(["city", "n", "x y"]), inner),
            }
        ),
    ),
    max_leaves=4,
)


@given(SCHEMAS, st.booleans())
def test_the_calls_of_any_function_are_legal(schema: dict[str, Any], required: bool) -> None:
    parameters = {"type": "object", "properties": {"p": schema}}
    spec = {"name": "f", "parameters": {**parameters, "required": ["p"] if required else []}}
    for made in examples({"f": spec}, ["one", "two"]):
        for call in made.calls:
            assert checked(call, {"f": spec})[0].problem is None


def test_a_set_shows_its_examples_where_the_blank_is(tmp_path: Path) -> None:
    folder = write_set(
        tmp_path / "mine",
        'examples = ["one", "none"]',
        system="$functions\n$examples\nGo.",
        example="$question => $reply",
    )
    shown = messages_for((Question("Hi"),), Terms(of("weather"), read(folder)), "decide")
    assert shown[0]["content"].endswith(
        "Get the current weather of a city (city Oslo) => "
        '{"tools": [{"tool": "weather", "tool_input": {"city": "Oslo"}}]}\n'
        'Write two lines about the sea. => {"tools": []}\nGo.'
    )


def test_sets_without_examples_show_none() -> None:
    assert PromptSet("x", {}).examples == ()
