"""Options that contradict each other, or have no effect, are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from azent.cli import app
from azent.cli.options import CONFLICTS, option_name
from tests.scripted_ollama import ScriptedOllama

TOOLS = 'def add(a: int, b: int) -> int:\n    "Add two numbers."\n    return a + b\n'
ASK = ["ask", "Hi", "-m", "m"]
CHAT = ["chat", "-m", "m"]
BATCH = ["batch", "in.jsonl", "-o", "out.jsonl"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sums.py").write_text(TOOLS, "utf-8")
    Path("in.jsonl").write_text('{"id": "1", "question": "Hi"}\n', "utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([*ASK, "--json", "--jsonl"], ["--json", "--jsonl"]),
        ([*ASK, "--no-tools", "-t", "sums.py"], ["--no-tools", "--tools"]),
        ([*ASK, "--no-tools", "--choice", "required"], ["--no-tools", "--choice required"]),
        ([*ASK, "--no-tools", "--choice", "add"], ["--no-tools", "--choice add"]),
        ([*ASK, "-q", "-v"], ["--quiet", "--verbose"]),
        ([*ASK, "-q", "--show-prompt"], ["--quiet", "--show-prompt"]),
        ([*ASK, "-s", "x", "-c"], ["--session", "--continue"]),
        ([*ASK, "--profile", "fast"], ["--model", "--profile"]),
        ([*ASK, "--cache", "a.db", "--replay", "a.db"], ["--cache", "--replay"]),
        ([*ASK, "--store", "a.db"], ["--store", "--session"]),
        ([*ASK, "--trust"], ["--trust", "--mcp"]),
        ([*CHAT, "--no-tools", "-t", "sums.py"], ["--no-tools", "--tools"]),
        ([*CHAT, "-q", "-v"], ["--quiet", "--verbose"]),
        ([*CHAT, "-s", "x", "-c"], ["--session", "--continue"]),
        ([*CHAT, "--cache", "a.db", "--replay", "a.db"], ["--cache", "--replay"]),
        ([*BATCH, "--no-tools", "-t", "sums.py"], ["--no-tools", "--tools"]),
        ([*BATCH, "--no-tools", "--choice", "required"], ["--no-tools", "--choice required"]),
        ([*BATCH, "-m", "openai:http://h/v1#m", "--host", "h"], ["--host"]),
        (["doctor", "-m", "m", "--profile", "fast"], ["--model", "--profile"]),
        (["mcp", "-t", "sums.py", "--host", "0.0.0.0"], ["--host", "--port"]),
        (["mcp", "-t", "sums.py", "--token-file", "t"], ["--token-file", "--port"]),
        (["mcp", "-t", "sums.py", "--allow-host", "h"], ["--allow-host", "--port"]),
        (["mcp", "-t", "sums.py", "--allow-origin", "o"], ["--allow-origin", "--port"]),
        (["models", "pull", "gguf:qwen2.5-coder:0.5b", "--host", "h"], ["--host"]),
    ],
    ids=lambda value: " ".join(value[:6]),
)
def test_what_cannot_go_together(arguments: list[str], named: list[str]) -> None:
    with ScriptedOllama("Hello.") as server:
        run = CliRunner(env={"OLLAMA_HOST": server.url}).invoke(app, arguments, input="Hi\n")
        assert not server.requests
    assert (run.exit_code, run.stdout) == (2, ""), run.stderr
    said, hint = run.stderr.splitlines()
    assert said.startswith("azent: ")
    assert all(option in f"{said} {hint}" for option in named)
    assert hint.startswith("Leave ")


def test_each_pair_is_of_options_that_there_are() -> None:
    """In every command that has both options, so that a new command needs no rule of its own."""

    def options(command: Any) -> list[dict[str, str]]:
        inner = command.list_commands(None) if hasattr(command, "list_commands") else []
        own = {each.name: each.opts[0] for each in command.params}
        return [
            own,
            *(found for name in inner for found in options(command.get_command(None, name))),
        ]

    everywhere = options(typer.main.get_command(app))
    for one, other in CONFLICTS:
        both = [given for given in everywhere if one in given and other in given]
        assert both, f"no command has {one} and {other}"
        assert all(
            (given[one], given[other]) == (option_name(one), option_name(other)) for given in both
        )


@pytest.mark.parametrize("option", ["-m m", "-p default", "--native", "--sample 3", "--cache c"])
def test_without_cases_what_is_for_asking_is_of_no_use(option: str, tmp_path: Path) -> None:
    kept, cases = str(tmp_path / "out.jsonl"), tmp_path / "cases.jsonl"
    cases.write_text('{"question": "Who wrote Hamlet?", "calls": []}')
    with ScriptedOllama("Shakespeare.") as server:
        asking = ["eval", str(cases), "-m", "scripted", "-o", kept]
        run = CliRunner(env={"OLLAMA_HOST": server.url}).invoke(app, asking)
    assert run.exit_code == 0, run.stderr
    assert CliRunner().invoke(app, ["eval", "-o", kept]).exit_code == 0
    run = CliRunner().invoke(app, ["eval", "-o", kept, *option.split()])
    assert (run.exit_code, run.stdout) == (2, "")
    assert "is of no use without cases\nLeave --" in run.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "Hi", "-m", ""],
        ["ask", "Hi", "-m", "m", "-p", ""],
        ["ask", "Hi", "-m", "m", "-t", "sums.py", "-t", ""],
        ["ask", "Hi", "-m", "m", "--cache="],
        ["ask", "Hi", "--profile", ""],
        ["chat", "-m", ""],
        [*BATCH, "-m", "m", "-m", ""],
        [*BATCH, "-m", "m", "--host", ""],
        ["doctor", "--host="],
        ["eval", "in.jsonl", "-m", ""],
        ["serve", "-m", ""],
    ],
    ids=" ".join,
)
def test_an_option_without_a_value_does_not_mean_another(arguments: list[str]) -> None:
    with ScriptedOllama("Hello.") as server:
        run = CliRunner(env={"OLLAMA_HOST": server.url}).invoke(app, arguments, input="Hi\n")
        assert not server.requests
    assert (run.exit_code, run.stdout) == (2, "")
    said, hint = run.stderr.splitlines()
    assert said.endswith(" is empty")
    assert hint.endswith("or leave it out.")


@pytest.mark.parametrize(
    ("setting", "value", "option"),
    [
        ("AZENT_TOOLS", "sums.py", "--no-tools"),
        ("AZENT_CHOICE", "required", "--no-tools"),
        ("AZENT_REPLAY", "none.db", "--cache=kept.db"),
    ],
)
def test_an_option_undoes_a_setting(setting: str, value: str, option: str) -> None:
    with ScriptedOllama("Hello.") as server:
        env = {"OLLAMA_HOST": server.url, setting: value}
        run = CliRunner(env=env).invoke(app, ["ask", "Hi", "-m", "scripted", "-q", option])
    assert (run.exit_code, run.stdout) == (0, "Hello.\n"), run.stderr


def test_steps_can_be_followed_while_json_is_written() -> None:
    call = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
    for form, lines in (("--json", 1), ("--jsonl", 6)):
        with ScriptedOllama(call, "It is 5.") as server:
            env = {"OLLAMA_HOST": server.url}
            words = ["ask", "2 + 3?", "-m", "scripted", "-t", "sums.py", "-v", form]
            run = CliRunner(env=env).invoke(app, words)
        assert len(run.stdout.splitlines()) >= lines
        assert all(line.startswith("{") for line in run.stdout.splitlines())
        assert "→ add(a=2, b=3)\n← add: 5" in run.stderr
