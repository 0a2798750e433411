"""The command `azent ask` as a program: its streams, its exit codes, and how it takes a Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_ollama import Fail, Item, Lines, Say, ScriptedOllama

ROOT = Path(__file__).resolve().parent.parent
SLOW = Say(pieces=["a "] * 1000, pause=0.05)
CUT = '{"tools": [{"tool": "hang", "tool_input": {'

TOOLS = """
import time
import azent

@azent.tool
def hang() -> str:
    "Hang."
    time.sleep(60)
    return "late"

@azent.tool(confirm=True)
def wipe() -> str:
    "Wipe."
    open("wiped", "w").close()
    return "gone"
"""


def environment(server: ScriptedOllama | None, **more: str) -> dict[str, str]:
    host = server.url if server else "http://127.0.0.1:9"
    return {**os.environ, "PYTHONPATH": str(ROOT), "OLLAMA_HOST": host, **more}


def begun(
    arguments: Sequence[str], folder: Path, env: Mapping[str, str], **more: Any
) -> subprocess.Popen[bytes]:
    (folder / "my_tools.py").write_text(TOOLS)
    command = [sys.executable, "-m", "azent", "ask", "-m", "scripted", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
    )


def ran(
    server: ScriptedOllama | None,
    arguments: Sequence[str],
    folder: Path,
    stdin: str = "",
    **env: str,
) -> tuple[int, str, str]:
    """The exit code of a command and what it printed."""
    process = begun(arguments, folder, environment(server, **env), stdin=subprocess.PIPE)
    out, error = process.communicate(stdin.encode(), timeout=60)
    return process.returncode, out.decode("utf-8", "replace"), error.decode("utf-8", "replace")


CP1252 = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}


@pytest.mark.parametrize(
    ("env", "option"),
    [
        (CP1252, "--verbose"),
        (CP1252, "--json"),
        ({"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, "--quiet"),
        ({"PYTHONIOENCODING": "latin-1:strict", "PYTHONUTF8": "0"}, "--verbose"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "--verbose"),
        ({"LC_ALL": "C.UTF-8"}, "--verbose"),
    ],
    ids=str,
)
def test_any_encoding_will_do(env: dict[str, str], option: str, tmp_path: Path) -> None:
    with ScriptedOllama("Done ✅ 北京 🌸") as server:
        code, out, error = ran(server, ["go", option], tmp_path, **env)
    assert (code, len(server.counted)) == (0, 1), error
    assert "Done" in out
    assert "UnicodeEncodeError" not in error


@pytest.mark.parametrize(("stdin", "arguments"), [("", []), (" \n\t\n", ["-"]), ("", ["-q"])])
def test_no_question_is_wrong_usage(stdin: str, arguments: list[str], tmp_path: Path) -> None:
    with ScriptedOllama("x") as server:
        code, out, error = ran(server, arguments, tmp_path, stdin)
    assert (code, out, server.requests) == (2, "", [])
    assert "question" in error
    assert "Traceback" not in error


def test_a_question_by_a_pipe(tmp_path: Path) -> None:
    with ScriptedOllama(lambda body: body["messages"][-1]["content"]) as server:
        code, out, error = ran(server, ["-q", "--no-tools"], tmp_path, "Здравствуй?\n")
    assert (code, out, error) == (0, "Здравствуй?\n", "")


FAILURES: dict[str, tuple[Item, int, str]] = {
    "missing": (Fail(404, "model 'scripted' not found"), 4, "ollama pull scripted"),
    "refused": (Fail(400, "invalid options"), 5, "invalid options"),
    "broken off": (Say("half", breaks=True), 5, "broke off"),
    "no end": (Say("half", ends=False), 5, "before its end"),
    "no JSON": (Lines(["<html>"]), 5, "broke off"),
    "unusable": (CUT, 6, "no usable reply"),
    "empty": ("", 6, "no usable reply"),
}


@pytest.mark.parametrize(
    ("name", "option"), [*((name, "-v") for name in FAILURES), ("empty", "--json"), ("empty", "-q")]
)
def test_failures_have_an_exit_code_and_a_word(name: str, option: str, tmp_path: Path) -> None:
    item, code, words = FAILURES[name]
    with ScriptedOllama(item) as server:
        got, _, error = ran(server, ["go", "-t", "my_tools.py", option], tmp_path)
    assert got == code, error
    assert words in error
    assert "Traceback" not in error


def test_no_server(tmp_path: Path) -> None:
    code, out, error = ran(None, ["go"], tmp_path)
    assert (code, out) == (3, "")
    assert "127.0.0.1:9" in error
    assert "ollama serve" in error
    assert "Traceback" not in error


CALL_HANG = '{"tools": [{"tool": "hang", "tool_input": {}}]}'


@pytest.mark.parametrize(
    ("item", "arguments"),
    [
        (SLOW, ["go", "--no-tools"]),
        (SLOW, ["go", "--no-tools", "--json"]),
        (SLOW, ["go", "--no-tools", "-q"]),
        (Say("late", before=60), ["go", "--no-tools"]),
        (CALL_HANG, ["go", "-t", "my_tools.py"]),
    ],
    ids=["streaming", "json", "quiet", "first token", "a tool"],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_an_interrupt_ends_it_and_stops_the_server(
    item: Item, arguments: list[str], tmp_path: Path
) -> None:
    with ScriptedOllama(item) as server:
        process = begun(arguments, tmp_path, environment(server), stdin=subprocess.DEVNULL)
        assert server.was_asked(1, 30)
        if item == CALL_HANG:
            assert process.stderr is not None
            assert "→ hang" in process.stderr.readline().decode()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        assert process.returncode == 130
        assert b"Traceback" not in error
        assert item == CALL_HANG or server.saw_disconnect()


def test_a_reader_that_leaves_is_no_trouble(tmp_path: Path) -> None:
    with ScriptedOllama(SLOW) as server:
        env = environment(server)
        process = begun(["go", "-q"], tmp_path, env, stdin=subprocess.DEVNULL)
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(2)
        process.stdout.close()
        assert process.wait(30) == 0
        assert b"Traceback" not in process.stderr.read()
        process.stderr.close()
        assert server.saw_disconnect()


def test_a_second_run_does_not_wait_for_the_first(tmp_path: Path) -> None:
    with ScriptedOllama(SLOW, "quick") as server:
        first = begun(["go", "--no-tools"], tmp_path, environment(server), stdin=subprocess.DEVNULL)
        assert server.was_asked(1, 30)
        code, out, error = ran(server, ["go", "-q", "--no-tools"], tmp_path)
        assert first.poll() is None
        first.kill()
        first.communicate()
    assert (code, out, error) == (0, "quick\n", "")


@pytest.mark.parametrize(("arguments", "wiped"), [([], False), (["--yes"], True)])
def test_without_a_terminal_the_answer_is_no(
    arguments: list[str], wiped: bool, tmp_path: Path
) -> None:
    call = '{"tools": [{"tool": "wipe", "tool_input": {}}]}'
    with ScriptedOllama(call, "ok") as server:
        code, out, _ = ran(server, ["go", "-t", "my_tools.py", *arguments], tmp_path)
    assert (code, out) == (0, "ok\n")
    assert (tmp_path / "wiped").exists() == wiped


def test_a_hung_tool_does_not_keep_it(tmp_path: Path) -> None:
    with ScriptedOllama(CALL_HANG) as server:
        arguments = ["go", "--json", "-t", "my_tools.py", "--timeout", "2"]
        code, out, error = ran(server, arguments, tmp_path)
    assert code == 0, error
    assert json.loads(out)["stopped"] == "timeout"
