"""The files in `examples/` do what they say: with scripted models here, with real ones when asked.

They are run as their readers run them, from their own folder on the path.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import azent
from azent import Scripted
from tests.scripted_ollama import ScriptedOllama
from tests.serving import calls_text

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
MOST_LINES = 30
WITH_A_MODEL = ["workflow", "article", "prompt_chain", "order_states", "talk"]


@pytest.fixture(autouse=True)
def _on_the_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    for file in FILES:
        sys.modules.pop(file.stem, None)


def example(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_example_is_long(file: Path) -> None:
    """Without docstrings, comments, imports and empty lines."""
    tree = ast.parse(file.read_text("utf-8"))
    code = [line for node in tree.body for line in code_lines(node)]
    assert len(set(code)) <= MOST_LINES


def code_lines(node: ast.stmt) -> list[int]:
    """The numbers of the lines that statements begin or go on in."""
    if isinstance(node, ast.Import | ast.ImportFrom) or is_text(node):
        return []
    inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    cases = [stmt for case in getattr(node, "cases", ()) for stmt in case.body]
    heads = [case.pattern.lineno for case in getattr(node, "cases", ())]
    if not inner and not cases:
        return list(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    first = min(stmt.lineno for stmt in (inner or cases))
    head = [line for line in range(node.lineno, first) if line not in heads]
    return [*head, *heads, *(line for stmt in [*inner, *cases] for line in code_lines(stmt))]


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """What a person types."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


# ---- with scripted models ------------------------------------------------------------------------


def test_the_workflow(capsys: pytest.CaptureFixture[str]) -> None:
    model = Scripted(
        calls_text(("add", {"a": 2123, "b": 2321})),
        calls_text(("multiply", {"a": 4444, "b": 312})),
        "It is 1386528.",
        "Your name is Logan.",
    )
    answer = example("workflow").main(model)
    assert answer.text == "Your name is Logan."
    assert "My name is Logan." in str(model.heard[-1].messages)
    shown = capsys.readouterr().out
    assert "[calling multiply {'a': 4444, 'b': 312}]" in shown
    assert "It is 1386528." in shown
    assert "sources: add: 4444 multiply: 1386528" in shown


def test_the_articles_walk(capsys: pytest.CaptureFixture[str]) -> None:
    places = ["London, UK", "Oslo, Norway"]
    model = Scripted(calls_text(*(("get_weather", {"location": p}) for p in places)), "Rain, snow.")
    assert example("article").main(model) == "Rain, snow."
    assert "get_weather: -3 °C and snow" in str(model.heard[-1].messages)
    assert '"description": "The city and the country' in capsys.readouterr().out


def test_the_prompt_chain(capsys: pytest.CaptureFixture[str]) -> None:
    model = Scripted("Pizza\nwith love", "Arr, 'tis cheesy.")
    assert example("prompt_chain").main(model) == "Arr, 'tis cheesy."
    assert "style of a pirate on how Pizza tastes" in str(model.heard[-1].messages)
    assert "] Pizza\n" in capsys.readouterr().out


def test_the_agent_with_states() -> None:
    model = Scripted(
        calls_text(("go_to", {"state": "desk"})),
        calls_text(("find_order", {"number": 17})),
        "A kettle.",
    )
    answer = example("order_states").main(model)
    assert answer.text == "A kettle."
    assert "You solve problems." in str(model.heard[1].messages)


def test_two_agents_talk_until_one_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    model = Scripted("2 + 2?", "4.", "Well done. TERMINATE", "One sum: 2 + 2.")
    assert example("talk").main(model) == "One sum: 2 + 2."
    said = capsys.readouterr().out
    assert "teacher: 2 + 2?\nstudent: 4.\nteacher: Well done. TERMINATE" in said
    assert "{'role': 'user', 'content': 'I am ready. Ask me.'}" in said


def test_one_is_offered_a_function_and_another_runs_it() -> None:
    given = {"base_amount": 123.45, "base_currency": "USD", "quote_currency": "EUR"}
    model = Scripted(
        calls_text(("ask_clerk", {"question": "123.45 USD in EUR?"})),
        calls_text(("currency_calculator", given)),
        "112.23 EUR.",
        "It is 112.23 euros.",
    )
    answer = example("two_agents").team(model).ask("How much is 123.45 USD in EUR?")
    assert (answer.text, answer.results[0].text) == ("It is 112.23 euros.", "112.23 EUR.")
    clerk = answer.results[0].value
    assert [result.text for result in clerk.results] == ["112.23 EUR"]


