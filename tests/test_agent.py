"""Agents: both drivers, on a scripted model and real functions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import azent
from azent.messages import Answer, Call, CallFinished, CallStarted, Chunk, Delta, Event, Result

ADD = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
NONE = '{"tools": []}'


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def replies(*texts: Any) -> azent.Scripted:
    return azent.Scripted(*texts)


def by_ask(agent: azent.Agent, question: str, **more: Any) -> Answer:
    return agent.ask(question, **more)


def by_aask(agent: azent.Agent, question: str, **more: Any) -> Answer:
    return asyncio.run(agent.aask(question, **more))


@pytest.fixture(params=[by_ask, by_aask])
def ask(request: pytest.FixtureRequest) -> Callable[..., Answer]:
    """Both ways to ask: what holds for one holds for the other."""
    way: Callable[..., Answer] = request.param
    return way


async def astreamed(agent: azent.Agent, question: str) -> list[Event]:
    return [event async for event in agent.astream(question)]


def test_functions_are_called_and_the_answer_comes(ask: Callable[..., Answer]) -> None:
    model = replies(ADD, NONE, "It is 5.")
    answer = ask(azent.Agent(model, [add]), "What is 2 + 3?")
    assert answer.text == "It is 5."
    assert [result.value for result in answer.results] == [5]
    assert answer.calls == (Call("add", {"a": 2, "b": 3}, id="1"),)
    assert answer.usage.requests == 3


def test_both_drivers_give_equal_events() -> None:
    script = (ADD, '{"tools": [{"tool": }', NONE, [Delta("It "), Delta("is 5.")])
    one = list(azent.Agent(replies(*script), [add]).stream("?"))
    other = asyncio.run(astreamed(azent.Agent(replies(*script), [add]), "?"))

    def without_times(events: list[Event]) -> list[Event]:
        finished = (CallFinished, Answer)
        return [e for e in events if not isinstance(e, finished)]

    assert without_times(one) == without_times(other)
    assert [type(e) for e in one] == [type(e) for e in other]


def test_the_answer_streams_and_calls_do_not() -> None:
    model = replies(ADD, NONE, ["It ", "is ", "5."])
    events = list(azent.Agent(model, [add]).stream("What is 2 + 3?"))
    assert "".join(e.text for e in events if isinstance(e, Chunk)) == "It is 5."
    assert any(isinstance(e, CallStarted) for e in events)
    assert isinstance(events[-1], Answer)


def test_works_inside_a_running_loop() -> None:
    async def notebook() -> Answer:
        return azent.Agent(replies(ADD, NONE, "5"), [add]).ask("?")

    assert asyncio.run(notebook()).text == "5"


def test_async_functions_run_on_the_callers_loop() -> None:
    seen: list[object] = []

    async def where() -> str:
        """Tell where."""
        seen.append(asyncio.get_running_loop())
        return "here"

    async def run() -> object:
        model = replies('{"tools": [{"tool": "where", "tool_input": {}}]}', NONE, "ok")
        await azent.Agent(model, [where]).aask("?")
        return asyncio.get_running_loop()

    assert [asyncio.run(run())] == seen


def test_a_conversation_goes_on_from_its_log(ask: Callable[..., Answer]) -> None:
    model = replies("Hello Logan.", "Logan.")
    agent = azent.Agent(model)
    first = ask(agent, "Hello! My name is Logan.")
    second = ask(agent, "What is my name?", log=first.log)
    assert second.text == "Logan."
    assert [m["content"] for m in model.heard[1].messages] == [
        "Hello! My name is Logan.",
        "Hello Logan.",
        "What is my name?",
    ]


def test_an_error_in_a_function_goes_to_the_model(ask: Callable[..., Answer]) -> None:
    def div(a: int, b: int) -> float:
        """Divide."""
        return a / b

    model = replies('{"tools": [{"tool": "div", "tool_input": {"a": 1, "b": 0}}]}', NONE, "No.")
    answer = ask(azent.Agent(model, [div]), "1/0?")
    assert not answer.results[0].ok
    told = model.heard[1].messages[-1]["content"]
    assert "ZeroDivisionError" in told
    assert "Traceback" not in told


def test_a_tool_can_speak_to_the_model(ask: Callable[..., Answer]) -> None:
    def refund(order: int) -> str:
        """Refund an order."""
        raise azent.ToolFailed(f"order {order} is too old to refund")

    model = replies('{"tools": [{"tool": "refund", "tool_input": {"order": 7}}]}', NONE, "No.")
    answer = ask(azent.Agent(model, [refund]), "Refund order 7.")
    assert answer.results[0].text == "order 7 is too old to refund"


def test_calls_of_one_reply_run_side_by_side(ask: Callable[..., Answer]) -> None:
    barrier = threading.Barrier(3, timeout=10)

    def meet(n: int) -> int:
        """Wait until all are there."""
        barrier.wait()
        return n

    calls = ", ".join(f'{{"tool": "meet", "tool_input": {{"n": {n}}}}}' for n in range(3))
    answer = ask(azent.Agent(replies(f'{{"tools": [{calls}]}}', NONE, "ok"), [meet]), "?")
    assert [result.value for result in answer.results] == [0, 1, 2]


def test_a_hung_call_is_reported_at_its_limit(ask: Callable[..., Answer]) -> None:
    release = threading.Event()

    @azent.tool(timeout=0.1)
    def hang() -> None:
        """Hang."""
        release.wait(30)

    model = replies('{"tools": [{"tool": "hang", "tool_input": {}}]}', NONE, "It hangs.")
    answer = ask(azent.Agent(model, [hang]), "?")
    release.set()
    assert answer.results[0].text == "no result within the time limit of 0.1 s"


def test_the_time_limit_of_a_run_ends_it(ask: Callable[..., Answer]) -> None:
    release = threading.Event()

    def hang() -> None:
        """Hang."""
        release.wait(30)

    model = replies('{"tools": [{"tool": "hang", "tool_input": {}}]}')
    answer = ask(azent.Agent(model, [hang], timeout=0.2), "?")
    release.set()
    assert answer.stopped == "timeout"
    assert not answer.results[0].ok


def test_what_needs_consent_does_not_run_without(ask: Callable[..., Answer]) -> None:
    ran: list[str] = []

    @azent.tool(confirm=True)
    def delete(path: str) -> str:
        """Delete a file."""
        ran.append(path)
        return "gone"

    script = ('{"tools": [{"tool": "delete", "tool_input": {"path": "a"}}]}', NONE, "ok")
    assert not ask(azent.Agent(replies(*script), [delete]), "?").results[0].ok
    assert ran == []
    assert (
        ask(azent.Agent(replies(*script), [delete]), "?", approve=lambda call: True).results[0].ok
    )
    assert ran == ["a"]


@pytest.mark.parametrize(
    ("verdict", "ran", "text"),
    [
        (False, [], "did not allow"),
        ("ask me tomorrow", [], "ask me tomorrow"),
        ({"path": "b"}, ["b"], "gone"),
    ],
)
def test_verdicts(verdict: Any, ran: list[str], text: str) -> None:
    seen: list[str] = []

    @azent.tool(confirm=True)
    def delete(path: str) -> str:
        """Delete a file."""
        seen.append(path)
        return "gone"

    model = replies('{"tools": [{"tool": "delete", "tool_input": {"path": "a"}}]}', NONE, "ok")
    answer = azent.Agent(model, [delete]).ask("?", approve=lambda call: verdict)
    assert seen == ran
    assert text in answer.results[0].text


def test_run_takes_the_place_of_the_toolbox(ask: Callable[..., Answer]) -> None:
    def remote(call: Call) -> Result:
        return Result(call.tool, f"ran {call.tool_input['a']} elsewhere")

    answer = ask(azent.Agent(replies(ADD, NONE, "ok"), [add], run=remote), "?")
    assert answer.results[0].text == "ran 2 elsewhere"


def test_context_is_handed_to_the_function_and_hidden(ask: Callable[..., Answer]) -> None:
    def whoami(context: azent.Context[str]) -> str:
        """Tell who asks."""
        return context.value

    model = replies('{"tools": [{"tool": "whoami", "tool_input": {}}]}', NONE, "Kim.")
    answer = ask(azent.Agent(model, [whoami]), "Who am I?", context="Kim")
    assert answer.results[0].value == "Kim"
    assert "context" not in model.heard[0].messages[0]["content"]


def test_a_reply_that_stays_unusable_ends_in_an_error_with_the_log() -> None:
    cut = '{"tools":[{"tool":"add","tool_input":{"a":'
    agent = azent.Agent(replies(cut, cut, cut), [add], repairs=2)
    with pytest.raises(azent.BadReply) as caught:
        agent.ask("?")
    assert len([m for m in caught.value.log if isinstance(m, azent.Reply)]) == 3


def test_one_agent_serves_many_conversations_at_once() -> None:
    class Echo:
        name = "echo"
        num_ctx = None

        def stream(self, request: azent.Request) -> Any:
            time.sleep(0.001)
            yield Delta(request.messages[-1]["content"])
            yield azent.End()

    agent = azent.Agent(Echo())
    answers: dict[int, str] = {}

    def converse(n: int) -> None:
        answers[n] = agent.ask(f"I am {n}").text

    threads = [threading.Thread(target=converse, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: f"I am {n}" for n in range(20)}


def test_stopping_early_closes_the_model() -> None:
    closed = threading.Event()

    class Endless:
        name = "endless"
        num_ctx = None

        def stream(self, request: azent.Request) -> Any:
            try:
                while True:
                    yield Delta("word ")
            finally:
                closed.set()

    events = azent.Agent(Endless()).stream("?")
    assert any(isinstance(event, Chunk) for event in events)
    events.close()
    assert closed.is_set()


def test_select_decides_and_runs_nothing() -> None:
    ran: list[int] = []

    def count(n: int) -> None:
        """Count."""
        ran.append(n)

    model = replies(
        '{"tools": [{"tool": }', '{"tools": [{"tool": "count", "tool_input": {"n": "3"}}]}'
    )
    reply = azent.select("Count to 3", [count], model)
    assert [(c.tool, c.tool_input) for c in reply.calls] == [("count", {"n": 3})]
    assert ran == []


@pytest.mark.parametrize("choice", ["sometimes", "sub"])
def test_a_choice_that_there_is_not(choice: str) -> None:
    with pytest.raises(azent.UsageError, match=choice):
        azent.Agent(replies(), [add], choice=choice)
    with pytest.raises(azent.UsageError, match=choice):
        azent.select("2 + 3?", [add], replies(), choice=choice)


@pytest.mark.parametrize("question", ["\ud800", [{"role": "user", "content": "\ud800"}]])
def test_half_a_character_is_not_sent(question: Any) -> None:
    with pytest.raises(azent.UsageError, match="is no text"):
        azent.select(question, [add], replies())


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(azent.SchemaError, match="two tools are named 'add'"):
        azent.Agent(replies(), [add, add])


class Slow:
    """A model without an asynchronous way, that takes its time and notes when it is stopped."""

    name = "slow"
    num_ctx = None

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def stream(self, request: azent.Request) -> Iterator[Delta | azent.End]:
        try:
            for _ in range(1000):
                time.sleep(0.05)
                yield Delta("more ")
        finally:
            self.stopped.set()


def test_leaving_a_run_stops_a_model_that_is_waited_for_in_a_thread() -> None:
    model = Slow()

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(azent.Agent(model).aask("?"), 0.12)

    asyncio.run(leave())
    assert model.stopped.wait(5)
