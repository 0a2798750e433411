"""`azent prompts`: what is shown is what would be sent, and what is broken is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from azent.cli import app
from tests.scripted_ollama import Say, ScriptedOllama
from tests.test_prompt import write_set

TOOLS = 'def double(n: int) -> int:\n    """Double a number."""\n    return 2 * n\n'


def prompts(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["prompts", *map(str, arguments)])


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.py").write_text(TOOLS)


def test_sets_are_listed_and_the_one_that_is_taken_is_marked() -> None:
    write_set(Path("prompts/small"), 'models = ["tiny*"]\ndescription = "for small ones"')
    listed = prompts("list").stdout.splitlines()
    assert any(line.startswith("* default ") for line in listed)
    assert any(line.startswith("  zh ") for line in listed)
    assert "* small    for small ones  [prompts/small]" in prompts("list", "-m", "tiny:1b").stdout
    rows = json.loads(prompts("list", "--json").stdout)
    assert {"default", "article", "zh", "small"} <= {row["name"] for row in rows}


def test_a_folder_that_an_editor_left_in_a_set_is_passed_over() -> None:
    write_set(Path("prompts/mine"))
    Path("prompts/mine/.checkpoints").mkdir()
    rendered = prompts("render", "-p", "mine", "-t", "tools.py")
    assert rendered.exit_code == 0, rendered.stderr
    assert "using the prompt set in prompts/mine" in rendered.stderr


@pytest.mark.parametrize(
    ("file", "body", "said"),
    [
        ("set.toml", "[", "broken: prompts/mine/set.toml:1: "),
        ("set.toml", 'turn = "x"', "broken: prompts/mine/set.toml:1: turn is 'x'"),
        ("system.txt", "Hello $nobody", "broken: prompts/mine/system.txt:1: there is no blank"),
    ],
)
def test_a_broken_set_is_listed_among_the_others(file: str, body: str, said: str) -> None:
    prompts("new", "mine")
    Path("prompts/mine", file).write_text(body)
    run = prompts("list")
    assert run.exit_code == 0
    assert said in run.stdout
    assert {"zh", "mine"} <= {line[2:].split()[0] for line in run.stdout.splitlines()}
    rows = {row["name"]: row for row in json.loads(prompts("list", "--json").stdout)}
    assert "broken" in rows["mine"]
    assert "broken" not in rows["zh"]


def test_a_set_is_shown_whole() -> None:
    shown = prompts("show", "article").stdout
    assert "User Query:\n$question" in shown
    assert "held = false" in shown


def test_a_new_set_is_a_copy_that_takes_effect() -> None:
    made = prompts("new", "mine", "--from", "article")
    assert (made.exit_code, made.stdout) == (0, "prompts/mine\n")
    assert prompts("diff", "article", "mine").stdout == ""
    Path("prompts/mine/question.txt").write_text("$functions\nPlease: $question\n")
    assert "+Please: $question" in prompts("diff", "article", "mine").stdout
    rendered = prompts("render", "Twice 4?", "-p", "mine", "-t", "tools.py")
    assert rendered.stdout.endswith("Please: Twice 4?\n")
    assert "using the prompt set in prompts/mine" in rendered.stderr
    again = prompts("new", "mine")
    assert (again.exit_code, "is there already" in again.stderr) == (2, True)


def test_a_new_set_for_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_HOME", str(tmp_path / "home"))
    assert prompts("new", "mine", "--user").exit_code == 0
    assert (tmp_path / "home" / "prompts" / "mine" / "set.toml").exists()


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", "a b"])
def test_names_that_are_none(name: str) -> None:
    assert prompts("new", name).exit_code == 2


def test_all_sets_are_checked_and_broken_ones_named() -> None:
    assert prompts("check").exit_code == 0
    write_set(Path("prompts/bad"), answer="fine\nnot $fine")
    write_set(Path("prompts/worse"), "held = 3")
    checked = prompts("check")
    assert checked.exit_code == 8
    assert "prompts/bad/answer.txt:2: there is no blank $fine" in checked.stderr
    assert "prompts/worse/set.toml:1: held is 3" in checked.stderr
    assert prompts("check", "default").exit_code == 0
    assert prompts("check", "prompts/bad").exit_code == 8


def test_what_is_rendered_is_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedOllama("Eight.") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        options = ["-t", "tools.py", "-m", "scripted", "--system", "Be brief."]
        rendered = json.loads(prompts("render", "Twice 4?", "--json", *options).stdout)
        assert server.requests == []
        asked = CliRunner().invoke(app, ["ask", "Twice 4?", *options])
    assert asked.exit_code == 0, asked.stderr
    body = server.requests[0].body
    assert (rendered["messages"], rendered["format"]) == (body["messages"], body["format"])
    assert (rendered["exact"], rendered["tokens"] > 50) == (False, True)


def test_the_server_counts_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedOllama(Say("x", prompt_tokens=321), decides=False) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        counted = prompts("render", "Twice 4?", "-t", "tools.py", "-m", "scripted", "--exact")
    assert "321 tokens (counted), the reply is held to a schema, set default" in counted.stderr
    assert server.requests[0].body["options"]["num_predict"] == 1


def test_the_request_for_an_answer() -> None:
    rendered = prompts("render", "Twice 4?", "--move", "answer", "-p", "article", "-t", "tools.py")
    assert "--- user\nTwice 4?\n\nNow answer" in rendered.stdout
    assert prompts("render", "--move", "dance").exit_code == 2
    assert prompts("render", "--choice", "dance").exit_code == 2


def test_ask_names_a_set_that_lies_in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write_set(Path("prompts/default"))
    with ScriptedOllama("Hi.") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        asked = CliRunner().invoke(app, ["ask", "Hi", "-t", "tools.py", "-m", "scripted"])
    assert "using the prompt set in prompts/default" in asked.stderr
    assert asked.stdout == "Hi.\n"


# ---- a broken set in the way ---------------------------------------------------------------------

BROKEN = [  # what is wrong with ./prompts/NAME, and what is said of it
    ("mine", "set.toml", "[", "prompts/mine/set.toml:1: "),
    ("mine", "set.toml", 'models = ["scripted"]\nturn = "x"', "prompts/mine/set.toml:2: turn is"),
    ("mine", "answer.txt", "one\n$nobody", "prompts/mine/answer.txt:2: there is no blank"),
    ("default", "set.toml", "held = 3", "prompts/default/set.toml:1: held is 3"),
    ("default", "system.txt", "$nobody", "prompts/default/system.txt:1: there is no blank"),
    ("small", "set.toml", "\n[[", "prompts/small/set.toml:2: "),
]


def spoil(name: str, file: str, body: str) -> None:
    folder = write_set(Path("prompts", name), 'models = ["scripted"]' if name == "mine" else "")
    (folder / file).write_text(body, "utf-8")


@pytest.mark.parametrize(("name", "file", "body", "said"), BROKEN)
@pytest.mark.parametrize(
    "command",
    [
        ["ask", "Hi", "--no-tools", "-m", "scripted"],
        ["ask", "Hi", "--no-tools", "-m", "scripted", "--json"],
        ["chat", "--no-tools", "-m", "scripted"],
        ["models", "list"],
        ["prompts", "render", "Hi", "-m", "scripted"],
    ],
    ids=" ".join,
)
def test_a_broken_set_that_was_not_named_is_left_out_with_one_warning(
    command: list[str], name: str, file: str, body: str, said: str
) -> None:
    spoil(name, file, body)
    with ScriptedOllama("Hello.", models=("scripted",)) as server:
        run = CliRunner(env={"OLLAMA_HOST": server.url}).invoke(app, command, input="Hi\nHo\n")
    assert run.exit_code == 0, run.stderr
    assert run.stderr.count(f"! left out, as it is broken: {said}") == 1
    assert run.stderr.count("is broken") == 1


@pytest.mark.parametrize(("name", "file", "body", "said"), BROKEN)
def test_a_broken_set_is_an_error_where_it_is_named_and_a_finding_of_the_doctor(
    name: str, file: str, body: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(name, file, body)
    run = CliRunner().invoke(app, ["ask", "Hi", "-m", "scripted", "-p", name])
    assert run.exit_code == 8
    assert run.stderr.startswith(f"azent: {said}")
    monkeypatch.setenv("AZENT_PROMPTS", name)
    assert CliRunner().invoke(app, ["ask", "Hi", "-m", "scripted"]).exit_code == 8
    monkeypatch.delenv("AZENT_PROMPTS")
    run = CliRunner().invoke(app, ["doctor", "--json"])
    found = {each["what"]: each for each in json.loads(run.stdout)}
    assert (run.exit_code, found[f"prompt set {name}"]["level"]) == (1, "bad")
    assert found[f"prompt set {name}"]["found"].startswith(said)
    assert name not in found["prompt sets"]["found"].split(", ")


@pytest.mark.parametrize("name", ["mine", "default"])
def test_azents_own_set_takes_the_place_of_a_broken_one(name: str) -> None:
    spoil(name, "system.txt", "$nobody")
    rows = json.loads(prompts("list", "--json", "-m", "scripted").stdout)
    taken = [row["name"] for row in rows if row["taken"]]
    assert taken == ([] if name == "default" else ["default"])  # a hidden one is not listed
    (Path("prompts", name) / "set.toml").unlink()
    rows = json.loads(prompts("list", "--json", "-m", "scripted").stdout)
    assert [row["name"] for row in rows if row["taken"]] == ["default"]
