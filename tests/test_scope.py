"""Decisions in several requests: what each narrows down, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import azent
from azent import prompt
from azent.conversation.next_step import Ask, next_step, options_for, reader_for
from azent.conversation.replies import hear
from azent.conversation.requests import Terms
from azent.messages import Log, Move, Question, Reply
from azent.messages.json_forms import from_json, to_json
from azent.models import Scripted
from azent.parsing.decoding_schema import narrowing_schema, read_narrowing
from azent.prompt import GateExample, PromptSet, SelectionRules
from tests.test_prompt import write_set


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


SPECS = {f.__name__: azent.function_to_json(f) for f in (weather, add)}
CALL = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'


def set_of(*decide: Any) -> PromptSet:
    return replace(prompt.load("default"), decide=decide)


def terms(*decide: Any, **changes: Any) -> Terms:
    return Terms(SPECS, set_of(*decide), **changes)


def say(log: Log, text: str, given: Terms) -> Log:
    """The log after a model has said this to the next request."""
    step = next_step(log, given)
    assert isinstance(step, Ask)
    reader = reader_for(step, given)
    reader.feed(text)
    return hear(log, replace(reader.close(), move=step.move), given)


def offered(log: Log, given: Terms) -> set[str]:
    """Return the functions that the next reply is held to."""
    step = next_step(log, given)
    assert isinstance(step, Ask)
    return {name for name in SPECS if f"'{name}'" in str(step.format)}


def asked(log: Log, given: Terms) -> tuple[Move, str]:
    """The move that is due, and all that the model is told for it."""
    step = next_step(log, given)
    assert isinstance(step, Ask)
    return step.move, "\n".join(message["content"] for message in step.messages)


QUESTION: Log = (Question("What is 2 + 3?"),)


@pytest.mark.parametrize(
    ("move", "text", "picked"),
    [
        ("gate", "yes", None),
        ("gate", "Yes.", None),
        ("gate", " No.", ()),
        ("gate", "no", ()),
        ("gate", "否", ()),
        ("gate", "Nobody knows", None),
        ("gate", "", None),
        ("choose", '{"asked": "a sum", "functions": {"weather": "no", "add": "yes"}}', ("add",)),
        ("choose", '{"functions": {"weather": "yes", "add": "yes"}}', ("weather", "add")),
        ("choose", '{"functions": {"weather": "no", "add": "no"}}', ()),
        ("choose", '{"weather": false, "add": true}', ("add",)),
        ("choose", '{"functions": ["add", "other"]}', ("add",)),
        ("choose", 'Sure:\n```json\n{"functions": {"add": "Yes"}}\n```', ("add",)),
        ("choose", '{"functions": {"other": "yes"}}', None),
        ("choose", "add", None),
        ("choose", "", None),
        ("choose", '{"functions": {"add": "ye', None),
        ("choose", "{" * 100_000 + "}", None),
        ("list", '{"asked": ["a sum", " the weather ", ""]}', ("a sum", "the weather")),
        ("list", '{"asked": ["a sum", "a sum"]}', ("a sum",)),
        ("list", '{"asked": "a sum"}', None),
        ("list", '{"asked": []}', None),
        ("list", '{"asked": [3]}', None),
        ("list", "[]", None),
    ],
)
def test_what_a_narrowing_reply_says(move: Any, text: str, picked: object) -> None:
    assert read_narrowing(text, move, SPECS).picked == picked


@given(st.text(), st.sampled_from(["gate", "choose", "list"]))
def test_no_text_raises(text: str, move: Any) -> None:
    assert read_narrowing(text, move, SPECS).calls == ()


def test_what_was_picked_survives_the_store() -> None:
    for picked in (None, (), ("add",)):
        reply = Reply(move="choose", picked=picked)
        assert from_json(to_json(reply)) == reply


def test_functions_are_chosen_first_and_the_others_left_out() -> None:
    given = terms("choose")
    move, told = asked(QUESTION, given)
    assert (move, "yes or no" in told) == ("choose", True)
    chosen = say(QUESTION, '{"functions": {"weather": "no", "add": "yes"}}', given)
    move, told = asked(chosen, given)
    assert (move, offered(chosen, given)) == ("decide", {"add"})
    assert "yes or no" not in told


def test_without_a_function_no_call_is_asked_for() -> None:
    given = terms("choose")
    declined = say(QUESTION, '{"functions": {"weather": "no", "add": "no"}}', given)
    assert asked(declined, given)[0] == "answer"


def test_a_reply_that_says_nothing_narrows_nothing_down() -> None:
    given = terms("choose", "list")
    log = say(say(QUESTION, "hm", given), "hm", given)
    plain = next_step(QUESTION, terms())
    narrowed = next_step(log, given)
    assert narrowed == plain


GATE = replace(
    prompt.load("medium"), selection=SelectionRules(), gate=(GateExample("- f: F.", "Do F", "yes"),)
)


def test_the_gate_is_asked_with_examples_as_turns_and_functions_in_brief() -> None:
    given = Terms(SPECS, GATE)
    step = next_step(QUESTION, given)
    assert isinstance(step, Ask)
    assert (step.move, step.format, options_for(step.move, given)) == (
        "gate",
        None,
        {"num_predict": 8},
    )
    assert [message["role"] for message in step.messages] == ["user", "assistant", "user"]
    assert step.messages[0]["content"].startswith("Functions:\n- f: F.\n\nRequest: Do F\n")
    assert step.messages[1]["content"] == "yes"
    assert step.messages[2]["content"].startswith(
        "Functions:\n- weather: The weather of a city.\n- add: Add two numbers.\n\n"
        "Request: What is 2 + 3?\n"
    )


@pytest.mark.parametrize(("said", "move"), [("yes", "decide"), ("no", "answer"), ("hm", "decide")])
def test_a_no_at_the_gate_declines(said: str, move: str) -> None:
    given = Terms(SPECS, GATE)
    assert asked(say(QUESTION, said, given), given)[0] == move


def test_a_gate_can_be_asked_of_messages_without_a_question() -> None:
    move, told = asked((), Terms(SPECS, GATE, system="Tell the weather in Oslo."))
    assert (move, "- weather: " in told) == ("gate", True)


def test_things_are_listed_and_as_many_calls_asked_for() -> None:
    given = terms("list")
    listed = say(QUESTION, '{"asked": ["the sum of 2 and 3", "the weather"]}', given)
    step = next_step(listed, given)
    assert isinstance(step, Ask)
    assert step.format is not None
    calls = step.format["properties"]["tools"]
    assert (calls["minItems"], calls["maxItems"]) == (2, 2)
    assert "- the sum of 2 and 3\n- the weather\nWhich functions" in step.messages[-1]["content"]


def test_both_in_turn() -> None:
    given = terms("choose", "list")
    log = say(QUESTION, '{"functions": {"weather": "no", "add": "yes"}}', given)
    assert asked(log, given)[0] == "list"
    assert offered(say(log, '{"asked": ["a sum"]}', given), given) == {"add"}
    assert asked(say(log, '{"asked": ["a sum"]}', given), given)[0] == "decide"


def test_after_a_call_everything_is_open_and_nothing_is_narrowed_again() -> None:
    given = terms("choose", "list")
    log = say(QUESTION, '{"functions": {"weather": "no", "add": "yes"}}', given)
    log = say(say(log, '{"asked": ["a sum"]}', given), CALL, given)
    log = azent.conversation.replies.take(log, azent.Result("add", "5", id="1"), given)
    move, told = asked(log, given)
    assert (move, offered(log, given)) == ("decide", {"weather", "add"})
    assert told.count("- a sum") == 1, "where it was asked, and not again"


def test_a_reply_of_no_use_is_corrected_within_the_same_scope() -> None:
    given = terms("choose")
    log = say(QUESTION, '{"functions": {"weather": "no", "add": "yes"}}', given)
    log = say(log, '{"tools": [', given)
    move, told = asked(log, given)
    assert (move, "could not be used" in told) == ("decide", True)
    assert offered(log, given) == {"add"}


@pytest.mark.parametrize(
    ("choice", "move"), [("add", "list"), ("required", "list"), ("none", "answer")]
)
def test_what_was_said_by_the_caller_is_not_asked(choice: str, move: str) -> None:
    assert asked(QUESTION, terms("choose", "list", choice=choice))[0] == move


def test_one_call_at_most_where_one_call_is_allowed() -> None:
    given = terms("list", parallel=False)
    step = next_step(say(QUESTION, '{"asked": ["a", "b"]}', given), given)
    assert isinstance(step, Ask)
    assert step.format is not None
    assert (step.format["properties"]["tools"]["maxItems"]) == 1


def test_a_set_that_is_not_held_gets_no_schema() -> None:
    given = terms("choose")
    free = replace(given, prompts=replace(given.prompts, held=False))
    step = next_step(QUESTION, free)
    assert isinstance(step, Ask)
    assert (step.move, step.format) == ("choose", None)


def test_the_schemas_are_those_of_the_texts() -> None:
    choose, listing = narrowing_schema("choose", SPECS), narrowing_schema("list", SPECS)
    assert choose is not None
    assert listing is not None
    assert choose["properties"]["functions"]["required"] == ["weather", "add"]
    assert listing["properties"]["asked"]["maxItems"] == 8


def test_an_agent_decides_in_two_requests(tmp_path: Any) -> None:
    choice = '{"asked": "a sum", "functions": {"weather": "no", "add": "yes"}}'
    model = Scripted(choice, CALL, '{"tools": []}', "It is 5.")
    answer = azent.Agent(model, [weather, add], prompts=set_of("choose")).ask("What is 2 + 3?")
    assert (answer.text, [call.tool for call in answer.calls]) == ("It is 5.", ["add"])
    assert [message.move for message in answer.log if isinstance(message, Reply)] == [
        "choose",
        "decide",
        "decide",
        "answer",
    ]


def test_a_selection_in_two_requests_sums_up_what_it_cost() -> None:
    choice = '{"asked": "a sum", "functions": {"weather": "no", "add": "yes"}}'
    reply = azent.select("2 + 3?", [weather, add], Scripted(choice, CALL), prompts=set_of("choose"))
    assert ([call.tool for call in reply.calls], reply.usage) != ([], None)
    assert reply.usage is not None
    assert reply.usage.requests == 2
    none = '{"functions": {"weather": "no", "add": "no"}}'
    assert azent.select("Hi", [weather], Scripted(none), prompts=set_of("choose")).calls == ()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('decide = ["guess"]', r"set\.toml:1: decide has 'guess', and must be 'gate' or"),
        ('decide = ["gate"]', r"gate\.txt is missing"),
        ('[[gate]]\nfunctions = "x"', r"set\.toml:1: gate lacks 'question'"),
        ("gate = [3]", r"set\.toml:1: gate is 3, and must be a table"),
        ('[[gate]]\nwhat = "x"', r"set\.toml:2: there is no setting 'what'"),
        ('decide = ["choose"]', r"choose\.txt is missing"),
        ('\nturn = "single"\ndecide = ["list"]', r"set\.toml:3: nothing can be asked before"),
    ],
)
def test_sets_that_cannot_be_used(tmp_path: Any, settings: str, said: str) -> None:
    with pytest.raises(azent.PromptError, match=said):
        prompt.load(write_set(tmp_path / "mine", settings))
