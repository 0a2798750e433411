"""The questions that azent is for, asked at the command line of real models, as a newcomer would.

A test on a real model checks calls and facts and not sentences: the same request can be put in
other words once the model has part of it in its cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
QUESTIONS = {
    "arithmetic": (
        "What is (2123 + 2321) * 312?",
        {"tool": "add", "tool_input": {"a": 2123, "b": 2321}},
        "1386528",
    ),
    "weather": (
        "What's the weather in London, UK?",
        {"tool": "get_weather", "tool_input": {"location": "London, UK"}},
        "12",
    ),
    "currency": (
        "How much is 123.45 USD in EUR?",
        {
            "tool": "currency_calculator",
            "tool_input": {
                "base_amount": 123.45,
                "base_currency": "USD",
                "quote_currency": "EUR",
            },
        },
        "112.23",
    ),
}


def ask(question: str, example: str, *options: str) -> dict[str, Any]:
    tools = ["--tools", str(EXAMPLES / f"{example}.py"), "--json"]
    command = [sys.executable, "-m", "azent", "ask", question, *tools, *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


@pytest.mark.model
def test_a_small_model_calls_the_right_function(
    ollama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama)
    question, call, fact = QUESTIONS["weather"]
    answer = ask(question, "weather", "--model", "qwen2.5-coder:0.5b")
    assert answer["calls"][0] == call
    assert fact in answer["results"][0]["text"]


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("example", QUESTIONS)
def test_on_ollama(large_ollama: str, monkeypatch: pytest.MonkeyPatch, example: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", large_ollama)
    check(example, "--model", "qwen2.5-coder:1.5b")


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("example", QUESTIONS)
def test_on_the_embedded_model_where_no_ollama_runs(
    real_cache: Path, monkeypatch: pytest.MonkeyPatch, example: str
) -> None:
    monkeypatch.setenv("AZENT_CACHE", str(real_cache))
    check(example)


def check(example: str, *options: str) -> None:
    question, call, fact = QUESTIONS[example]
    answer = ask(question, example, *options)
    assert call in answer["calls"]
    assert fact in answer["answer"].replace(",", "")
