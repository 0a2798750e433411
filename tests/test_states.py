"""An agent with states: who decides where it goes, what each state sees, and what cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import azent
from azent import Answer, CallFinished, Context, Scripted, State, States
from tests.serving import calls_text


def look_up(order: int) -> str:
    """Look up an order."""
    return f"order {order} is on its way"


def refund(order: int) -> str:
    """Refund an order."""
    return f"order {order} is refunded"


def is_angry(answer: Answer) -> bool:
    return "sorry" in answer.text


def asked(states: States, question: str | None, **more: Any) -> Answer:
    return states.ask(question, **more)


def aasked(states: States, question: str | None, **more: Any) -> Answer:
    return asyncio.run(states.aask(question, **more))


@pytest.fixture(params=[asked, aasked])
def ask(request: pytest.FixtureRequest) -> Callable[..., Answer]:
    """Both ways to ask: what holds for one holds for the other."""
    way: Callable[..., Answer] = request.param
    return way


def support(*replies: str, **settings: Any) -> tuple[States, Scripted]:
    model = Scripted(*replies)
    states = [
        State("greet", "You greet.", to={"order": None}, about="says hello"),
        State("order", "You know orders.", [look_up], to={"refund": None, "human": is_angry}),
        State("refund", "You refund.", [refund], to={"order": None}, about="gives money back"),
        State("human", "You are a human."),
    ]
    return States(model, states, **settings), model


def go(state: str) -> str:
    return calls_text(("go_to", {"state": state}))


def texts(model: Scripted, number: int) -> str:
    return "\n".join(str(message["content"]) for message in model.heard[number].messages)


def test_the_model_goes_where_it_may_and_has_other_tools_there(ask: Callable[..., Answer]) -> None:
    states, model = support(go("order"), calls_text(("look_up", {"order": 7})), "It comes.")
    answer = ask(states, "Where is order 7?")
    assert answer.text == "It comes."
    assert [result.text for result in answer.results][1] == "order 7 is on its way"
    assert states.state_of(answer.log) == "order"
    assert "You greet." in texts(model, 0)
    assert "look_up" not in texts(model, 0)
    assert "You know orders." in texts(model, 1)
    assert "look_up" in texts(model, 1)
    assert "You greet." not in texts(model, 1)


def test_the_next_question_is_asked_in_the_state_that_was_reached(
    ask: Callable[..., Answer],
) -> None:
    states, model = support(go("order"), "Which one?", calls_text(("look_up", {"order": 7})), "Ok.")
    first = ask(states, "My order!")
    second = ask(states, "7", log=first.log)
    assert "You know orders." in texts(model, 2)
    assert second.results[0].text == "order 7 is on its way"


def test_a_function_decides(ask: Callable[..., Answer]) -> None:
    states, model = support(go("order"), "I am so sorry.", "A human here.")
    answer = ask(states, "It is broken!")
    assert answer.text == "A human here."
    assert states.state_of(answer.log) == "human"
    assert "You are a human." in texts(model, 2)


def test_undoing_goes_back_to_the_state_before() -> None:
    states, _ = support(go("order"), "Yes?", go("refund"), "Done.")
    first = states.ask("My order!")
    second = states.ask("Money back!", first.log)
    assert (states.state_of(second.log), states.state_of(first.log)) == ("refund", "order")
    assert states.state_of(()) == "greet"


def test_where_the_model_may_not_go_it_is_told_so(ask: Callable[..., Answer]) -> None:
    states, _ = support(go("human"), "Hello.")
    answer = ask(states, "A human, please.")
    assert states.state_of(answer.log) == "greet"
    assert answer.text == "Hello."


def test_going_round_in_circles_ends_in_an_answer(ask: Callable[..., Answer]) -> None:
    replies = [go("order"), *[go("refund"), go("order")] * 5]
    states, _ = support(*replies[:4], "Enough.", rounds=4)
    answer = ask(states, "Round!")
    assert (answer.text, answer.stopped) == ("Enough.", "rounds")


def test_functions_that_send_each_other_round_end_too(ask: Callable[..., Answer]) -> None:
    always: Callable[[Answer], bool] = lambda answer: True  # noqa: E731  # a name for both
    states = [State("a", to={"b": always}), State("b", to={"a": always})]
    answer = ask(States(Scripted(*["no"] * 9), states, rounds=3), "Go.")
    assert answer.stopped == "rounds"


def test_calls_of_one_reply_belong_to_one_state() -> None:
    both = calls_text(("look_up", {"order": 1}), ("go_to", {"state": "refund"}))
    states, _ = support(go("order"), both, "Ok.")
    answer = states.ask("1!")
    assert [result.ok for result in answer.results] == [True, True, True]
    assert states.state_of(answer.log) == "refund"


def test_moves_are_seen() -> None:
    states, _ = support(go("order"), "sorry", "Hm.")
    seen = [e for e in states.stream("Hi") if isinstance(e, CallFinished)]
    assert [event.call.tool_input["state"] for event in seen] == ["order", "human"]


def test_the_context_is_every_states() -> None:
    def who(context: Context[str]) -> str:
        """Say who asks."""
        return context.value

    def told(value: str) -> str:
        return f"You serve {value}."

    model = Scripted(go("b"), calls_text(("who", {})), "Ann.")
    states = States(model, [State("a", to={"b": None}), State("b", told, [who])])
    answer = states.ask("Who am I?", context="Ann")
    assert answer.results[1].text == "Ann"
    assert "You serve Ann." in texts(model, 1)


def test_a_session_goes_on_in_its_state() -> None:
    states, model = support(go("order"), "Which one?", "Thanks.")
    states.ask("My order!", session="s")
    states.ask("7", session="s")
    assert "You know orders." in texts(model, 2)


def test_an_agent_hands_over_to_states_as_to_any_tool() -> None:
    states, _ = support(go("order"), "On its way.")
    outer = Scripted(calls_text(("support", {"question": "Where?"})), "It comes.")
    answer = azent.Agent(outer, [states.as_tool(name="support")]).ask("Where is it?")
    assert answer.results[0].text == "On its way."


def test_states_as_text() -> None:
    states, _ = support()
    assert str(states).splitlines() == [
        "greet (start)",
        "    -> order, when the model says so",
        "order",
        "    -> refund, when the model says so",
        "    -> human, when is_angry says so",
        "refund",
        "    -> order, when the model says so",
        "human",
    ]


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ([], "needs states"),
        ([State("a"), State("a")], "name of its own"),
        ([State("a", to={"b": None})], "'b', which is no state"),
    ],
)
def test_states_that_cannot_be(states: list[State], words: str) -> None:
    with pytest.raises(azent.UsageError, match=words):
        States(Scripted(), states)
