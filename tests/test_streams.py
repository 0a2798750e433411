"""Standard output holds answers and nothing else, whatever tools print and however they do it."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import mcp
import pytest

from tests.scripted_ollama import ScriptedOllama
from tests.terminal import Terminal

ROOT = Path(__file__).resolve().parent.parent
WAYS = {  # in which a tool can write to standard output
    "print": "print('WORD')",
    "write": "sys.stdout.write('WORD\\n'); sys.stdout.flush()",
    "bytes": "sys.stdout.buffer.write(b'WORD\\n'); sys.stdout.buffer.flush()",
    "the first": "sys.__stdout__.write('WORD\\n'); sys.__stdout__.flush()",
    "kept": "print('WORD', file=KEPT)",
    "descriptor": "os.write(1, b'WORD\\n')",
    "asked": "os.write(sys.stdout.fileno(), b'WORD\\n')",
    "program": "subprocess.run([sys.executable, '-c', 'print(\"WORD\")'])",
    "shell": "os.system('echo WORD')",
    "thread": "t = threading.Thread(target=print, args=['WORD']); t.start(); t.join()",
    "log": "logging.getLogger('tool').warning('WORD')",
    "caught": "with contextlib.redirect_stdout(sys.stderr): print('WORD'); time.sleep(0.3)",
    "late": "time.sleep(0.5); print('WORD')",
    "half": "print('WORD', end='')",
}
HEAD = """
import contextlib, logging, os, subprocess, sys, threading, time
import azent
KEPT = sys.stdout
logging.getLogger("tool").addHandler(logging.StreamHandler(sys.stdout))
sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
print("LOADED", sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.writable())
"""
ONE = '{"tools": [{"tool": "loud", "tool_input": {"n": 1}}]}'
TWO = ONE.replace("}]", '}, {"tool": "loud", "tool_input": {"n": 2}}]')


def word(way: str) -> str:
    return f"LOUD-{way.replace(' ', '-')}."


def tools(folder: Path, *ways: str, mark: str = "") -> str:
    body = "\n".join(f"    {WAYS[way].replace('WORD', word(way))}" for way in ways)
    code = f"{HEAD}\n{mark}\ndef loud(n: int) -> int:\n    'Be loud.'\n{body}\n    return n\n"
    (folder / "loud.py").write_text(code, "utf-8")
    return "loud.py"


def azent(
    arguments: list[str], folder: Path, server: ScriptedOllama | None = None, said: str = ""
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **({"OLLAMA_HOST": server.url} if server else {})}
    command = [sys.executable, "-m", "azent", *arguments]
    return subprocess.run(
        command, cwd=folder, env=env, input=said, capture_output=True, text=True, timeout=60
    )


def test_what_a_tool_prints_is_no_answer(tmp_path: Path) -> None:
    with ScriptedOllama(TWO, "Done.") as server:
        options = ["-m", "scripted", "-t", tools(tmp_path, *WAYS), "--jsonl"]
        run = azent(["ask", "Be loud", *options], tmp_path, server)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert events[-1]["answer"] == "Done."
    assert [each["text"] for each in events[-1]["results"]] == ["1", "2"]
    assert "LOADED" in run.stderr
    assert {way: run.stderr.count(word(way)) for way in WAYS} == dict.fromkeys(WAYS, 2)


@pytest.mark.parametrize("how", ["isolate=True", "serial=True"])
def test_wherever_it_runs(how: str, tmp_path: Path) -> None:
    with ScriptedOllama(TWO, "Done.") as server:
        file = tools(tmp_path, "print", "program", mark=f"@azent.tool({how})")
        run = azent(["ask", "Be loud", "-m", "scripted", "-t", file, "-q"], tmp_path, server)
    assert run.stdout == "Done.\n"
    assert run.stderr.count("LOUD") == 4


@pytest.mark.parametrize("command", ["chat", "batch", "call", "call --json", "doctor"])
def test_in_every_command(command: str, tmp_path: Path) -> None:
    file = tools(tmp_path, "print", "program")
    (tmp_path / "questions.jsonl").write_text('{"id": "1", "question": "Be loud"}\n')
    words = {
        "chat": ["chat", "-m", "scripted", "-t", file, "-q"],
        "batch": ["batch", "questions.jsonl", "-o", "out.jsonl", "-m", "scripted", "-t", file],
        "call": ["tools", "call", file, "loud", '{"n": 7}'],
        "call --json": ["tools", "call", file, "loud", '{"n": 7}', "--json"],
        "doctor": ["doctor", "--json", "-m", "scripted"],
    }[command]
    with ScriptedOllama(TWO, "Done.") as server:
        run = azent(words, tmp_path, server, "Be loud\n")
    assert "LOUD" not in run.stdout
    if "--json" in words:
        json.loads(run.stdout)
    else:
        assert run.stdout == {"chat": "Done.\n", "batch": "", "call": "7\n"}[command]
        assert "LOUD" in run.stderr


def test_a_protocol_is_not_broken_into(tmp_path: Path) -> None:
    file = tmp_path / tools(tmp_path, *WAYS)

    async def called() -> str:
        arguments = ["-m", "azent", "mcp", "--tools", str(file)]
        env = {"PYTHONPATH": str(ROOT)}
        target = mcp.StdioServerParameters(command=sys.executable, args=arguments, env=env)
        async with asyncio.timeout(40), mcp.Client(target) as client:
            result = await client.call_tool("loud", {"n": 3})
            text = result.content[0]
            assert isinstance(text, mcp.types.TextContent)
            return text.text

    assert asyncio.run(called()) == "3"


def test_on_a_terminal_it_stands_among_the_lines_of_the_run(tmp_path: Path) -> None:
    file = tools(tmp_path, "late", "half")
    with ScriptedOllama(ONE, "Done.") as server:
        options = ["-m", "scripted", "-t", file]
        with Terminal(["ask", "Be loud", *options], server.url, tmp_path) as terminal:
            assert terminal.end() == 0
            lines = terminal.screen().splitlines()
    at = lines.index("→ loud(n=1)")
    assert lines[at + 1 : at + 4] == ["· LOUD-late.", "· LOUD-half.", "← loud: 1  (0.0 s)"]
    assert lines[-1] == "Done."


MANY = """
    for i in range(20):
        print("LOUD", n, i, "end")
        time.sleep(0.01)
