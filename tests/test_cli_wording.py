"""What commands say is said as a person would say it: no numbers of errors, no "1 questions"."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from azent.cli import app
from azent.errors import counted
from tests.scripted_ollama import ScriptedOllama
from tests.test_prompt import write_set

CASE = '{"question": "2 + 3?", "calls": [], "tools": [{"name": "f", "parameters": {}}]}\n'
PYTHONS_OWN = re.compile(r"\[Errno|codec|Errno|Traceback|PosixPath|Error:|<class|object at 0x")
NONE = "no such file or directory"
FOLDER = "is a directory"
STRAY = "it is not UTF-8 (byte "


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AZENT_HOME", str(tmp_path / "home"))
    Path("folder").mkdir()
    Path("latin.txt").write_bytes("café".encode("latin-1"))
    Path("cases.jsonl").write_text(CASE, "utf-8")
    Path("questions.jsonl").write_text('{"id": "1", "question": "Hi"}\n', "utf-8")
    Path("sums.py").write_text('def add(a: int) -> int:\n    "Add."\n    return a\n', "utf-8")
    write_set(Path("latin"))
    Path("latin/system.txt").write_bytes("caf\xe9 $functions".encode("latin-1"))


def azent(*arguments: str, script: tuple[str, ...] = ("Hello.",), **env: str) -> Any:
    with ScriptedOllama(*script) as server:
        given = {"OLLAMA_HOST": server.url, **env}
        return CliRunner(env=given).invoke(app, list(arguments))


BATCH = ("batch", "-m", "scripted")
EVAL = ("eval", "-m", "scripted")
ASK = ("ask", "Hi", "-m", "scripted", "--no-tools")
MCP = ("mcp", "-t", "sums.py", "--port", "0")


@pytest.mark.parametrize(
    ("arguments", "file", "reason"),
    [
        ((*BATCH, "none.jsonl", "-o", "out.jsonl"), "none.jsonl", NONE),
        ((*BATCH, "folder", "-o", "out.jsonl"), "folder", FOLDER),
        ((*BATCH, "questions.jsonl", "-o", "folder"), "folder", FOLDER),
        ((*EVAL, "none.jsonl"), "none.jsonl", NONE),
        ((*EVAL, "folder"), "folder", FOLDER),
        ((*EVAL, "latin.txt"), "latin.txt", STRAY),
        ((*EVAL, "cases.jsonl", "-o", "folder"), "folder", FOLDER),
        ((*EVAL, "cases.jsonl", "-o", "latin.txt"), "latin.txt", STRAY),
        ((*EVAL, "cases.jsonl", "--html", "folder"), "folder", FOLDER),
        ((*EVAL, "cases.jsonl", "--against", "none.jsonl"), "none.jsonl", "is not there"),
        (("serve", "-m", "m", "--token-file", "none"), "none", NONE),
        (("serve", "-m", "m", "--token-file", "folder"), "folder", FOLDER),
        ((*MCP, "--token-file", "latin.txt"), "latin.txt", STRAY),
        ((*ASK, "--cache", "folder"), "folder", "unable to open"),
        ((*ASK, "-s", "x", "--store", "folder"), "folder", ""),
        (("ask", "Hi", "-m", "scripted", "-t", "folder"), "folder", "is a folder"),
        ((*ASK, "-p", "./latin"), "latin/system.txt", STRAY),
        (("prompts", "check", "./latin"), "latin/system.txt", STRAY),
        (("tools", "list", "latin.txt"), "latin.txt", "is not a Python file"),
        (("sessions", "list", "--store", "latin.txt"), "latin.txt", "is not a database"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    arguments: tuple[str, ...], file: str, reason: str
) -> None:
    run = azent(*arguments)
    assert run.exit_code not in (0, 130), run.output
    said = [line for line in run.stderr.splitlines() if line.startswith("azent: ")]
    assert len(said) == 1
    assert file in said[0]
    assert reason in said[0]
    assert not PYTHONS_OWN.search(run.output)


@pytest.mark.parametrize(("file", "reason"), [("none", NONE), ("folder", FOLDER)])
def test_profiles_that_cannot_be_read_are_named(file: str, reason: str) -> None:
    run = azent("ask", "Hi", AZENT_PROFILES=file)
    assert (run.exit_code, run.stderr.splitlines()[0]) == (
        9,
        f"azent: the profiles in {file} cannot be read: {reason}",
    )


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 sets"), (1, "1 set"), (2, "2 sets"), (1234, "1,234 sets")]
)
def test_numbers_of_things(number: int, said: str) -> None:
    assert counted(number, "set") == said


def test_one_thing_is_not_told_as_many() -> None:
    one = r"(?<![0-9,.])(?<!\+ )1 [a-z]+s\b"  # but 85 + 1 tokens are some
    call = '{"tools": [{"tool": "add", "tool_input": {"a": 2}}]}'
    run = azent(
        "ask", "Hi", "-s", "one", "-m", "scripted", "-v", "-t", "sums.py", script=(call, "2")
    )
    said = run.stderr
    for arguments in [
        ("prompts", "check", "default"),
        (*BATCH, "questions.jsonl", "-o", "out.jsonl"),
        (*EVAL, "cases.jsonl", "-o", "outcomes.jsonl"),
        (*EVAL, "cases.jsonl", "-o", "outcomes.jsonl", "--html", "page.html"),
        ("sessions", "list"),
        ("chat", "-m", "scripted", "-t", "sums.py"),
        ("sessions", "branch", "one", "other"),
        ("sessions", "undo", "other"),
    ]:
        run = azent(*arguments)
        assert run.exit_code == 0, run.output
        said += run.output
    assert re.findall(one, said + Path("page.html").read_text("utf-8")) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("tools", "call", "sums.py", "add", "a=2"),
        (*EVAL, "sums.py"),
        (*BATCH, "sums.py", "-o", "out.jsonl"),
    ],
    ids=" ".join,
)
def test_what_is_no_json_is_told_by_the_character(arguments: tuple[str, ...]) -> None:
    run = azent(*arguments)
    assert run.exit_code != 0
    assert "JSON: expecting value at character 1" in run.stderr
    assert "(char" not in run.stderr
