"""The loop on a real model: calls run, limits hold, a server that is left stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import azent
from azent.messages import Answer, Chunk, Delta, End, Request
from tests.conftest import SMALL_MODEL

pytestmark = pytest.mark.model

LONG = "Count from 1 to 1000, one number on each line, and leave none out."
LONG_ENOUGH = 1500  # tokens, which take the fastest machine here a minute


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def by_ask(agent: azent.Agent, question: str) -> Answer:
    return agent.ask(question)


def by_aask(agent: azent.Agent, question: str) -> Answer:
    return asyncio.run(agent.aask(question))


@pytest.fixture(params=[by_ask, by_aask])
def ask(request: pytest.FixtureRequest) -> Callable[..., Answer]:
    way: Callable[..., Answer] = request.param
    return way


def opened(url: str, **settings: Any) -> Any:
    return azent.open_model(SMALL_MODEL, host=url, **settings)


def test_a_function_is_called_and_its_result_used(ask: Any, ollama: str) -> None:
    answer = ask(azent.Agent(opened(ollama), [add]), "What is 2123 + 2321?")
    assert (answer.calls[0].tool, answer.calls[0].tool_input) == ("add", {"a": 2123, "b": 2321})
    assert answer.results[0].value == 4444
    assert "4444" in answer.text.replace(",", "")
    assert answer.usage.requests >= 2
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.reply_seconds > 0


def test_a_run_past_its_limit_ends(ask: Any, ollama: str) -> None:
    model = opened(ollama, options={"num_predict": LONG_ENOUGH})
    list(model.stream(Request(({"role": "user", "content": "Hi"},), options={"num_predict": 1})))
    answer = ask(azent.Agent(model, timeout=3), LONG)
    assert answer.stopped == "timeout"


def stopped_early(model: Any, ollama: str) -> None:
    """Leave a long answer after a few words."""
    events: Any = azent.Agent(model).stream(LONG)
    for event in events:
        if isinstance(event, Chunk):
            break
    events.close()


def cancelled_early(model: Any, ollama: str) -> None:
    """Cancel a long answer after a few words."""

    async def run() -> None:
        begun = asyncio.Event()

        async def listen() -> None:
            async for event in azent.Agent(model).astream(LONG):
                if isinstance(event, Chunk):
                    begun.set()

        task = asyncio.ensure_future(listen())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


@pytest.mark.parametrize("leave", [stopped_early, cancelled_early])
def test_the_server_stops_when_it_is_left(leave: Any, ollama: str) -> None:
    """It writes one reply at a time: were it still at the long one, the next would have to wait."""
    leave(opened(ollama, options={"num_predict": 100_000}), ollama)
    pieces: Iterator[Delta | End] = opened(ollama).stream(
        Request(({"role": "user", "content": "Say yes."},), options={"num_predict": 3}, timeout=120)
    )
    assert isinstance(list(pieces)[-1], End)


def test_a_format_that_is_no_schema_is_refused_in_words(ollama: str) -> None:
    with pytest.raises(azent.ModelRefused):
        list(opened(ollama).stream(Request(({"role": "user", "content": "Hi"},), {"type": "no"})))


def test_a_model_that_is_not_there(ollama: str) -> None:
    with pytest.raises(azent.ModelNotFound) as caught:
        azent.Agent(azent.open_model("no-such-model", host=ollama)).ask("?")
    assert "ollama pull no-such-model" in caught.value.hint
    assert SMALL_MODEL in caught.value.hint
