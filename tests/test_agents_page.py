"""The code on chains and states in docs/agents.md runs, on a server that follows a script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_ollama import ScriptedOllama

PAGE = Path(__file__).resolve().parent.parent / "docs" / "agents.md"


def code_under(heading: str) -> str:
    """The Python of a section."""
    section = re.split(r"\n## ", PAGE.read_text("utf-8"))
    (text,) = [part for part in section if part.startswith(heading)]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize(
    ("heading", "replies", "shown"),
    [
        ("Chains", ["Pizza ", "Dough."], "Dough."),
        ("States", ["It is 112.23 euros."], "welcome (start)\n    -> desk, when the model says so"),
    ],
)
def test_its_code_does_what_it_says(
    heading: str,
    replies: list[str],
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ScriptedOllama(*replies) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        names: dict[str, Any] = {"is_rich": lambda answer: False}
        exec("import azent\n" + code_under(heading), names)
    assert shown in capsys.readouterr().out
