"""What a model, a tool or a file says is shown by a terminal, and never obeyed.

The same words go through every road to standard output: JSON, JSON lines, exports, files.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import azent
from azent.batch import run_batch
from azent.errors import safe_json
from azent.messages import Question, Reply
from azent.sessions import Store
from tests.attacks.running import command
from tests.scripted_ollama import ScriptedOllama

OBEYED = {
    "C0": "\x1b[2J\x07\x08\r",
    "DEL": "\x7f",
    "C1": "\x80\x9b2J\x90q\x9c\x9f",
    "bidi overrides": "\u202a\u202d\u202e\u202c",
    "bidi isolates": "\u2066\u2067\u2068\u2069",
    "bidi marks": "\u200e\u200f\u061c",
    "separators": "\u2028\u2029",
    "nothing to see": "\u200b\u200c\u2060\ufeff\u00ad\u180e",
    "tags": "\U000e0001\U000e0041\U000e007f",
    "notes": "\ufff9\ufffa\ufffb",
    "private": "\ue000\U000f0000",
    "unassigned": "\u0378\U000e0fff",
    "half characters": "\ud83d \udc00",
}
ALL = "".join(OBEYED.values())
SEEN = "héllo 你好 ✅ 👩\u200d💻 \t"


def is_shown(text: str) -> bool:
    """Has a text no character that a terminal obeys or hides?"""
    harmless = "\n\t\u200d\ufe0f"
    kinds = {unicodedata.category(each) for each in text if each not in harmless}
    return not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize("words", OBEYED.values(), ids=OBEYED)
def test_json_says_the_same_and_is_not_obeyed(words: str) -> None:
    value = {f"key {words}": [words, {"x": SEEN + words}]}
    text = safe_json(json.dumps(value, ensure_ascii=False))
    assert is_shown(text)
    assert json.loads(text) == value


@given(st.text())
def test_any_text_is_the_same_value(words: str) -> None:
    text = safe_json(json.dumps([words], ensure_ascii=False))
    assert is_shown(text)
    assert json.loads(text) == [words]


@pytest.mark.parametrize("text", ['"héllo"', '"你好 ✅"', '"👩\u200d💻"', "[1]", '"a\\tb"'])
def test_what_is_seen_stays_as_it_is(text: str) -> None:
    assert safe_json(text) == text


TOOLS = f"""
import azent

@azent.tool
def look() -> str:
    "Look."
    return {ALL!r}
"""
CALL = '{"tools": [{"tool": "look", "tool_input": {}}]}'


@pytest.mark.parametrize(
    "options", [["--json"], ["--jsonl"], ["--jsonl", "-v"], [], ["-v"], ["-q"]], ids=" ".join
)
def test_ask_prints_nothing_that_is_obeyed(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    words = ALL.encode("utf-8", "replace").decode()
    with ScriptedOllama(CALL, "{}", f"It says {words}") as server:
        arguments = ["-m", "scripted", "--tools", str(tmp_path / "tools.py"), *options]
        run = command("ask", "Look.", *arguments, OLLAMA_HOST=server.url)
    assert run.returncode == 0, run.stderr
    assert is_shown(run.stdout)
    assert is_shown(run.stderr)


SESSIONS = [
    ["export", "a"],
    ["show", "a", "--json"],
    ["show", "a"],
    ["list"],
    ["list", "--json"],
]


@pytest.mark.parametrize("arguments", SESSIONS, ids=" ".join)
def test_sessions_print_nothing_that_is_obeyed(tmp_path: Path, arguments: list[str]) -> None:
    store = Store(tmp_path / "sessions.db")
    with store.hold("a") as held:
        held.keep((Question(f"Hello {ALL}"), Reply(text=f"hello {ALL}", move="answer")))
    run = command("sessions", *arguments, "--store", str(store.path))
    assert (run.returncode, is_shown(run.stdout)) == (0, True), run.stderr


def test_files_of_answers_hold_nothing_that_is_obeyed(tmp_path: Path) -> None:
    (tmp_path / "questions").write_text(json.dumps({"id": ALL, "question": "?"}))
    agent = azent.Agent(azent.Scripted(f"hello {ALL}"))
    run_batch(tmp_path / "questions", tmp_path / "answers", agent)
    text = (tmp_path / "answers").read_text("utf-8")
    assert is_shown(text)
    assert json.loads(text)["answer"] == f"hello {ALL}"
