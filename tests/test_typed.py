"""Answers of a type: read, mended, built."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import re
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

import azent
from azent.conversation.answers import read_value, typed
from azent.messages import Chunk

NONE = '{"tools": []}'


class Pizza(BaseModel):
    name: str
    price: Annotated[float, Field(gt=0)]
    size: Literal["small", "large"] = "large"


@dataclasses.dataclass
class Person:
    name: str
    born: datetime.date | None


class Point(TypedDict):
    x: int
    y: int


class Colour(enum.Enum):
    RED = "red"


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


PIZZA = '{"name": "Margherita", "price": 7.5}'


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Pizza, PIZZA, Pizza(name="Margherita", price=7.5)),
        (Pizza, f"```json\n{PIZZA}\n```", Pizza(name="Margherita", price=7.5)),
        (Pizza, "{'name': 'M', 'price': '7.5'}", Pizza(name="M", price=7.5)),
        (list[Pizza], f'{{"value": [{PIZZA}]}}', [Pizza(name="Margherita", price=7.5)]),
        (list[Pizza], f"[{PIZZA}]", [Pizza(name="Margherita", price=7.5)]),
        (list[int], '{"value": []}', []),
        (int, '{"value": 5}', 5),
        (int, "5", 5),
        (bool, '{"value": true}', True),
        (str, '{"value": "yes"}', "yes"),
        (Colour, '{"value": "red"}', Colour.RED),
        (Person, '{"name": "A", "born": "2000-01-02"}', Person("A", datetime.date(2000, 1, 2))),
        (Person, '{"name": "A"}', Person("A", None)),
        (list[Person], '{"value": [{"name": "A"}]}', [Person("A", None)]),
        (Point, '{"x": 1, "y": 2}', {"x": 1, "y": 2}),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (dict[str, int], '{"value": 1}', {"value": 1}),
        (Pizza | Point, '{"value": {"x": 1, "y": 2}}', {"x": 1, "y": 2}),
        (int | None, '{"value": null}', None),
        (Tree, '{"value": 1, "children": [{"value": 2}]}', Tree(value=1, children=[Tree(value=2)])),
        (tuple[int, str], '{"value": [1, "a"]}', (1, "a")),
    ],
)  # fmt: skip
def test_values_are_read(kind: Any, text: str, value: Any) -> None:
    found, shown, problem = read_value(text, typed(kind))
    assert problem is None
    assert found == value
    assert read_value(shown, typed(kind))[0] == value


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (Pizza, "A Margherita.", "not an object"),
        (Pizza, "{{{", "is not JSON"),
        (Pizza, "", "is not JSON"),
        (Pizza, '{"name": "M"}', r"'price' is missing at \$"),
        (Pizza, '{"name": "M", "price": -1}', r"\$\.price"),
        (Pizza, '{"name": "M", "price": 1, "size": "huge"}', r"\$\.size"),
        (list[Pizza], '{"value": [{"name": "M"}]}', r"'price' is missing at \$\.value\[0\]"),
        (int, '{"value": "five"}', r"\$\.value"),
    ],
)
def test_what_is_wrong_is_said_with_a_path(kind: Any, text: str, said: str) -> None:
    value, _, problem = read_value(text, typed(kind))
    assert value is None
    assert problem is not None
    assert re.search(said, problem.message)


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    read_value(text, typed(list[Pizza]))


@given(st.lists(st.builds(Pizza, name=st.text(), price=st.floats(0.01, 1e6))))
def test_what_was_written_is_read(pizzas: list[Pizza]) -> None:
    text = json.dumps({"value": [pizza.model_dump() for pizza in pizzas]})
    assert read_value(text, typed(list[Pizza]))[0] == pizzas


@pytest.mark.parametrize("kind", [type, object()])
def test_what_is_no_type_for_answers(kind: Any) -> None:
    with pytest.raises(azent.SchemaError, match="answers cannot be of the type"):
        azent.Agent(azent.Scripted(), output=kind)


def test_decoding_is_held_to_an_object_that_demands_what_the_type_does() -> None:
    held = typed(list[Person]).held
    assert held["type"] == "object"
    assert held["required"] == ["value"]
    assert held["properties"]["value"]["items"]["required"] == ["name"]
    assert typed(Pizza).held["required"] == ["name", "price"]


# ---- by an agent ---------------------------------------------------------------------------------


def menu() -> str:
    """Tells the menu."""
    return "Margherita 7.50"


def test_the_answer_is_held_to_its_schema_and_built() -> None:
    model = azent.Scripted(f'{{"value": [{PIZZA}]}}')
    answer = azent.Agent(model, output=list[Pizza]).ask("Which pizzas are there?")
    assert answer.value == [Pizza(name="Margherita", price=7.5)]
    assert json.loads(answer.text) == [{"name": "Margherita", "price": 7.5}]
    assert model.heard[0].format == typed(list[Pizza]).held
    assert '"price"' in model.heard[0].messages[-1]["content"]


def test_functions_are_called_first_and_words_are_no_value() -> None:
    script = ['{"tools": [{"tool": "menu", "tool_input": {}}]}', "I know.", PIZZA]
    model = azent.Scripted(*script)
    answer = azent.Agent(model, [menu], output=Pizza).ask("Which pizza is there?")
    assert answer.value == Pizza(name="Margherita", price=7.5)
    assert "Margherita 7.50" in str(model.heard[2].messages)


def test_a_wrong_value_is_corrected_and_only_the_right_one_is_seen() -> None:
    model = azent.Scripted('{"name": "Margherita"}', PIZZA)
    events = list(azent.Agent(model, output=Pizza).stream("?"))
    answer = events[-1]
    assert isinstance(answer, azent.Answer)
    assert answer.value == Pizza(name="Margherita", price=7.5)
    assert "'price' is missing" in model.heard[1].messages[-1]["content"]
    assert not [event for event in events if isinstance(event, Chunk)]


def test_values_that_stay_wrong_end_in_an_error() -> None:
    model = azent.Scripted(*["no"] * 3)
    with pytest.raises(azent.BadReply, match="not an object"):
        azent.Agent(model, output=Pizza, repairs=2).ask("?")


def test_a_value_that_was_cut_is_said_to_be() -> None:
    cut: list[azent.Delta | azent.End] = [azent.Delta('{"name": "Marg'), azent.End("length")]
    model = azent.Scripted(cut, PIZZA)
    answer = azent.Agent(model, output=Pizza).ask("?")
    assert answer.value == Pizza(name="Margherita", price=7.5)
    assert "was cut" in model.heard[1].messages[-1]["content"]
