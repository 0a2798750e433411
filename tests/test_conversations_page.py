"""The code of docs/conversations.md runs, on a server that follows a script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scripted_ollama import ScriptedOllama

PAGE = Path(__file__).resolve().parent.parent / "docs" / "conversations.md"
PIZZAS = '{"value": [{"name": "Margherita", "price": 7.5}, {"name": "Funghi", "price": 9.0}]}'


def reply(body: dict[str, object]) -> str:
    """What a model would say to the page's questions."""
    said = str(body["messages"])
    if "List all pizzas" in said:
        return PIZZAS
    if "What did I order" in said and body.get("format"):
        called = "ordered a Funghi" in said
        return '{"tools": []}' if called else '{"tools": [{"tool": "orders", "tool_input": {}}]}'
    return "Kim ordered a Funghi." if "You talk to Kim." in said else "Logan."


def test_its_code_does_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    with ScriptedOllama(reply, decides=False) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        exec(compile("\n".join(blocks), str(PAGE), "exec", dont_inherit=True), {"__name__": "page"})
    assert capsys.readouterr().out.splitlines() == [
        "Logan.",
        "[{'role': 'user', 'content': 'Hello! My name is Logan.'}, "
        "{'role': 'assistant', 'content': 'Logan.'}]",
        "Logan.",
        "Logan.",
        "[Pizza(name='Margherita', price=7.5), Pizza(name='Funghi', price=9.0)]",
        '[{"name": "Margherita", "price": 7.5}, {"name": "Funghi", "price": 9.0}]',
        "Kim ordered a Funghi.",
    ]
