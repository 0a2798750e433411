"""Memory, long conversations, summaries and answers of a type, on a real model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import azent
from azent.conversation.context_window import estimate
from azent.messages import Log
from azent.messages.log import turns
from azent.models import Model
from azent.runtime.decision import log_of
from tests.conftest import SMALL_MODEL

pytestmark = pytest.mark.model
NUM_CTX = 1024  # of the long conversation; the others keep what is loaded


class Pizza(BaseModel):
    name: str
    price: float


class Overheard:
    """A model, and the requests that it was asked."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.num_ctx = model.num_ctx
        self.heard: list[azent.Request] = []
        self._model = model

    def stream(self, request: azent.Request) -> Iterator[azent.Delta | azent.End]:
        """What the model itself says."""
        self.heard.append(request)
        return self._model.stream(request)


@pytest.fixture
def model(ollama: str) -> Model:
    return azent.open_model(SMALL_MODEL, host=ollama, options={"num_predict": 200})


def test_it_remembers_over_turns_and_processes(model: Model, tmp_path: Path) -> None:
    session = azent.Session("work", azent.Store(tmp_path / "sessions.db"))
    azent.Agent(model).ask("Hello! My name is Logan.", session=session)
    answer = azent.Agent(model).ask("What is my name?", session=session)
    assert "Logan" in answer.text


def test_a_summary_holds_the_facts(model: Model) -> None:
    log: Log = log_of(
        [
            {"role": "user", "content": "My name is Logan, and I live in Bergen."},
            {"role": "assistant", "content": "Nice to meet you, Logan."},
            {"role": "user", "content": "I have two cats, Pixel and Mouse."},
            {"role": "assistant", "content": "Two lovely names."},
        ]
    )[0]
    said = azent.summary(log, model)
    assert sum(fact in said for fact in ("Logan", "Bergen", "cat", "Pixel")) >= 2


def test_answers_come_as_values(model: Model) -> None:
    agent = azent.Agent(model, output=list[Pizza])
    answer = agent.ask("Our menu: a Margherita is 7.50, a Funghi is 9.00. List all pizzas.")
    assert answer.value == [Pizza(name="Margherita", price=7.5), Pizza(name="Funghi", price=9.0)]
    assert len(json.loads(answer.text)) == 2


def test_answers_of_functions_come_as_values(model: Model) -> None:
    def temperature(city: str) -> str:
        """Get the temperature in a city, in degrees Celsius."""
        return "17 degrees in Oslo"

    class Weather(BaseModel):
        city: str
        degrees: int

    answer = azent.Agent(model, [temperature], output=Weather).ask("How warm is it in Oslo?")
    assert [call.tool for call in answer.calls] == ["temperature"]
    assert answer.value == Weather(city="Oslo", degrees=17)


def test_a_conversation_three_times_the_context(ollama: str) -> None:
    """System text, tools and the last question are always sent, and it is said what was not."""

    def now() -> str:
        """Tell the time of day."""
        return "12:00"

    opened = azent.open_model(
        SMALL_MODEL, host=ollama, num_ctx=NUM_CTX, options={"num_predict": 30}
    )
    model = Overheard(opened)
    agent = azent.Agent(model, [now], prompts="default", system="You are SYSTEM-MARK.")
    log: Log = ()
    warnings: list[str] = []
    told = 0
    while told < 3 * NUM_CTX:
        number = len(turns(log))
        question = f"Note number {number}: " + "the quick brown fox jumps over a dog. " * 30
        answer = agent.ask(f"{question} Say ok.", log)
        log, warnings = answer.log, [*warnings, *answer.warnings]
        told += estimate([{"content": question}])
        sent = str(model.heard[-1].messages)
        assert all(word in sent for word in ("SYSTEM-MARK", "now()", question.strip()))
        assert answer.usage.requests == 0 or answer.usage.prompt_tokens > 0
    replies = [m for m in log if isinstance(m, azent.Reply) and m.usage]
    counted = [reply.usage.prompt_tokens for reply in replies if reply.usage]
    assert max(counted) < 0.9 * NUM_CTX
    assert any("turns left out" in warning for warning in warnings)
    assert not any("cut the request" in warning for warning in warnings)
