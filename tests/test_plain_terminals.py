"""Terminals that can do little, and code pages that lack characters: all is there, and legible."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from azent.cli import app
from azent.cli.console import table_lines, wrap
from tests.scripted_ollama import ScriptedOllama
from tests.terminal import Terminal

ROOT = Path(__file__).resolve().parent.parent
CALL = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
ANSWER = """# Résumé

It is **5** — 北京 ✅, in `code`.

- one
- two

| a | b |
|---|---|
| 1 | 2 |
"""
CASES = """{"question": "2 + 3?", "calls": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}
{"question": "2 + 4?", "calls": [{"tool": "add", "tool_input": {"a": 2, "b": 4}}]}
"""
TOOLS = '''def add(a: int, b: int) -> int:
    """Add two numbers — précisément.

    Args:
        a: the first
        b: the second
    """
    return a + b
'''
MODELS = ("qwen2.5-coder:1.5b", "hf.co/somebody/A-Rather-Long-Name-GGUF:Q4_K_M")
COMMANDS = {  # with what has to be seen, whole, whatever the terminal
    "ask": (["ask", "2 + 3?", "-m", "m", "-t", "sums.py", "-v"], ["add(a=2, b=3)", "5"]),
    "tools": (["tools", "list", "sums.py"], ["add", "numbers"]),
    "check": (["tools", "check", "sums.py"], []),
    "prompts": (["prompts", "list"], ["default", "article"]),
    "models": (["models", "list"], ["native tools no", "context 32768", "prompt set default"]),
    "doctor": (["doctor", "-m", "m"], ["Python", "pydantic", "tokens/s"]),
    "eval": (["eval", "-o", "outcomes.jsonl"], ["0.50 (1/2, ", "mean over categories"]),
    "config": (["config", "show"], ["reply_cache", "default"]),
}
PLAIN = {
    "NO_COLOR": {"NO_COLOR": "1"},
    "dumb": {"TERM": "dumb"},
    "ascii": {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    "cp437": {"PYTHONIOENCODING": "cp437", "PYTHONUTF8": "0"},
    "C": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
PAIRS = [
    *((command, plain) for command in COMMANDS for plain in ("dumb", "ascii")),
    *((command, plain) for command in ("ask", "doctor") for plain in ("NO_COLOR", "cp437", "C")),
    *(("eval", "NO_COLOR"), ("prompts", "cp437"), ("tools", "C")),
]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AZENT_HOME", str(tmp_path / "home"))
    Path("sums.py").write_text(TOOLS, "utf-8")
    Path("cases.jsonl").write_text(CASES, "utf-8")
    with ScriptedOllama(CALL) as ollama:
        name = "hf.co/somebody/A-Rather-Long-Name-GGUF"
        words = ["eval", "cases.jsonl", "-t", "sums.py", "-m", name, "-o", "outcomes.jsonl"]
        run = CliRunner(env={"OLLAMA_HOST": ollama.url}).invoke(app, words)
    assert run.exit_code == 0, run.stderr


def server() -> ScriptedOllama:
    return ScriptedOllama(CALL, ANSWER, models=MODELS, cycles=True)


@pytest.mark.parametrize(("command", "plain"), PAIRS)
def test_a_terminal_that_can_do_little_gets_text_alone(
    command: str, plain: str, tmp_path: Path
) -> None:
    arguments, seen = COMMANDS[command]
    with (
        server() as ollama,
        Terminal(arguments, ollama.url, tmp_path, columns=40, env=PLAIN[plain]) as terminal,
    ):
        assert terminal.end() in (0, 1)
    sent = terminal.sent.decode("utf-8", "replace")
    assert "\x1b" not in sent
    assert "Traceback" not in sent
    in_a_line = " ".join(sent.split())
    assert [words for words in seen if words not in in_a_line] == []
    if plain in ("ascii", "C"):
        assert terminal.sent.isascii()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_gets_text_alone(command: str) -> None:
    arguments, _ = COMMANDS[command]
    with server() as ollama:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "OLLAMA_HOST": ollama.url, **PLAIN["C"]}
        words = [sys.executable, "-m", "azent", *arguments]
        run = subprocess.run(words, env=env, capture_output=True, timeout=60)
    assert run.returncode in (0, 1), run.stderr
    assert b"\x1b" not in run.stdout + run.stderr
    assert b"Traceback" not in run.stderr


@pytest.mark.parametrize("plain", PLAIN)
def test_a_chat_at_such_a_terminal(plain: str, tmp_path: Path) -> None:
    with (
        ScriptedOllama("Here **you** are.") as ollama,
        Terminal(
            ["chat", "-m", "m", "--no-tools"], ollama.url, tmp_path, columns=40, env=PLAIN[plain]
        ) as terminal,
    ):
        terminal.wait_for(">" if plain in ("ascii", "C", "cp437") else "›")
        terminal.type("Hello\r")
        terminal.wait_for("Here **you** are.")
        terminal.type("/exit\r")
        assert terminal.end() == 0
    assert not re.search(rb"\x1b\[[0-9;]*(?:3|4|9|10)[0-7]m", terminal.sent)  # no colours
    assert plain != "dumb" or b"\x1b" not in terminal.sent


@pytest.mark.parametrize("columns", ["40", "x", "0", "-3"])
def test_the_width_may_be_told(columns: str, tmp_path: Path) -> None:
    with server() as ollama:
        env = {"COLUMNS": columns}
        with Terminal(["models", "list"], ollama.url, tmp_path, columns=120, env=env) as terminal:
            assert terminal.end() == 0
    widest = max(map(len, terminal.screen().splitlines()))
    assert (widest <= len(MODELS[1])) == (columns == "40")


@pytest.mark.parametrize("width", [24, 40, 60, 80])
def test_no_value_is_broken_to_fit_in(width: int) -> None:
    rows: list[Any] = [(name, "491 MB", "32768", "no", "default", "Ollama") for name in MODELS]
    headings = ("model", "size", "context", "native tools", "prompt set", "where")
    lines = list(table_lines(headings, rows, width))
    said = "\n".join(lines)
    for facts in ("491 MB", "context 32768", "native tools no", "prompt set default", *MODELS):
        assert said.count(facts) == (1 if facts in MODELS else 2), facts
    assert max(len(line) for line in lines if not line.startswith("hf.co")) <= width


def test_words_are_wrapped_and_never_cut() -> None:
    text = "server: Ollama 0.9.3 at http://a-long-name.example:11434/and/a/path"
    assert wrap(text, 24, "* ", "  ").splitlines() == [
        "* server: Ollama 0.9.3",
        "  at",
        "  http://a-long-name.example:11434/and/a/path",
    ]
