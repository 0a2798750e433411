"""Workflows: prompts as functions, chains of steps, and agents with states."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest

import azent
from azent import (
    Agent,
    Answer,
    CallFinished,
    Chain,
    Chunk,
    Context,
    Scripted,
    State,
    States,
    StepFinished,
    StepStarted,
    function_to_json,
    prompt_function,
)
from azent.errors import PromptError
from tests.serving import calls_text

# ---- prompts as functions ------------------------------------------------------------------------

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


# ---- chains --------------------------------------------------------------------------------------

CALL = '{"tools": [{"tool": "run_chain", "tool_input": {"text": "abc"}}]}'


def runs(chain: Chain, *given: Any, **named: Any) -> Any:
    return chain.run(*given, **named)


def aruns(chain: Chain, *given: Any, **named: Any) -> Any:
    return asyncio.run(chain.arun(*given, **named))


@pytest.fixture(params=[runs, aruns])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Both ways to run a chain: what holds for one holds for the other."""
    way: Callable[..., Any] = request.param
    return way


def shout(text: str) -> str:
    """Make a text loud.

    Args:
        text: What to shout.
    """
    return text.upper()


async def slowly(text: str) -> str:
    await asyncio.sleep(0)
    return f"{text}..."


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize(
    ("chain", "given", "named", "value"),
    [
        (Chain(shout), ("a",), {}, "A"),
        (Chain(shout) | slowly, ("a",), {}, "A..."),
        (shout | Chain(slowly), ("a",), {}, "A..."),
        (Chain(shout) | (Chain(slowly) | len), ("a",), {}, 4),
        (Chain(double) | double | str, (3,), {}, "12"),
        (Chain(double) | "It is $n.", (), {"number": 4}, "It is 8."),
        (Chain("$a and $b") | shout, ("x", "y"), {}, "X AND Y"),
        (Chain("$a and $b") | shout, ("y",), {"a": "x"}, "X AND Y"),
        (Chain("$a and $b"), ({"a": 1, "b": [2]},), {}, "1 and [2]"),
        (Chain(shout) | "In $language: $text", ("a",), {"language": "French"}, "In French: A"),
        (Chain(lambda: {"a": 1, "b": 2}) | "$b$a", (), {}, "21"),
        (Chain("no blank"), (), {}, "no blank"),
        (Chain(partial(int, base=2)) | double, ("11",), {}, 6),
    ],
)
def test_what_comes_out(
    run: Callable[..., Any], chain: Chain, given: Any, named: Any, value: Any
) -> None:
    assert run(chain, *given, **named) == value


def test_models_and_agents_are_asked_what_comes_in(run: Callable[..., Any]) -> None:
    call = '{"tools": [{"tool": "shout", "tool_input": {"text": "moin"}}]}'
    model, other = Scripted("moin"), Scripted(call, "MOIN!")
    chain = Chain("In Low German: $text") | model | azent.Agent(other, [shout]) | len
    assert run(chain, "good morning") == 5
    assert model.heard[0].messages[-1]["content"] == "In Low German: good morning"
    assert "moin" in str(other.heard[0].messages)


def test_an_agents_value_of_a_type_goes_on(run: Callable[..., Any]) -> None:
    agent = azent.Agent(Scripted("[1, 2]"), output=list[int])
    assert run(Chain("Numbers, please.") | agent | sum) == 3


def test_a_prompt_can_be_a_file(tmp_path: Path, run: Callable[..., Any]) -> None:
    (tmp_path / "greet.txt").write_text("Hello $name", "utf-8")
    chain = Chain(tmp_path / "greet.txt") | shout
    assert repr(chain) == "Chain(greet | shout)"
    assert run(chain, name="Ann") == "HELLO ANN"


# ---- what is seen --------------------------------------------------------------------------------


def events_of(chain: Chain, *given: Any) -> list[Any]:
    return list(chain.stream(*given))


def aevents_of(chain: Chain, *given: Any) -> list[Any]:
    async def all_of() -> list[Any]:
        return [event async for event in chain.astream(*given)]

    return asyncio.run(all_of())


@pytest.mark.parametrize("watch", [events_of, aevents_of])
def test_steps_are_seen_and_only_the_last_ones_words(watch: Callable[..., list[Any]]) -> None:
    first, last = Scripted("a draft"), Scripted(["the", " end"])
    seen = watch(Chain(shout) | first | last, "begin")
    steps = [event for event in seen if isinstance(event, StepStarted | StepFinished)]
    assert steps == [
        StepStarted("shout"),
        StepFinished("shout", "BEGIN"),
        StepStarted("scripted"),
        StepFinished("scripted", "a draft"),
        StepStarted("scripted"),
        StepFinished("scripted", "the end"),
    ]
    assert "".join(event.text for event in seen if isinstance(event, Chunk)) == "the end"
    assert isinstance(seen[-1], Answer)
    assert (seen[-1].text, seen[-1].value, seen[-1].usage.requests) == ("the end", "the end", 2)


