"""Expressions in calls have the brackets that they have in the question."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import azent
from azent.conversation.brackets import restored
from azent.messages import Call


def written(expression: str, question: str) -> str:
    return str(restored(Call("calculate", {"x": expression}), question).tool_input["x"])


@pytest.mark.parametrize(
    ("question", "expression", "expected"),
    [
        ("What is (2123 + 2321) * 312?", "2123 + 2321 * 312", "(2123 + 2321) * 312"),
        ("Was ist (17 - 5) * (3 + 4)?", "17 - 5 * (3 + 4)", "(17 - 5) * (3 + 4)"),
        ("Ile to jest (100 + 50) / 3?", "100 + 50 / 3", "(100 + 50) / 3"),
        ("((3 + 4) * 2) ** 2", "(3 + 4) * 2 ** 2", "((3 + 4) * 2) ** 2"),
        ("(8-3)*9-4", "8-3*9-4", "(8-3)*9-4"),
        ("(2 + 3)", "2 + 3", "2 + 3"),
        ("(the sum 2 + 3)", "2 + 3", "2 + 3"),
        ("12 + (3 * 4)", "2 + 3", "2 + 3"),
        ("(1 + 2) * 3 and (1 + 2) * 3", "1 + 2 * 3", "1 + 2 * 3"),
        ("(1 + 2) * 3", "1 + 2", "1 + 2"),
        ("(1 + 2) * 3", "5 * 3", "5 * 3"),
        ("call me (555) 123", "555123", "555123"),
        ("(a) note", "a note", "a note"),
        ("(1 + 2 * 3", "1 + 2 * 3", "1 + 2 * 3"),
    ],
)
def test_brackets_of_the_question(question: str, expression: str, expected: str) -> None:
    assert written(expression, question) == expected


@given(st.text("0123456789+-*/() .", max_size=40), st.text("0123456789+-*/() ?", max_size=60))
def test_only_brackets_and_spaces_change(expression: str, question: str) -> None:
    def bare(text: str) -> str:
        return "".join(text.replace("(", "").replace(")", "").split())

    assert bare(written(expression, question)) == bare(expression)


def test_the_right_expression_is_worked_out() -> None:
    def calculate(expression: str) -> str:
        """Work out an expression."""
        return expression

    call = {"tool": "calculate", "tool_input": {"expression": "2123 + 2321 * 312"}}
    model = azent.Scripted(json.dumps({"tools": [call]}), '{"answer": "Done."}')
    agent = azent.Agent(model, [azent.tool(readonly=True)(calculate)], prompts="default")
    answer = agent.ask("What is (2123 + 2321) * 312?")
    assert [result.value for result in answer.results] == ["(2123 + 2321) * 312"]