"""


def loud_often(folder: Path) -> str:
    code = f"{HEAD}\ndef loud(n: int) -> int:\n    'Be loud.'{MANY}    return n\n"
    (folder / "loud.py").write_text(code, "utf-8")
    return "loud.py"


def wanted(*numbers: int) -> list[str]:
    return sorted(f"LOUD {n} {i} end" for n in numbers for i in range(20))


def test_lines_of_tools_that_run_side_by_side_stay_whole(tmp_path: Path) -> None:
    with ScriptedOllama(TWO, "Done.") as server:
        options = ["-m", "scripted", "-t", loud_often(tmp_path)]
        run = azent(["ask", "Be loud", *options], tmp_path, server)
    assert sorted(line for line in run.stderr.splitlines() if "LOUD" in line) == wanted(1, 2)


def test_a_terminal_keeps_every_line_and_nothing_of_what_was_waited_for(tmp_path: Path) -> None:
    with ScriptedOllama(TWO, "Done.") as server:
        options = ["-m", "scripted", "-t", loud_often(tmp_path)]
        with Terminal(["ask", "Be loud", *options], server.url, tmp_path) as terminal:
            assert terminal.end() == 0
    lines = terminal.screen().splitlines()
    assert sorted(line[2:] for line in lines if "LOUD" in line) == wanted(1, 2)
    assert not [line for line in lines if "running" in line or "asking" in line]


def test_the_library_leaves_standard_output_alone(tmp_path: Path) -> None:
    code = f"{HEAD}\ndef loud(n: int) -> int:\n    'Be loud.'\n    print('LOUD')\n    return n\n"
    ask = f"azent.Agent(azent.Scripted({TWO!r}, 'Done.'), [loud]).ask('Be loud')"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", f"{code}\n{ask}"]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert run.stdout.count("LOUD") == 2, run.stderr


def test_what_was_begun_is_shown_where_a_command_fails(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("print('LOUD', end='')\nraise ValueError('no')\n")
    run = azent(["tools", "list", "broken.py"], tmp_path)
    assert (run.returncode, run.stdout) == (7, "")
    assert run.stderr.endswith("\nLOUD\n")


@pytest.mark.parametrize("file", sorted((ROOT / "azent").rglob("*.py")), ids=lambda f: f.stem)
def test_whoever_prints_says_where(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            assert any(keyword.arg == "file" for keyword in node.keywords), node.lineno
