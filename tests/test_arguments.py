"""What an ordinary programmer gets wrong is told at once, by its name, as an AzentError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import azent


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


CALL = '{"tools": [{"tool": "add", "tool_input": {"a": 1, "b": 2}}]}'
WRONG: Any = "a.db"
IN_DICTS: Any = [{"role": "user", "content": "Hello"}]


def agent(model: Any = None, tools: Any = (), **settings: Any) -> azent.Agent:
    return azent.Agent(azent.Scripted("Hi.") if model is None else model, tools, **settings)


def ask(question: Any = "Hello", log: Any = (), **more: Any) -> azent.Answer:
    return agent().ask(question, log, **more)


def mark(**options: Any) -> Any:
    return azent.tool(**options)(add)


def select(question: Any = "Hello", tools: Any = (add,), model: Any = None) -> azent.Reply:
    return azent.select(question, tools, model or azent.Scripted(CALL))


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (agent, {"model": 5}, "5 is no model"),
    (agent, {"model": azent.Scripted}, "is no model"),
    (agent, {"tools": add}, "tools is <function add"),
    (agent, {"tools": "add"}, "tools is 'add'"),
    (agent, {"tools": {"add": add}}, "tools is {"),
    (agent, {"rounds": "3"}, "rounds is '3'"),
    (agent, {"rounds": None}, "rounds is None"),
    (agent, {"timeout": "5"}, "timeout is '5'"),
    (agent, {"timeout": float("nan")}, "timeout is nan"),
    (agent, {"width": True}, "width is True"),
    (agent, {"executor": "threads"}, "executor is 'threads'"),
    (agent, {"run": "remote"}, "run is 'remote'"),
    (agent, {"run": azent.Agent(azent.Scripted())}, "run is <azent"),
    (agent, {"system": 5}, "system is 5"),
    (agent, {"system": None}, "system is None"),
    (agent, {"until": 5}, "until is 5"),
    (agent, {"until": ""}, "until is"),
    (lambda prompts: agent(prompts=prompts).ask("Hello"), {"prompts": 5}, "prompts is 5"),
    (ask, {"question": 5}, "question is 5"),
    (ask, {"question": b"Hello"}, "question is b'Hello'"),
    (ask, {"question": IN_DICTS}, "question is "),
    (ask, {"log": "logan"}, "log is 'logan'"),
    (ask, {"log": azent.Answer("Hi.")}, "log is an Answer"),
    (ask, {"log": IN_DICTS}, "log holds"),
    (ask, {"session": 5}, "session is 5"),
    (ask, {"session": azent.Session("a", WRONG)}, "store is 'a.db'"),
    (ask, {"session": azent.Session(5, azent.Store("a.db"))}, "name is 5"),  # type: ignore[arg-type]  # on purpose
    (ask, {"approve": True}, "approve is True"),
    (lambda reply: azent.Scripted(reply), {"reply": 5}, "5 is no reply"),
    (lambda reply: azent.Scripted(reply), {"reply": {"tools": []}}, "is no reply"),
    (select, {"question": None}, "question is None"),
    (select, {"question": [{"role": "user"}]}, "content of a message is None"),
    (select, {"question": [{"role": "usr", "content": "Hello"}]}, "is no message"),
    (select, {"question": ["Hello"]}, "'Hello' is no message"),
    (select, {"tools": add}, "tools is <function add"),
    (select, {"model": [add]}, "is no model"),
    (azent.read_reply, {"text": None, "tools": [add]}, "text is None"),
    (azent.read_reply, {"text": b"{}", "tools": [add]}, "text is b'{}'"),
    (azent.read_reply, {"text": "{}", "tools": add}, "tools is <function add"),
    (azent.read_reply, {"text": "{}", "tools": [{"name": "f", "parameters": "x"}]}, "no JSON Sch"),
    (azent.ReplyReader, {"tools": add}, "tools is <function add"),
    (azent.ReplyReader([add]).feed, {"piece": None}, "piece is None"),
    (azent.Toolbox, {"tools": add}, "tools is <function add"),
    (azent.Toolbox, {"width": "4"}, "width is '4'"),
    (azent.Toolbox([add]).run, {"calls": azent.Call("add", {})}, "calls is Call"),
    (azent.Toolbox([add]).run, {"calls": [{"tool": "add"}]}, "is no call"),
    (mark, {"confirm": "no"}, "confirm is 'no'"),
    (mark, {"name": 5}, "name is 5"),
    (mark, {"timeout": "5"}, "timeout is '5'"),
    (mark, {"retries": "5"}, "retries is '5'"),
    (azent.States, {"model": "m", "states": azent.State("a")}, "states is State"),
    (azent.States, {"model": "m", "states": [azent.State("a", tools=WRONG)]}, "tools is 'a.db'"),
    (azent.States, {"model": "m", "states": ["a"]}, "'a' is no state"),
]


@pytest.mark.parametrize(
    ("given", "arguments", "said"), REFUSED, ids=lambda value: repr(value)[:40]
)
def test_what_cannot_be_is_refused_by_its_name(
    given: Callable[..., Any], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(azent.AzentError) as refused:
        given(**arguments)
    assert said in str(refused.value)
    assert refused.value.hint


def test_a_state_says_where_it_leads_by_name() -> None:
    to: Any = ["b"]
    with pytest.raises(azent.UsageError, match="`to` of 'a'"):
        azent.States("m", [azent.State("a", to=to), azent.State("b")])


def test_a_system_function_must_return_a_text() -> None:
    nothing: Any = lambda: None  # noqa: E731  # typed as anything, since it is wrong on purpose
    with pytest.raises(azent.UsageError, match="returned is None"):
        agent(system=nothing).ask("Hello")


@pytest.mark.parametrize("log", [None, [], [azent.Question("Hello")]])
def test_a_log_may_be_missing_or_a_list(log: Any) -> None:
    assert ask(log=log).text == "Hi."


@pytest.mark.parametrize(
    ("said", "shown"), [(None, "null"), (5, "5"), ({"a": 1}, '{"a": 1}'), ("three", "three")]
)
def test_a_result_made_by_hand_is_read_as_text(said: Any, shown: str) -> None:
    model = azent.Scripted(CALL, "Done.")
    answer = agent(model, [add], run=lambda call: azent.Result(call.tool, said)).ask("Hello")
    assert [result.text for result in answer.results] == [shown]


@pytest.mark.parametrize("properties", [["a"], 5, {"a": {"anyOf": 5}}])
def test_what_is_no_schema_cannot_be_shown_to_a_model(properties: Any) -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
    with pytest.raises(azent.SchemaError, match="schema of 'f' is no JSON Schema"):
        select(tools=tools)


def test_a_script_is_of_texts() -> None:
    pieces: Any = [None]
    with pytest.raises(azent.ModelError, match="is no piece of a reply"):
        agent(azent.Scripted(pieces)).ask("Hello")


def test_a_callback_that_changes_a_call_does_not_change_the_log() -> None:
    def remote(call: azent.Call) -> int:
        call.tool_input["a"] = 77
        return 5

    answer = agent(azent.Scripted(CALL, "Done."), [add], run=remote).ask("Hello")
    assert answer.calls[0].tool_input == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("changed", "ok", "said"), [(5, True, "7"), ("x", False, "'x' is not an integer at $.a")]
)
def test_a_call_changed_while_it_is_approved_is_an_edit(changed: Any, ok: bool, said: str) -> None:
    def change(call: azent.Call) -> bool:
        call.tool_input["a"] = changed
        return True

    model = azent.Scripted(CALL, "Done.")
    answer = agent(model, [azent.tool(confirm=True)(add)]).ask("Hello", approve=change)
    assert answer.calls[0].tool_input == {"a": 1, "b": 2}
    assert answer.results[0].ok is ok
    assert "a person changed" in answer.results[0].text
    assert said in answer.results[0].text