def test_what_a_function_leaves_to_be_awaited_belongs_to_the_loop_of_the_caller() -> None:
    async def loop(text: str) -> object:
        return asyncio.get_running_loop()

    async def run() -> bool:
        chain = Chain(lambda text: loop(text))
        return await chain.arun("x") is asyncio.get_running_loop()

    assert asyncio.run(run())


def test_leaving_a_stream_stops_the_step_that_runs() -> None:
    stopped = []

    class Endless:
        name, num_ctx = "endless", None

        def stream(self, request: azent.Request) -> Any:
            try:
                while True:
                    yield azent.Delta("more ")
            finally:
                stopped.append(True)

    events = (Chain(shout) | Endless()).stream("a")
    next(event for event in events if isinstance(event, Chunk))
    events.close()
    assert stopped


# ---- as a tool -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "properties"),
    [
        (Chain(shout) | len, {"text": {"type": "string", "description": "What to shout."}}),
        (Chain("$a, $b"), {"a": {"type": "string"}, "b": {"type": "string"}}),
        (Chain(Scripted()), {"question": {"type": "string"}}),
        (Chain(double), {"number": {"type": "integer"}}),
    ],
)
def test_a_model_is_shown_the_first_steps_parameters(chain: Chain, properties: Any) -> None:
    spec = chain.as_tool(name="go", description="Goes.").spec
    assert (spec["name"], spec["description"]) == ("go", "Goes.")
    assert spec["parameters"]["properties"] == properties


def test_an_agent_runs_a_chain() -> None:
    answer = azent.Agent(Scripted(CALL, "Four."), [Chain(shout) | slowly | len]).ask("How long?")
    assert (answer.text, answer.results[0].text) == ("Four.", "6")


def test_what_a_step_raises_is_told_to_the_model() -> None:
    def fail(text: Annotated[str, "anything"]) -> str:
        raise ValueError("no such thing")

    answer = azent.Agent(Scripted(CALL, "Sorry."), [Chain(fail)]).ask("Go.")
    assert "no such thing" in answer.results[0].text
    assert not answer.results[0].ok


# ---- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize("thing", [3, None, {}, object()])
def test_what_is_no_step(thing: object) -> None:
    with pytest.raises(azent.UsageError, match="cannot be a step"):
        Chain(shout) | thing


def test_no_steps() -> None:
    with pytest.raises(azent.UsageError, match="no steps"):
        Chain()


@pytest.mark.parametrize(
    ("chain", "given", "named", "error", "words"),
    [
        (Chain("$a $b"), ("x",), {}, azent.PromptError, r"nothing fills \$b"),
        (Chain("$a") | shout, (), {"c": 1}, azent.UsageError, "'c'"),
        (Chain(shout) | "no blank", ("a",), {}, azent.PromptError, "no blank is left for 'A'"),
        (Chain(shout) | "qwen3:8b", ("a",), {}, azent.PromptError, "no blank is left"),
        (Chain(shout), (), {}, TypeError, "text"),
        (Chain(int), ("x",), {}, ValueError, "invalid"),
    ],
)
def test_what_goes_wrong(
    run: Callable[..., Any], chain: Chain, given: Any, named: Any, error: Any, words: str
) -> None:
    with pytest.raises(error, match=words):
        run(chain, *given, **named)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (Path("nowhere.txt"), r"nowhere\.txt is missing"),
        ("Write a $class", r"\$class cannot be a parameter"),
    ],
)
def test_prompts_that_cannot_be_steps(thing: object, words: str) -> None:
    with pytest.raises(azent.PromptError, match=words):
        Chain(thing)


@pytest.mark.parametrize("given", [(), ("one", "two")])
def test_a_model_at_the_beginning_is_asked_one_thing(given: tuple[str, ...]) -> None:
    with pytest.raises(azent.UsageError, match="asked one thing"):
        Chain(azent.Scripted("Hi.")).run(*given)


def test_a_model_at_the_beginning_can_be_asked_by_name() -> None:
    model = azent.Scripted("Hi.")
    assert Chain(model).run(question="Who is there?") == "Hi."
    assert "Who is there?" in model.heard[0].messages[-1]["content"]


# ---- states --------------------------------------------------------------------------------------


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


def test_the_measured_size_of_the_context_holds_in_each_state(ask: Callable[..., Answer]) -> None:
    class Small(Scripted):
        def context(self) -> int:
            return 1024

    states = [State("a", to={"b": None}), State("b", "You know a lot. " * 500)]
    with pytest.raises(azent.ContextTooSmall, match=r"1,?024"):
        ask(States(Small(go("b"), "Yes.", num_ctx=8192), states), "Go.")


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
