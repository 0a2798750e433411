"""`azent sessions`, and conversations on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import azent
from azent.cli import app
from azent.messages import Call, Note, Question, Reply, Result
from tests.scripted_ollama import ScriptedOllama


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [*map(str, arguments)])


def sessions(*arguments: object) -> Any:
    return run("sessions", *arguments)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOllama]:
    with ScriptedOllama("Hello Logan.", "Logan.", "More.", cycles=True) as scripted:
        monkeypatch.setenv("OLLAMA_HOST", scripted.url)
        yield scripted


def ask(*arguments: object) -> Any:
    return run("ask", "-m", "scripted", "--no-tools", "-q", *arguments)


def kept(name: str = "work") -> None:
    log = (
        Question("Write to Kim"),
        Reply(calls=(Call("send", {"to": "Kim"}, id="1"),), move="decide"),
        Result("send", "sent \x1b[31m", id="1"),
        Note("interrupted", ids=("1",)),
        Reply(text="Done.", move="answer"),
        Question("Again?"),
    )
    with azent.Store().hold(name) as held:
        held.keep(log)


def test_a_conversation_goes_on_by_its_name_and_as_the_last(server: ScriptedOllama) -> None:
    assert ask("-s", "work", "My name is Logan.").stdout == "Hello Logan.\n"
    again = ask("-c", "What is my name?")
    assert (again.stdout, "going on with the conversation work" in again.stderr) == (
        "Logan.\n",
        True,
    )
    assert "Hello Logan." in server.requests[-1].text
    assert azent.Store().sessions()[0].turns == 2


def test_a_store_can_be_a_file(server: ScriptedOllama, tmp_path: Path) -> None:
    file = tmp_path / "here" / "talks.db"
    assert ask("-s", "work", "--store", file, "hi").exit_code == 0
    assert sessions("list", "--store", file).stdout.startswith("work ")
    assert sessions("list").stdout == ""


def test_what_does_not_go_together() -> None:
    both = ask("-s", "work", "-c", "hi")
    assert (both.exit_code, "cannot go together" in both.stderr) == (2, True)
    none = ask("-c", "hi")
    assert (none.exit_code, "no conversation to go on with" in none.stderr) == (2, True)


def test_a_broken_store_is_refused_in_words(server: ScriptedOllama, tmp_path: Path) -> None:
    Path("sessions.db").write_text("no database " * 99)
    refused = ask("-s", "work", "hi")
    assert (refused.exit_code, server.requests) == (10, [])
    assert "sessions.db cannot be used" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_sessions_are_listed() -> None:
    kept()
    kept("other")
    lines = sessions("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["other", "work"]
    assert "2 turns  Write to Kim" in lines[0]
    assert [each["name"] for each in json.loads(sessions("list", "--json").stdout)] == [
        "other",
        "work",
    ]


def test_a_session_is_shown_with_nothing_obeyed() -> None:
    kept()
    shown = sessions("show", "work").stdout
    assert '> Write to Kim\n\n→ send(to="Kim")\n← send: sent ␛[31m\n! interrupted\nDone.' in shown
    assert json.loads(sessions("show", "work", "--json").stdout)[1]["content"] == "Done."


def test_branch_undo_export_delete() -> None:
    kept()
    assert sessions("branch", "work", "new", "--turns", 1).exit_code == 0
    assert "1 turn left" in sessions("undo", "work").stderr
    lines = sessions("export", "new").stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == [
        "question",
        "reply",
        "result",
        "note",
        "reply",
    ]
    assert sessions("delete", "work", "new").exit_code == 0
    assert sessions("list").stdout == ""


@pytest.mark.parametrize(
    "arguments", [("show", "none"), ("undo", "none"), ("export", "none"), ("delete", "none")]
)
def test_a_session_that_there_is_not(arguments: tuple[str, ...]) -> None:
    refused = sessions(*arguments)
    assert (refused.exit_code, "no conversation 'none'" in refused.stderr) == (10, True)
