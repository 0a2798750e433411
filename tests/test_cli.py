"""Commands and their options: what they print, for people and for programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from azent import config
from azent.cli import app
from azent.cli.console import json_text, table_lines
from tests.scripted_ollama import Fail, Say, ScriptedOllama
from tests.test_encoder import in_process

CALL = '{"tools": [{"tool": "double", "tool_input": {"number": 21}}]}'
ADD = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
NONE = '{"tools": []}'
TOOLS = 'def add(a: int, b: int) -> int:\n    "Add two numbers."\n    return a + b\n'


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sums.py").write_text(TOOLS, "utf-8")


def azent(*arguments: str, server: ScriptedOllama | None = None, **env: str) -> Any:
    if server:
        env["OLLAMA_HOST"] = server.url
    return CliRunner(env=env).invoke(app, list(arguments))


# ---- ask -----------------------------------------------------------------------------------------


def test_events_as_lines_of_json() -> None:
    with ScriptedOllama(ADD, NONE, "It is *5*.") as server:
        run = azent("ask", "2 + 3?", "-m", "scripted", "-t", "sums.py", "--jsonl", server=server)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    kinds = [event["event"] for event in events if event["event"] != "chunk"]
    assert kinds == [
        *("asking", "replied", "call_started", "call_finished"),
        *("asking", "replied", "asking", "replied", "answer"),
    ]
    started, finished = events[2], events[3]
    assert (started["tool"], started["tool_input"]) == ("add", {"a": 2, "b": 3})
    assert (finished["ok"], finished["text"], finished["id"]) == (True, "5", started["id"])
    assert "".join(e["text"] for e in events if e["event"] == "chunk") == "It is *5*."
    assert events[-1]["answer"] == "It is *5*."
    assert run.stderr == ""


def test_every_kind_of_event_has_a_form() -> None:
    wrong = ADD.replace('"b": 3', '"c": 3')
    with ScriptedOllama(wrong, "{broken", ADD, NONE, "5") as server:
        run = azent("ask", "2 + 3?", "-m", "scripted", "-t", "sums.py", "--jsonl", server=server)
    kinds = {json.loads(line)["event"] for line in run.stdout.splitlines()}
    assert {"asking", "replied", "call_finished", "answer"} <= kinds
    assert run.exit_code == 0, run.stderr


def test_what_the_model_is_sent_is_shown_once() -> None:
    with ScriptedOllama(ADD, NONE, "5") as server:
        options = ["-m", "scripted", "-t", "sums.py", "--show-prompt", "--system", "Be brief."]
        run = azent("ask", "2 + 3?", *options, server=server)
    assert run.stdout == "5\n"
    assert run.stderr.count("Be brief.") >= 1
    assert "· system: " in run.stderr
    for asked in server.requests:
        last = asked.body["messages"][-1]["content"]
        assert last.strip() in run.stderr


def test_the_trace_has_replies_and_costs() -> None:
    with ScriptedOllama(ADD, NONE, "5") as server:
        run = azent("ask", "2 + 3?", "-m", "scripted", "-t", "sums.py", "-v", server=server)
    assert f"· decide: {ADD}" in run.stderr
    assert "in all 3 requests" in run.stderr
    assert "→ add(a=2, b=3)\n← add: 5" in run.stderr


@in_process
@pytest.mark.parametrize(
    ("question", "script", "said"),
    [
        ("Who wrote Hamlet?", ["Shakespeare."], "no function is near the question in meaning"),
        ("Wer schrieb den Faust?", ["Goethe."], "no function is near the question in meaning"),
        ("Add 2 and 3", [ADD, "5"], "a function is near the question in meaning (add"),
        ("Addiere 2 und 3", [ADD, "5"], "a function is near the question in meaning (add"),
    ],
)
def test_the_trace_says_once_what_meaning_decided(
    question: str, script: list[str], said: str
) -> None:
    """The reason stands once among the lines of `-v`, and in the first event of its decision."""
    asked = ["ask", question, "-m", "scripted", "-p", "small", "-t", "sums.py"]
    with ScriptedOllama(*script) as server:
        shown = azent(*asked, "-v", server=server)
    assert shown.stderr.count(said) == 1
    with ScriptedOllama(*script) as server:
        events = [
            json.loads(line)
            for line in azent(*asked, "--jsonl", server=server).stdout.split("\n")
            if line
        ]
    assert [said in event.get("why", "") for event in events if event["event"] == "asking"] == [
        True,
        *[False] * (len(script) - 1),
    ]


@pytest.mark.parametrize("more", [[], ["--cache", "replies.db"]])
def test_a_question_is_held_against_the_context_there_is(more: list[str]) -> None:
    with ScriptedOllama("ok", context_length=1024) as server:
        run = azent("ask", "word " * 2000, "-m", "scripted", "--no-tools", *more, server=server)
    assert "the context holds 1024" in run.stderr


def test_kept_replies_ask_no_model() -> None:
    asked = ["ask", "Hi", "-m", "scripted", "--no-tools", "-q"]
    with ScriptedOllama("Hello.") as server:
        first = azent(*asked, "--cache", "replies.db", server=server)
        again = azent(*asked, "--cache", "replies.db", server=server)
        assert len(server.requests) == 1
    replayed = azent(*asked, "--replay", "replies.db")
    assert first.stdout == again.stdout == replayed.stdout == "Hello.\n"
    assert azent("ask", "Hi", "--replay", "replies.db").exit_code == 2


@pytest.mark.parametrize(
    ("choice", "code", "calls"), [("required", 0, 1), ("none", 0, 0), ("add", 0, 1), ("sub", 2, 0)]
)
def test_choice(choice: str, code: int, calls: int) -> None:
    script = ["5"] if choice == "none" else [ADD, NONE, "5"]
    with ScriptedOllama(*script) as server:
        options = ["-m", "scripted", "-t", "sums.py", "--choice", choice, "--json"]
        run = azent("ask", "2 + 3?", *options, server=server)
    assert run.exit_code == code, run.stderr
    assert code or len(json.loads(run.stdout)["calls"]) == calls


def test_what_models_write_is_shown_and_not_obeyed() -> None:
    with ScriptedOllama("\x1b[2J\x07[red]hi[/red] \u202eabc") as server:
        run = azent("ask", "Hi", "-m", "scripted", "--no-tools", server=server)
    assert run.stdout == "␛[2J␇[red]hi[/red] \\u202eabc\n"


@pytest.mark.parametrize(("changed", "named"), [(False, False), (True, True)])
def test_a_prompt_set_of_the_folder_is_named_unless_it_is_azents_own(
    changed: bool, named: bool
) -> None:
    shutil.copytree(config.own_prompts() / "default", "prompts/default")
    if changed:
        Path("prompts/default/answer.txt").write_text("Answer in rhymes.")
    with ScriptedOllama("Hi.") as server:
        run = azent("ask", "Hi", "-m", "scripted", "--no-tools", server=server)
    assert run.exit_code == 0
    assert ("using the prompt set in" in run.stderr) == named


# ---- doctor --------------------------------------------------------------------------------------


def findings(*options: str, server: ScriptedOllama | None = None) -> tuple[int, dict[str, Any]]:
    run = azent("doctor", "--json", *options, server=server)
    return run.exit_code, {each["what"]: each for each in json.loads(run.stdout)}


def test_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_ENCODER", "none")
    with ScriptedOllama(CALL, NONE, "It is 42.") as server:
        code, found = findings("-m", "scripted", server=server)
    assert code == 0
    assert {each["level"] for each in found.values()} == {"ok"}
    assert found["server"]["found"] == f"Ollama 0.9.3 at {server.url}"
    assert "context 32768" in found["scripted:latest"]["found"]
    assert "tokens/s" in found["a call"]["found"]


def test_nothing_answers() -> None:
    code, found = findings()
    assert code == 0  # azent's own model would be fetched
    assert (found["server"]["level"], found["a call"]["level"]) == ("note", "note")
    assert "ollama serve" in found["server"]["todo"]
    assert "azent models pull" in found["a call"]["todo"]
    code, found = findings("-m", "scripted")
    assert (code, found["a call"]["level"]) == (1, "bad")


def test_a_server_without_models() -> None:
    with ScriptedOllama("", models=()) as server:
        code, found = findings(server=server)
    assert (code, found["models"]["level"]) == (1, "bad")
    assert "ollama pull" in found["models"]["todo"]


@pytest.mark.parametrize(
    ("script", "level", "said"),
    [
        ((NONE, "It is 42."), "note", "calls made: none"),
        ((Fail(400, "no such option"),), "bad", "no such option"),
        ((Say("half", ends=False),), "bad", "broke off"),
    ],
)
def test_a_model_that_does_not_call(script: Any, level: str, said: str) -> None:
    with ScriptedOllama(*script) as server:
        code, found = findings("-m", "scripted", server=server)
    assert (code, found["a call"]["level"]) == (int(level == "bad"), level)
    assert said in found["a call"]["found"]


def test_a_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_CACHE", "/proc/1/azent")
    code, found = findings()
    writable = found["cache folder"]["level"] == "ok"  # for root, /proc/1 seems to be
    assert writable or (code == 1 and "Make it writable" in found["cache folder"]["todo"])


def test_for_people() -> None:
    with ScriptedOllama(CALL, NONE, "It is 42.") as server:
        run = azent("doctor", "-m", "scripted", server=server)
    assert "✓ server: Ollama 0.9.3" in run.stdout
    assert "✓ a call: scripted in " in run.stdout


# ---- completion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_script_for_each_shell(shell: str) -> None:
    run = azent("completion", shell)
    assert run.exit_code == 0
    assert "_AZENT_COMPLETE" in run.stdout


@pytest.mark.parametrize(
    ("words", "there"),
    [("azent do", "doctor"), ("azent ask --mo", "--model"), ("azent sessions bra", "branch")],
)
def test_commands_and_options_are_completed(words: str, there: str) -> None:
    env = {
        "_AZENT_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "PATH": "",
    }
    code = "from azent.cli import main; main()"
    root = str(Path(__file__).resolve().parent.parent)
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**env, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert there in run.stdout.split(), run.stderr


# ---- all commands --------------------------------------------------------------------------------


def commands() -> list[list[str]]:
    """The words of each command there is."""

    def below(command: Any, words: list[str]) -> list[list[str]]:
        deeper = command.list_commands(None) if hasattr(command, "list_commands") else []
        inner = [(command.get_command(None, name), [*words, name]) for name in deeper]
        return [words, *(found for each, path in inner for found in below(each, path))]

    return below(typer.main.get_command(app), [])


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_help_fits_and_says_what_it_does(words: list[str]) -> None:
    for columns in (60, 80):
        run = CliRunner().invoke(app, [*words, "--help"], terminal_width=columns)
        assert run.exit_code == 0
        lines = run.stdout.splitlines()
        assert len(lines) > 3
        assert not [line for line in lines if line.endswith("...") and "Usage" not in line]
        options = run.stdout.partition("  Example")[0].splitlines()  # examples are to be copied
        assert max(map(len, options)) <= columns
        assert max(map(len, lines)) <= 80
    assert CliRunner().invoke(app, [*words, "-h"], terminal_width=80).stdout == run.stdout


OWN_WORDS = {  # options that bear one name, and mean something else in some commands
    "--help", "--host", "--model", "--prompts", "--output", "--parallel", "--port", "--quiet",
    "--sample", "--timeout", "--turns", "--verbose", "--yes",
}  # fmt: skip


def options() -> list[Any]:
    """The options of all commands."""

    def below(command: Any) -> list[Any]:
        names = command.list_commands(None) if hasattr(command, "list_commands") else []
        inner = (below(command.get_command(None, name)) for name in names)
        own = [each for each in command.params if each.param_type_name == "option"]
        return [*own, *(each for found in inner for each in found)]

    return below(typer.main.get_command(app))


def test_an_option_means_the_same_everywhere() -> None:
    """Where commands share an option, they share its letter and its words too."""
    letters: dict[str, set[str]] = {}
    words: dict[str, set[str]] = {}
    for option in options():
        (name,) = (word for word in option.opts if word.startswith("--"))
        shorts = {word for word in option.opts if not word.startswith("--")}
        if shorts:
            letters.setdefault(name, set()).update(shorts)
        if name not in OWN_WORDS:
            words.setdefault(name, set()).add(option.help)
    assert all(len(shorts) == 1 for shorts in letters.values()), letters
    assert not {name: said for name, said in words.items() if len(said) > 1}


# ---- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii", None])
@pytest.mark.parametrize("text", ["plain", "北京", "\x81 é", "\ud800", 'a "quote"'])
def test_json_is_valid_in_any_encoding(encoding: str | None, text: str) -> None:
    made = json_text({"text": text}, encoding)
    assert json.loads(made.encode(encoding or "utf-8").decode(encoding or "utf-8"))["text"] == text


# ---- tables --------------------------------------------------------------------------------------


def test_a_table_has_columns_where_they_fit() -> None:
    rows = [("北京", "1 GB"), ("a longer name", "20 GB")]
    assert list(table_lines(("model", "size"), rows, 80)) == [
        "model          size",
        "北京           1 GB",
        "a longer name  20 GB",
    ]
    assert list(table_lines(("model", "size"), rows, 10)) == [
        *("北京", "  size 1 GB", "a longer name", "  size 20 GB"),
    ]


# ---- what a shell can do to a program ------------------------------------------------------------

ROOT = Path(__file__).parent.parent
STRAY = b"caf\xe9"  # a text in Latin-1, which is no UTF-8


def process(
    arguments: list[str | bytes],
    server: ScriptedOllama,
    said: bytes = b"",
    *,
    closed: str = "",
    script: str = 'exec "$@"',
) -> subprocess.CompletedProcess[bytes]:
    """azent as a shell runs it: in a script, with streams closed or led elsewhere."""
    words = ["sh", "-c", f"{script} {closed}", "sh", sys.executable, "-m", "azent", *arguments]
    env = {
        **os.environ,
        "OLLAMA_HOST": server.url,
        "PYTHONIOENCODING": "utf-8",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(words, input=said, capture_output=True, timeout=60, env=env)


@pytest.mark.parametrize(
    ("arguments", "said", "culprit"),
    [
        (["ask", STRAY], b"", b"the question"),
        (["ask"], STRAY, b"the question"),
        (["chat", "-q"], STRAY + b"\n", b"the question"),
        (["ask", "Hi", "--system", STRAY], b"", b"the system text"),
        (["ask", "Hi", "--store", "kept.db", "-s", STRAY], b"", b"the conversation's name"),
        (["ask", "Hi", "-m", STRAY], b"", b"the model's name"),
    ],
    ids=["argument", "pipe", "chat", "system", "session", "model"],
)
def test_bytes_that_are_no_text_are_refused_before_a_model_is_asked(
    arguments: list[str | bytes], said: bytes, culprit: bytes
) -> None:
    with ScriptedOllama("Hello.") as server:
        run = process([arguments[0], "-m", "scripted", *arguments[1:]], server, said)
        assert not server.requests
    assert run.stdout == b""
    assert run.stderr.startswith(b"azent: " + culprit + b" is no text")
    assert run.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize(
    ("closed", "arguments", "code", "out"),
    [
        ("2>&-", ["ask", "Hi"], 0, b"Hello.\n"),
        (">&-", ["ask", "Hi", "-q"], 0, b""),
        ("<&-", ["ask", "Hi", "-q"], 0, b"Hello.\n"),
        ("<&-", ["ask"], 2, b""),
        ("<&-", ["chat", "-q"], 0, b""),
    ],
)
def test_closed_streams_lead_nowhere(
    closed: str, arguments: list[str | bytes], code: int, out: bytes
) -> None:
    with ScriptedOllama("Hello.") as server:
        run = process(arguments, server, closed=closed)
    assert (run.returncode, run.stdout) == (code, out)
    assert b"Traceback" not in run.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "arguments", [["ask", "Hi", "-q"], ["ask", "Hi", "--json"], ["config", "show"]], ids=" ".join
)
def test_a_full_disk_is_told_in_a_sentence(arguments: list[str | bytes]) -> None:
    with ScriptedOllama("Hello.") as server:
        run = process(arguments, server, closed=">/dev/full")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith(b"azent: the system refuses: ")
    assert b"Traceback" not in run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX system lets a folder go")
def test_a_folder_that_is_gone_is_told_in_a_sentence() -> None:
    with ScriptedOllama("Hello.") as server:
        script = 'mkdir gone; cd gone; rmdir ../gone; exec "$@"'
        run = process(["ask", "Hi", "-q"], server, script=script)
    assert run.returncode == 1
    assert run.stderr.startswith(b"azent: the system refuses: ")


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell has the pipe")
def test_who_reads_may_leave() -> None:
    with ScriptedOllama("Hello.") as server:
        run = process(["config", "show"], server, script='{ "$@"; echo "$?" >&3; } 3>&2 | true')
    assert run.stderr == b"0\n"


@pytest.mark.parametrize("timeout", ["inf", "1e300", "3e6"])
def test_there_may_be_all_the_time_there_is(timeout: str) -> None:
    with ScriptedOllama("Hello.") as server:
        run = azent("ask", "Hi", "-m", "scripted", "-q", "--timeout", timeout, server=server)
    assert (run.stdout, run.stderr) == ("Hello.\n", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "a model without a name cannot be fetched"),
        ("gguf:", "azent has no file for a model ''"),
        ("gguf:none", "azent has no file for a model 'none'"),
    ],
)
def test_what_cannot_be_fetched(name: str, said: str) -> None:
    with ScriptedOllama() as server:
        run = azent("models", "pull", name, server=server)
    assert (run.exit_code, run.stdout) == (4, "")
    assert run.stderr.startswith(f"azent: {said}\n")


@pytest.mark.parametrize(
    "words", [["ask", "Hi", "-q", "-m", "scripted", "-t"], ["tools", "show"], ["tools", "list"]]
)
def test_what_a_file_of_tools_prints_is_no_answer(words: list[str]) -> None:
    Path("loud.py").write_text(f"print('loading')\n{TOOLS}", "utf-8")
    with ScriptedOllama("Hello.") as server:
        run = azent(*words, "loud.py", server=server)
    assert (run.exit_code, run.stderr) == (0, "loading\n")
    assert run.stdout
    assert "loading" not in run.stdout


def test_a_folder_is_no_file_of_tools(tmp_path: Path) -> None:
    run = azent("tools", "list", str(tmp_path))
    assert run.exit_code == 7
    assert run.stderr.startswith(f"azent: {tmp_path} is a folder\n")
