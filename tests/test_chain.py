"""Chains: what goes from step to step, what is seen of it, and what cannot be chained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest

import azent
from azent import Answer, Chain, Chunk, Scripted, StepFinished, StepStarted

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
