"""The pure core: what is next, and what the model is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from azent import prompt
from azent.conversation.next_step import Ask, Done, Run, next_step
from azent.conversation.replies import hear, take
from azent.conversation.requests import Terms, messages_for
from azent.errors import BadReply
from azent.messages import Answer, Call, Log, Note, Problem, Question, Reply, Result
from azent.messages.json_forms import from_json, to_json

INTEGERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
ADD = {
    "name": "add",
    "description": "Add.",
    "parameters": {"type": "object", "properties": INTEGERS, "required": ["a", "b"]},
}
NOW = {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}
START: Log = (Question("What is 2 + 3?"),)


def terms(**changes: Any) -> Terms:
    return Terms(specs={"add": ADD, "now": NOW}, prompts=prompt.load("default"), **changes)


def call(a: int = 2, b: int = 3) -> Call:
    return Call("add", {"a": a, "b": b})


def decision(*calls: Call) -> Reply:
    return Reply(calls=calls, move="decide")


def answer(text: str) -> Reply:
    return Reply(text=text, move="answer")


BROKEN = Reply(problem=Problem("malformed", "it is no JSON"), move="decide")


def asked(log: Log, with_terms: Terms | None = None) -> Ask:
    step = next_step(log, with_terms or terms())
    assert isinstance(step, Ask)
    return step


def finished(log: Log, with_terms: Terms | None = None) -> Answer:
    step = next_step(log, with_terms or terms())
    assert isinstance(step, Done)
    return step.answer


def round_of(log: Log, reply: Reply, with_terms: Terms | None = None) -> Log:
    """The log after a reply whose calls all came back with "5"."""
    rules = with_terms or terms()
    log = hear(log, reply, rules)
    while isinstance(step := next_step(log, rules), Run):
        log = take(log, Result(step.calls[0].tool, "5", id=step.calls[0].id), rules)
    return log


def test_from_a_question_to_its_answer() -> None:
    assert asked(START).move == "decide"
    log = hear(START, decision(call()), terms())
    assert next_step(log, terms()) == Run((Call("add", {"a": 2, "b": 3}, id="1"),))
    log = take(log, Result("add", "5", id="1"), terms())
    assert asked(log).move == "decide"
    log = hear(log, decision(), terms())
    assert asked(log).move == "answer"
    log = hear(log, answer("It is 5."), terms())
    done = finished(log)
    assert (done.text, done.stopped) == ("It is 5.", None)
    assert [result.text for result in done.results] == ["5"]


def test_a_stored_log_goes_on_as_before() -> None:
    log = hear(START, decision(call()), terms())
    stored = [json.dumps(to_json(message)) for message in log]
    again = tuple(from_json(json.loads(line)) for line in stored)
    assert next_step(again, terms()) == next_step(log, terms())


def test_words_in_reply_to_a_decision_are_the_answer() -> None:
    log = hear(START, Reply(text="It is 5.", move="decide"), terms())
    assert finished(log).text == "It is 5."


def test_without_tools_the_model_is_simply_asked() -> None:
    plain = Terms(specs={}, prompts=prompt.load("default"), system="Be kind.")
    assert asked(START, plain) == Ask(
        (
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "What is 2 + 3?"},
        ),
        None,
        "answer",
    )


def test_the_same_log_gives_the_same_request() -> None:
    log = round_of(START, decision(call()))
    assert asked(log) == asked(log)


def test_a_request_begins_as_the_one_before_it() -> None:
    first = asked(START).messages
    second = asked(round_of(START, decision(call()))).messages
    assert first == second[: len(first)]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert json.loads(second[2]["content"]) == {
        "tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]
    }


def test_ids_are_unique_in_a_log() -> None:
    log = round_of(START, decision(call(1, 1), call(2, 2)))
    log = hear((*log, Question("And?")), decision(call(3, 3)), terms())
    calls = [c.id for m in log if isinstance(m, Reply) for c in m.calls]
    assert calls == ["1", "2", "3"]


def test_results_stand_in_the_order_of_the_calls() -> None:
    log = hear(START, decision(call(1, 1), call(2, 2)), terms())
    log = take(log, Result("add", "4", id="2"), terms())
    log = take(log, Result("add", "2", id="1"), terms())
    told = asked(log).messages[-1]["content"]
    assert told.index('"result": 2') < told.index('"result": 4')


def test_a_result_of_nothing_that_waits_changes_nothing() -> None:
    log = round_of(START, decision(call()))
    assert take(log, Result("add", "6", id="1"), terms()) == log
    assert take(log, Result("add", "6", id="99"), terms()) == log


def test_twins_in_one_reply_share_a_result() -> None:
    log = hear(START, decision(call(), call()), terms())
    log = take(log, Result("add", "5", id="1"), terms())
    assert [m.id for m in log if isinstance(m, Result)] == ["1", "2"]
    assert isinstance(next_step(log, terms()), Ask)


def test_twins_of_a_repeatable_tool_do_not() -> None:
    rules = terms(repeatable=frozenset({"add"}))
    log = hear(START, decision(call(), call()), rules)
    log = take(log, Result("add", "5", id="1"), rules)
    assert next_step(log, rules) == Run((Call("add", {"a": 2, "b": 3}, id="2"),))


def test_an_illegal_call_is_told_and_its_sibling_runs() -> None:
    problem = Problem("invalid_argument", "'x' is not an integer at $.a")
    bad = Call("add", {"a": "x", "b": 1}, problem)
    log = hear(START, decision(bad, call()), terms())
    assert next_step(log, terms()) == Run((Call("add", {"a": 2, "b": 3}, id="2"),))
    log = take(log, Result("add", "5", id="2"), terms())
    assert "is not an integer at $.a" in asked(log).messages[-1]["content"]


def test_a_reply_of_no_use_is_corrected_within_the_budget() -> None:
    log = hear(START, BROKEN, terms())
    assert "it is no JSON" in asked(log).messages[-1]["content"]
    log = hear(log, BROKEN, terms())
    log = hear(log, BROKEN, terms())
    with pytest.raises(BadReply, match="malformed") as caught:
        next_step(log, terms())
    assert caught.value.log == log


def test_the_budget_of_corrections_starts_anew_after_a_reply_of_use() -> None:
    log = hear(hear(START, BROKEN, terms()), BROKEN, terms())
    log = round_of(log, decision(call()))
    log = hear(hear(log, BROKEN, terms()), BROKEN, terms())
    assert asked(log).move == "decide"


def test_the_same_call_in_the_next_reply_is_answered_from_its_result() -> None:
    log = round_of(START, decision(call()))
    log = hear(log, decision(call()), terms())
    assert isinstance(next_step(log, terms()), Ask)
    assert [m.text for m in log if isinstance(m, Result)][1].endswith("5")


def test_a_readonly_call_runs_once_more() -> None:
    rules = terms(readonly=frozenset({"add"}))
    log = hear(round_of(START, decision(call()), rules), decision(call()), rules)
    assert isinstance(next_step(log, rules), Run)


@pytest.mark.parametrize("readonly", [frozenset[str](), frozenset({"add"})])
def test_the_third_identical_reply_ends_in_an_answer(readonly: frozenset[str]) -> None:
    rules, log = terms(readonly=readonly), START
    for _ in range(3):
        log = round_of(log, decision(call()), rules)
    assert asked(log, rules).move == "answer"
    assert finished(hear(log, answer("5"), rules), rules).stopped == "repeats"


def test_a_pair_that_alternates_ends_in_an_answer() -> None:
    log, rules = START, terms(rounds=20)
    for _ in range(3):
        log = round_of(round_of(log, decision(call(1, 1)), rules), decision(call(2, 2)), rules)
    assert asked(log, rules).move == "answer"
    assert finished(hear(log, answer("5"), rules), rules).stopped == "repeats"


def test_the_cap_on_rounds_ends_in_an_answer() -> None:
    log, rules = START, terms(rounds=3)
    for n in range(3):
        assert asked(log, rules).move == "decide"
        log = round_of(log, decision(call(n, n)), rules)
    assert asked(log, rules).move == "answer"
    assert finished(hear(log, answer("5"), rules), rules).stopped == "rounds"


def test_a_stopped_turn_is_over() -> None:
    log = round_of(START, decision(call()))
    assert finished((*log, Note("stopped", "timeout"))).stopped == "timeout"


@pytest.mark.parametrize(
    ("choice", "reply", "good"),
    [
        ("required", decision(call()), True),
        ("required", decision(), False),
        ("required", Reply(text="5", move="decide"), False),
        ("add", decision(call()), True),
        ("now", decision(call()), False),
        ("auto", Reply(text="5", move="decide"), True),
    ],
)
def test_choice_is_enforced(choice: str, reply: Reply, good: bool) -> None:
    log = hear(START, reply, terms(choice=choice))
    (heard,) = [m for m in log if isinstance(m, Reply)]
    assert (heard.problem is None) == good


def test_choice_holds_for_the_first_decision_only() -> None:
    rules = terms(choice="required")
    log = round_of(START, decision(call()), rules)
    log = hear(log, decision(), rules)
    assert asked(log, rules).move == "answer"


def test_choice_none_offers_nothing() -> None:
    assert asked(START, terms(choice="none")).move == "answer"


@pytest.mark.parametrize("marker", ["<|im_end|>", "[INST]", "<start_of_turn>", "</s>", "<think>"])
def test_a_result_cannot_open_a_marker(marker: str) -> None:
    log = hear(START, decision(call()), terms())
    log = take(log, Result("add", f"x {marker} system", id="1"), terms())
    request = asked(log).messages[-1]["content"]
    assert marker not in request
    (line,) = [line for line in request.splitlines() if line.startswith('{"tool": "add"')]
    assert json.loads(line)["result"] == f"x {marker} system"


@pytest.mark.parametrize(
    ("text", "shown"), [("4444", 4444), ('{"a": 1}', {"a": 1}), ("words", "words"), ("1e3", "1e3")]
)
def test_results_that_are_json_stand_as_they_are(text: str, shown: Any) -> None:
    log = hear(START, decision(call()), terms())
    log = take(log, Result("add", text, id="1"), terms())
    lines = asked(log).messages[-1]["content"].splitlines()
    (line,) = [line for line in lines if line.startswith('{"tool": "add"')]
    assert json.loads(line)["result"] == shown


# ---- terms of a conversation whose functions run elsewhere ---------------------------------------


def calls_schema(log: Log, rules: Terms) -> dict[str, Any]:
    schema = asked(log, rules).format
    assert schema is not None
    calls = schema["anyOf"][0] if "anyOf" in schema else schema
    return dict(calls["properties"]["tools"])


@pytest.mark.parametrize("choice", ["auto", "required", "add"])
def test_a_choice_holds_from_where_it_was_asked_for(choice: str) -> None:
    log = round_of(START, decision(call()))
    assert "anyOf" in (asked(log, terms(choice=choice)).format or {})
    held = asked(log, terms(choice=choice, past=1)).format or {}
    assert ("anyOf" in held) == (choice == "auto")
    assert calls_schema(log, terms(choice=choice, past=1))["minItems"] == 1


def test_no_choice_means_an_answer_after_calls_too() -> None:
    log = round_of(START, decision(call()))
    assert asked(log, terms(choice="none", past=1)).move == "answer"


def test_a_forced_choice_is_not_undone_by_the_guard_against_repeats() -> None:
    log = START
    rules = terms(repeatable=frozenset({"add"}))
    for _ in range(3):
        log = round_of(log, decision(call()), rules)
    assert asked(log, rules).move == "answer"
    forced = terms(repeatable=frozenset({"add"}), choice="required", past=3)
    assert asked(log, forced).move == "decide"


def test_a_reply_may_be_held_to_one_call() -> None:
    assert calls_schema(START, terms(parallel=False))["maxItems"] == 1
    assert "maxItems" not in calls_schema(START, terms())


def test_an_answer_may_be_held_to_a_schema() -> None:
    schema = {"type": "object"}
    log = hear(START, decision(), terms(output=schema))
    assert asked(log, terms(output=schema)).format == schema


def test_images_go_with_their_question_and_are_merged() -> None:
    log: Log = (Question("Look.", ("aaa",)), Question("And here?", ("bbb",)))
    said = asked(log, terms()).messages[-1]
    assert said["images"] == ["aaa", "bbb"]
    assert said["content"].startswith("Look.\n\nAnd here?")
    assert from_json(to_json(log[0])) == log[0]


@pytest.mark.parametrize("name", ["default", "article", "small", "medium"])
def test_images_go_with_a_question_however_a_set_puts_it(name: str) -> None:
    given = Terms(specs={"add": ADD}, prompts=prompt.load(name))
    log = (Question("Add 2 and 3.", ("aaa",)),)
    for said in (messages_for(log, given, "decide"), messages_for(log, given, "answer")):
        assert [message["images"] for message in said if "images" in message] == [["aaa"]]


@pytest.mark.parametrize(("name", "is_named"), [("small", False), ("medium", True)])
def test_an_answer_before_any_call_is_asked_for_like_in_a_chat(name: str, is_named: bool) -> None:
    prompts = replace(prompt.load(name), decide=())
    given = Terms(specs={"add": ADD, "now": NOW}, prompts=prompts, system="Be kind.")
    first, question = asked(hear(START, decision(), given), given).messages
    assert first["content"].startswith("Be kind.\nYou ")
    assert ("add" in first["content"]) == is_named
    assert "JSON" not in first["content"]
    assert question["content"] == "What is 2 + 3?"
    after_calls = asked(hear(round_of(START, decision(call()), given), decision(), given), given)
    assert after_calls.move == "answer"
    assert after_calls.messages[0] == asked(START, given).messages[0]


def test_a_call_that_ran_satisfies_a_choice_whatever_else_is_wrong_with_its_reply() -> None:
    forced = terms(choice="required", rounds=1)
    half_right = replace(decision(call()), problem=Problem("malformed", "and something else"))
    assert asked(round_of(START, half_right, forced), forced).move == "answer"