@pytest.mark.parametrize(
    ("said", "paid"),
    [
        (["y", ""], "paid 20.00 euros to Kim"),
        (["15", ""], "paid 15.00 euros to Kim"),
        (["that is too much", ""], None),
        (["", ""], None),
    ],
)
def test_a_person_has_the_last_word(
    said: list[str], paid: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, *said)
    consent = example("consent")
    model = Scripted(calls_text(("pay", {"name": "Kim", "euros": 20.0})), "Done.")
    answer = consent.converse(azent.Agent(model, [consent.pay]), "Pay Kim 20 euros")
    assert sys.stdin.read() == ""
    done = [result.text for result in answer.results if result.ok]
    assert done == [] if paid is None else done[0].endswith(paid)


@pytest.mark.parametrize(
    ("approval", "said", "result"),
    [("never", [], "1.00 EUR"), ("tool", [], "1.00 EUR"), ("always", ["y"], "1.00 EUR")],
)
def test_when_a_person_is_asked(
    approval: str, said: list[str], result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, *said)
    given = {"base_amount": 1.1, "base_currency": "USD"}
    model = Scripted(calls_text(("currency_calculator", given)), "One euro.")
    answer = example("human_input").main(model, approval)
    assert answer.results[0].text == result
    assert sys.stdin.read() == ""


def test_a_person_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "n")
    model = Scripted(calls_text(("currency_calculator", {"base_amount": 1.0})), "Then not.")
    answer = example("human_input").main(model, "always")
    assert (answer.stopped, answer.results[0].ok) == ("refused", False)


def test_rounds_are_capped() -> None:
    call = calls_text(("currency_calculator", {"base_amount": 1.0}))
    answer = example("human_input").main(Scripted(call, "Enough."), "never", rounds=1)
    assert (answer.text, answer.stopped) == ("Enough.", "rounds")


def test_profiles_by_tag_and_replies_kept(tmp_path: Path) -> None:
    with ScriptedOllama(calls_text(("add", {"a": 2123, "b": 2321})), "4444.") as server:
        down = {"host": "http://127.0.0.1:9", "retries": 0}
        profiles = [
            {"model": "large", **down, "tags": ["large"]},
            {"model": "first", **down, "tags": ["small"]},
            {"model": "scripted", "host": server.url, "tags": ["small", "local"]},
        ]
        ask: Any = example("profiles").main
        first = ask(json.dumps(profiles), tmp_path / "replies.db")
        requests = len(server.requests)
        again = ask(json.dumps(profiles), tmp_path / "replies.db")
        assert len(server.requests) == requests
    assert (first.text, again.text) == ("4444.", "4444.")


# ---- with a real one -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("name", WITH_A_MODEL)
def test_with_a_real_model(name: str, large_ollama: str) -> None:
    said = example(name).main(azent.open_model("qwen2.5-coder:1.5b", host=large_ollama))
    assert said.text if isinstance(said, azent.Answer) else said


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize(("approval", "typing"), [("never", ""), ("always", "y\n" * 9)])
def test_a_person_is_asked_by_a_real_model(
    approval: str, typing: str, large_ollama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typing))
    model = azent.open_model("qwen2.5-coder:1.5b", host=large_ollama)
    answer = example("human_input").main(model, approval)
    assert "112.23" in answer.text
    assert (sys.stdin.read() == typing) == (approval == "never")


@pytest.mark.slow
@pytest.mark.model
def test_the_desk_runs_what_the_clerk_offers_to_a_real_model(large_ollama: str) -> None:
    model = azent.open_model("qwen2.5-coder:1.5b", host=large_ollama)
    answer = example("two_agents").team(model).ask("How much is 123.45 USD in EUR?")
    assert [result.tool for result in answer.results] == ["ask_clerk"]
    assert answer.text


@pytest.mark.slow
@pytest.mark.model
def test_a_real_model_by_its_tag(large_ollama: str, tmp_path: Path) -> None:
    profiles = [
        {"model": "nobody", "host": "http://127.0.0.1:9", "retries": 0, "tags": ["small"]},
        {"model": "qwen2.5-coder:1.5b", "host": large_ollama, "tags": ["small"]},
    ]
    answers = [
        example("profiles").main(json.dumps(profiles), tmp_path / "replies.db") for _ in range(2)
    ]
    assert "4444" in answers[0].text
    assert answers[1].text == answers[0].text
