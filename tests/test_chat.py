"""`azent chat`, at a keyboard and in a pipe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import azent
from azent import Store
from azent.cli import app
from azent.cli.sessions import Conversation
from azent.messages.log import turns
from tests.scripted_ollama import Fail, Item, Say, ScriptedOllama
from tests.terminal import Terminal

TOOLS = """
import azent

@azent.tool(confirm=True)
def wipe() -> str:
    "Wipe the disk."
    return "gone"

def peek() -> str:
    "Peek."
    return "seen"
"""
WIPE = '{"tools": [{"tool": "wipe", "tool_input": {}}]}'
ROOT = Path(__file__).resolve().parent.parent
SLOW = Say(pieces=["slow "] * 1000, pause=0.05)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AZENT_HOME", str(tmp_path / "home"))
    Path("tools.py").write_text(TOOLS)


def chat(server: ScriptedOllama, said: str, *options: str) -> Any:
    arguments = ["chat", "-m", "scripted", *(options or ["--no-tools"])]
    return CliRunner(env={"OLLAMA_HOST": server.url}).invoke(app, arguments, input=said)


def keyboard(server: ScriptedOllama, *options: str) -> Terminal:
    arguments = ["chat", "-m", "scripted", *(options or ["--no-tools"])]
    return Terminal(arguments, server.url, Path())


# ---- in a pipe -----------------------------------------------------------------------------------


def test_lines_are_questions_of_one_conversation() -> None:
    with ScriptedOllama("Hello, Logan.", "You are Logan.") as server:
        run = chat(server, "My name is Logan.\n\nWhat is \\\nmy name?", "--no-tools", "-q")
    assert (run.exit_code, run.stdout) == (0, "Hello, Logan.\nYou are Logan.\n")
    assert run.stderr == ""
    last = server.requests[-1]
    assert "My name is Logan." in last.text
    assert "What is \nmy name?" in last.text


@pytest.mark.parametrize("said", ["Hello \\", "Hello \\\n", "\\\n" * 2_000 + "Hello"])
def test_no_line_of_a_pipe_is_lost(said: str) -> None:
    with ScriptedOllama("Hi.") as server:
        run = chat(server, said, "--no-tools", "-q")
    assert (run.exit_code, run.stdout) == (0, "Hi.\n")
    assert "Hello" in server.requests[-1].text


@pytest.mark.parametrize("end", ["", "/exit\nNot asked", "/quit\nNot asked"])
def test_it_ends(end: str) -> None:
    with ScriptedOllama("Hi.") as server:
        run = chat(server, f"Hello\n{end}")
    assert (run.exit_code, run.stdout) == (0, "Hi.\n")
    assert len(server.requests) == 1


def test_what_was_taken_back_is_not_sent() -> None:
    with ScriptedOllama("Noted.", "Fine.") as server:
        run = chat(server, "The word is plum.\n/undo\nAnd now?\n/undo\n/undo\n")
    assert "taken back: The word is plum." in run.stderr
    assert "taken back: And now?" in run.stderr
    assert "there is nothing to take back" in run.stderr
    assert "plum" not in server.requests[-1].text


def test_a_new_conversation_knows_nothing_of_the_old() -> None:
    with ScriptedOllama("Noted.", "Fine.") as server:
        chat(server, "The word is plum.\n/new\nAnd now?\n")
    assert "plum" not in server.requests[-1].text


def test_what_was_saved_goes_on(tmp_path: Path) -> None:
    with ScriptedOllama("One.", "Two.", "Three.") as server:
        run = chat(server, "First\n/save\n/save plums\nSecond\n/save plums\n")
        assert "a name is missing" in run.stderr
        assert "kept as plums" in run.stderr
        assert "there is a conversation 'plums' already" in run.stderr
        again = chat(server, "Third\n", "--session", "plums", "--no-tools")
    assert again.stdout == "Three.\n"
    assert all(word in server.requests[-1].text for word in ("First", "Two.", "Third"))
    assert [each.turns for each in Store().sessions()] == [3]


def test_the_last_one_goes_on() -> None:
    with ScriptedOllama("One.", "Two.") as server:
        chat(server, "First\n", "-s", "work", "--no-tools")
        chat(server, "Second\n/undo\n", "-c", "--no-tools")
    assert "First" in server.requests[-1].text
    assert [(each.name, each.turns) for each in Store().sessions()] == [("work", 1)]


def test_tools_are_listed() -> None:
    with ScriptedOllama("") as server:
        assert "peek  Peek." in chat(server, "/tools\n", "-t", "tools.py:peek").stdout
        assert chat(server, "/tools\n").stdout == "none\n"


def test_another_model_goes_on_with_the_conversation() -> None:
    with ScriptedOllama("One.", "Two.") as server:
        run = chat(server, "First\n/model other\n/model\n/model gguf:\nSecond\n")
    assert "going on with other" in run.stderr
    assert "a model's name is missing" in run.stderr
    assert [asked.body["model"] for asked in server.requests] == ["scripted", "other"]
    assert "First" in server.requests[-1].text


def test_help_names_all_there_is() -> None:
    with ScriptedOllama("") as server:
        run = chat(server, "/help\n/dance\n")
    assert all(f"/{name}" in run.stderr for name in ("tools", "undo", "save", "model", "new"))
    assert "there is no /dance" in run.stderr


def test_a_path_is_a_question() -> None:
    with ScriptedOllama("A file.") as server:
        assert chat(server, "/etc/passwd is what?\n").stdout == "A file.\n"


@pytest.mark.parametrize("trouble", [Fail(400, "no"), Say("half", ends=False)])
def test_trouble_with_one_question_does_not_end_it(trouble: Item) -> None:
    script = iter([*[trouble] * 3, *["Fine."] * 9])
    with ScriptedOllama(lambda body: next(script) if "Bad" in str(body) else "Fine.") as server:
        run = chat(server, "Bad\nGood\n")
    assert run.exit_code == 0
    assert "azent: " in run.stderr
    assert run.stdout.endswith("Fine.\n")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Bad\n", 5),
        ("Bad\nBad\n", 5),
        ("Good\nBad\n", 5),
        ("Good\nBad\n/tools\n/exit\n", 5),
        ("Bad\nGood\n", 0),
        ("Bad\n/dance\n", 2),
        ("Good\n/dance\n", 2),
        ("Good\n/undo\n/undo\n", 2),
        ("/dance\nGood\n", 0),
        ("/tools\n", 0),
        ("", 0),
    ],
)
def test_the_exit_code_in_a_pipe_is_that_of_the_last_error(said: str, code: int) -> None:
    def reply(body: Any) -> Item:
        return Fail(400, "no") if "Bad" in body["messages"][-1]["content"] else "Fine."

    with ScriptedOllama(reply) as server:
        run = chat(server, said)
    assert run.exit_code == code, run.stderr


def test_ctrl_c_ends_all_of_a_pipe(tmp_path: Path) -> None:
    with ScriptedOllama(SLOW) as server:
        env = {**os.environ, "OLLAMA_HOST": server.url, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "azent", "chat", "-m", "scripted", "--no-tools"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        ) as process:
            assert process.stdin is not None
            process.stdin.write(b"One\nTwo\n")
            process.stdin.flush()
            assert server.was_asked(1, 30)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=30)
    assert (process.returncode, len(server.requests)) == (130, 1)
    assert b"Traceback" not in error


def test_nobody_can_be_asked_in_a_pipe() -> None:
    with ScriptedOllama(WIPE, "Not done.") as server:
        run = chat(server, "Wipe it\n", "-t", "tools.py")
    assert "not run, because nobody can be asked" in run.stderr


def test_what_is_forgotten_is_the_stopped_question_alone() -> None:
    model = azent.Scripted("One.", ["half", "of", "it"])
    agent = azent.Agent(model)
    conversation = Conversation(azent.Session("work"), Store())
    assert [*conversation.ask(agent, "First", lambda call: False)]
    for pieces in (0, 2):  # stopped before anything was kept of it, and after
        events = conversation.ask(agent, "Second", lambda call: False)
        for _ in range(pieces):
            next(events)
        events.close()
        conversation.forget_unfinished()
        assert [turn[0] for turn in turns(conversation.log)] == [azent.Question("First")]


# ---- at a keyboard -------------------------------------------------------------------------------


def test_ctrl_c_stops_the_reply_and_not_the_program() -> None:
    with ScriptedOllama(SLOW, "Quick.") as server, keyboard(server) as terminal:
        terminal.wait_for("›")
        terminal.type("Tell me much\r")
        terminal.wait_for("slow")
        terminal.interrupt()
        terminal.wait_for("stopped")
        assert server.saw_disconnect()
        terminal.type("And now?\r")
        terminal.wait_for("Quick.")
        terminal.wait_for("›")
        terminal.type("\x04")
        assert terminal.end() == 0
        assert "Tell me much" not in server.requests[-1].text


def test_an_error_leaves_the_screen_in_order() -> None:
    trouble = Fail(400, "no such option", before=0.6)
    with ScriptedOllama(trouble, "Fine.") as server, keyboard(server) as terminal:
        terminal.wait_for("›")
        terminal.type("Bad\r")
        terminal.wait_for("reading about")
        terminal.wait_for("no such option")
        terminal.type("Good\r")
        terminal.wait_for("Fine.")
        terminal.type("\x04")
        assert terminal.end() == 0
        assert "reading" not in terminal.screen()


def test_keys(tmp_path: Path) -> None:
    with ScriptedOllama("One.", "Two.", "Three.") as server, keyboard(server) as terminal:
        terminal.wait_for("›")
        terminal.type("first\x1b\rsecond line\r")  # Alt-Enter between them
        terminal.wait_for("One.")
        assert "first\nsecond line" in server.requests[-1].text
        terminal.type("half a question\x03")  # Ctrl-C at the prompt drops the line
        terminal.wait_for("/exit ends it")
        terminal.type("again\r")
        terminal.wait_for("Two.")
        assert "half a question" not in server.requests[-1].text
        terminal.type("\x1b[A\r")  # arrow up: the last line
        terminal.wait_for("Three.")
        assert server.requests[-1].text.count("again") >= 2
        terminal.type("/exit\r")
        assert terminal.end() == 0
    assert "again" in (tmp_path / "home" / "chat-history").read_text("utf-8")


@pytest.mark.parametrize(
    ("said", "seen"),
    [("y", "gone"), ("n", "not"), ("use peek instead", "use peek instead")],
)
def test_consent_is_asked_for(said: str, seen: str) -> None:
    with ScriptedOllama(WIPE, "Done.") as server, keyboard(server, "-t", "tools.py") as terminal:
        terminal.wait_for("›")
        terminal.type("Wipe it\r")
        terminal.wait_for("Run wipe()?")
        terminal.type(f"{said}\r")
        terminal.wait_for("wipe: ")
        terminal.wait_for("Done.")
        assert seen in server.requests[-1].text
        terminal.wait_for("›")  # keys that are typed before it reads them are lost
        terminal.type("\x04")
        assert terminal.end() == 0
