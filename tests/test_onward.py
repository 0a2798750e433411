"""A further step that the words of a question ask for, and calls that a model is pressed for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from azent.step.hold import held_calls

import azent
from azent import prompt
from azent.models import Scripted
from azent.prompt import WordRules
from azent.request import Terms

ONWARD = WordRules(decline=True, always=True, nearest=1, grounded="all", given=True, onward=True)


def capital(country: str) -> str:
    """Tell the capital city of a country."""
    return {"Kenya": "Nairobi", "Peru": "Lima"}[country]


def population(city: str) -> int:
    """Tell how many people live in a city."""
    return {"Nairobi": 4_397_073, "Lima": 10_092_000, "Kenya": 1}[city]


def said(*calls: tuple[str, dict[str, Any]]) -> str:
    return json.dumps({"tools": [{"tool": name, "tool_input": given} for name, given in calls]})


def asked(question: str, rules: WordRules, *replies: str) -> tuple[list[tuple[str, Any]], Scripted]:
    """The calls that were made, and the model that was asked."""
    model = Scripted(*replies)
    prompts = replace(prompt.load("default"), words=rules)
    answer = azent.Agent(model, [capital, population], prompts=prompts).ask(question)
    return [(call.tool, call.tool_input) for call in answer.calls], model


def offered(model: Scripted, request: int) -> dict[str, Any]:
    """The schema of the calls that a request allowed."""
    schema = model.heard[request].format
    assert schema is not None
    tools: dict[str, Any] = schema["properties"]["tools"]
    return tools


QUESTION = "How many people live in the capital of Kenya?"
FIRST = ("capital", {"country": "Kenya"})
SECOND = ("population", {"city": "Nairobi"})


def test_a_function_that_is_spoken_of_is_called_with_the_results() -> None:
    made, model = asked(QUESTION, ONWARD, said(FIRST), said(SECOND), said(), "4,397,073.")
    assert made == [FIRST, SECOND]
    tools = offered(model, 1)
    assert tools["minItems"] == 1
    assert tools["items"]["properties"]["tool"]["enum"] == ["population"]
    assert "minItems" not in offered(model, 2)  # nothing is left


def test_what_failed_may_be_tried_once_more_with_what_another_has_given() -> None:
    wrong = ("population", {"city": "Kenya-land"})
    made, _ = asked(
        "How many people live in the capital of Kenya-land, or Kenya?",
        replace(ONWARD, nearest=2, lead=9.0),
        said(wrong), said(FIRST), said(SECOND), said(), "4,397,073.",
    )  # fmt: skip
    assert made == [wrong, FIRST, SECOND]


@pytest.mark.parametrize("given", [{"city": "Kenya"}, {"city": "Paris"}])
def test_a_further_step_that_does_not_go_by_the_results_is_not_made(given: Any) -> None:
    made, _ = asked(QUESTION, ONWARD, said(FIRST), said(("population", given)), "Nobody knows.")
    assert made == [FIRST]


@pytest.mark.parametrize(
    ("question", "rules"),
    [
        ("What is the capital of Kenya?", ONWARD),
        (QUESTION, replace(ONWARD, onward=False)),
        (QUESTION, WordRules()),
    ],
)
def test_else_everything_is_open(question: str, rules: WordRules) -> None:
    made, model = asked(question, rules, said(FIRST), said(SECOND), said(), "Done.")
    assert made == [FIRST, SECOND]
    tools = offered(model, 1)
    assert "minItems" not in tools
    assert len(tools["items"]["anyOf"]) == 2


@pytest.mark.parametrize(
    ("parallel", "city", "made"),
    [
        (False, "Lima", True),
        (False, "Nairobi", True),
        (False, "Kenya", False),
        (False, "Paris", False),
        (True, "Lima", True),
        (True, "Kenya", False),
    ],
)
def test_a_further_step_goes_on_from_the_results_or_says_what_no_call_had_yet(
    parallel: bool, city: str, made: bool
) -> None:
    specs = {each.__name__: azent.function_to_json(each) for each in (capital, population)}
    prompts = replace(prompt.load("default"), words=ONWARD)
    log = (
        azent.Question("What is the capital of Kenya, and how many people live in Lima?"),
        azent.Reply(calls=(azent.Call(*FIRST, id="1"),)),
        azent.Result("capital", "Nairobi", id="1"),
    )
    call = azent.Call("population", {"city": city})
    held = held_calls([call], log, Terms(specs, prompts, parallel=parallel))
    assert held == ((call,) if made else ())


PERU = ("capital", {"country": "Peru"})
LAND = ("capital", {"country": "the land of Kenya"})
PRESSED = WordRules(
    always=True, nearest=1, joins=2, strict=True, pressed=4, doubted=3, grounded="all", news=True
)


@pytest.mark.parametrize(
    ("question", "least", "written", "made"),
    [
        ("What is the capital of Peru?", 1, [PERU], [PERU]),
        ("What are the capitals of Peru and Kenya?", 3, [PERU, FIRST, PERU], [PERU, FIRST]),
        ("What is the capital of Peru, rock and pop?", 3, [PERU, FIRST, FIRST], [PERU]),
        ("What are the capitals of Peru and Kenya?", 3, [PERU, LAND, PERU], [PERU]),
        ("Capital of Peru, then of Kenya, and so on", 4, [PERU, LAND, PERU, FIRST], [PERU, LAND]),
    ],
)
def test_a_model_is_pressed_for_calls_and_those_that_add_nothing_are_left_out(
    question: str, least: int, written: list[Any], made: list[Any]
) -> None:
    found, model = asked(question, PRESSED, said(*written), said(), "Done.")
    assert offered(model, 0)["minItems"] == least
    assert found == made
