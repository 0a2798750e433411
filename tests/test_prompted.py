"""Prompts as functions: their parameters, what is asked, and that they are tools."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import azent
from azent import Agent, Scripted, function_to_json, prompt_function
from azent.errors import PromptError

TEXT = "Sum up in $count words, costs $5:\n\n$text\n\nNo more than $count words."


def test_blanks_are_parameters_and_what_fills_them_is_never_expanded() -> None:
    model = Scripted("Short.", "Brief.")
    summarise = prompt_function(TEXT, model)
    assert list(inspect.signature(summarise).parameters) == ["count", "text"]
    assert summarise(5, "the $count of Monte Cristo") == "Short."
    assert summarise(text="x", count="two") == "Brief."
    asked = [request.messages[-1]["content"] for request in model.heard]
    assert asked[0] == (
        "Sum up in 5 words, costs $5:\n\nthe $count of Monte Cristo\n\nNo more than 5 words."
    )


def test_it_is_a_tool() -> None:
    summarise = prompt_function(TEXT, Scripted("Short."), name="summarise", description="Sum up.")
    spec = function_to_json(summarise)
    assert (spec["name"], spec["description"]) == ("summarise", "Sum up.")
    assert spec["parameters"]["required"] == ["count", "text"]
    call = '{"tools": [{"tool": "summarise", "tool_input": {"count": "5", "text": "long"}}]}'
    answer = Agent(Scripted(call, '{"tools": []}', "Done."), [summarise]).ask("Sum it up")
    assert [result.text for result in answer.results] == ["Short."]


def test_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "sum-up.txt"
    file.write_text(TEXT, "utf-8")
    for source in (file, str(file)):
        function = prompt_function(source, Scripted())
        assert function.__name__ == "sum_up"
        assert function.__doc__ == "Answers: Sum up in $count words, costs $5:"


def test_answers_of_a_type() -> None:
    count = prompt_function("How many words are in $text?", Scripted("3"), output=int)
    assert inspect.signature(count).return_annotation is int
    assert count("one two three") == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "missing a required argument: 'count'"), ((1, 2, 3), "too many positional arguments")],
)
def test_wrong_arguments(arguments: tuple[object, ...], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        prompt_function(TEXT, Scripted())(*arguments)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("none.txt", r"none\.txt is missing"),
        ("Write a $class", r"\$class cannot be a parameter"),
    ],
)
def test_prompts_that_cannot_be_functions(source: str, said: str) -> None:
    with pytest.raises(PromptError, match=said):
        prompt_function(source, Scripted())


def test_without_blanks() -> None:
    assert azent.prompt_function("Say hi.", Scripted("Hi."))() == "Hi."
