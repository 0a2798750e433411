"""Settings: which source wins, and what a project's file may not do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from azent import config
from azent.cli import app
from azent.errors import SettingsError


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project and a user's folder of the test's own."""
    project, user = tmp_path / "project", tmp_path / "user"
    project.mkdir()
    user.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("AZENT_HOME", str(user))


def project(text: str) -> None:
    Path("azent.toml").write_text(text, "utf-8")


def user(tmp_path: Path, text: str) -> None:
    (tmp_path / "user" / "config.toml").write_text(text, "utf-8")


def test_what_comes_later_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.resolved()["rounds"] == config.Value(8, "default")
    project("rounds = 1")
    assert config.resolved()["rounds"] == config.Value(1, "azent.toml")
    user(tmp_path, "rounds = 2")
    assert config.resolved()["rounds"].value == 2
    monkeypatch.setenv("AZENT_ROUNDS", "3")
    assert config.resolved()["rounds"] == config.Value(3, "AZENT_ROUNDS")
    assert config.resolved({"rounds": 4})["rounds"] == config.Value(4, "option")
    assert config.resolved({"rounds": None})["rounds"].value == 3


@pytest.mark.parametrize(
    "line",
    [
        'host = "http://elsewhere"',
        'tools = ["mine.py"]',
        "yes = true",
        'api_key = "x"',
        'reply_cache = "c.db"',
        'encoder = "openai:http://elsewhere/v1#m"',
        'model = "openai:http://elsewhere/v1#m"',
        'model = "gguf:/tmp/x.gguf"',
    ],
)
def test_a_project_may_not(line: str) -> None:
    project(line)
    with pytest.raises(SettingsError, match=r"azent\.toml may not set") as caught:
        config.resolved()
    assert "config.toml" in caught.value.hint


def test_the_user_may(tmp_path: Path) -> None:
    user(tmp_path, 'host = "http://box"\nyes = true\ntools = ["mine.py"]')
    assert config.resolved()["tools"].value == ["mine.py"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('rounds = "many"', r"azent\.toml: rounds is 'many', not a whole number"),
        ("rounds = true", "not a whole number"),
        ("colour = 1", r"azent\.toml: there is no setting 'colour'"),
        ("rounds = ", r"azent\.toml cannot be used"),
        ("rounds = 0", r"azent\.toml: rounds is 0, which must be at least 1"),
        ("timeout = 0", r"timeout is 0\.0, which must be at least 0\.1"),
        ("timeout = nan", "timeout is nan, which must be"),
        ("timeout = inf", "timeout is inf, which must be"),
        ("num_ctx = 4", "num_ctx is 4, which must be at least 256"),
        ('num_ctx = "8k"', "num_ctx is '8k', not a whole number"),
    ],
)
def test_a_bad_file_is_named(line: str, said: str) -> None:
    project(line)
    with pytest.raises(SettingsError, match=said):
        config.resolved()


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_ROUNDS", "many")
    with pytest.raises(SettingsError, match="AZENT_ROUNDS is 'many', not a whole number"):
        config.resolved()


def test_a_whole_number_will_do_for_a_number() -> None:
    project("timeout = 120")
    assert config.resolved()["timeout"].value == 120.0


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_API_KEY", "hush")
    value = config.resolved()["api_key"].value
    assert config.masked("api_key", value) == "(4 characters)"
    assert config.masked("model", "m") == "m"


def spoil(file: Path, how: str) -> None:
    match how:
        case "folder":
            file.mkdir()
        case "not UTF-8":
            file.write_bytes(b'system = "caf\xe9"')
        case "UTF-16":
            file.write_text("rounds = 4", "utf-16")
        case "closed":
            file.write_text("rounds = 4")
            file.chmod(0)
        case "binary":
            file.write_bytes(bytes(range(256)))


@pytest.mark.parametrize("how", ["folder", "not UTF-8", "UTF-16", "closed", "binary"])
@pytest.mark.parametrize("whose", ["project", "user"])
def test_what_is_no_file_of_settings_is_named(how: str, whose: str, tmp_path: Path) -> None:
    file = Path("azent.toml") if whose == "project" else tmp_path / "user" / "config.toml"
    spoil(file, how)
    if how == "closed" and os.access(file, os.R_OK):
        pytest.skip("root reads everything")
    for command in (["ask", "Hi", "-m", "m"], ["config", "show"], ["doctor"]):
        run = CliRunner().invoke(app, command)
        assert (run.exit_code, run.stdout) == (9, ""), command
        said, hint = run.stderr.splitlines()
        assert said.startswith(f"azent: {file} cannot be used: ")
        assert not {"[Errno", "codec"} & set(said.split())
        assert hint.startswith("Mend it")


@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_mark_of_utf_8_is_no_part_of_a_file(whose: str, tmp_path: Path) -> None:
    file = Path("azent.toml") if whose == "project" else tmp_path / "user" / "config.toml"
    file.write_text("rounds = 4", "utf-8-sig")
    assert config.resolved()["rounds"] == config.Value(4, str(file))


@pytest.mark.parametrize(
    ("said", "value"),
    [("yes", True), ("1", True), ("TRUE", True), ("no", False), ("0", False), ("n", None)],
)
def test_yes_and_no_in_the_environment(
    said: str, value: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZENT_YES", said)
    if value is None:
        with pytest.raises(SettingsError, match="AZENT_YES is 'n', not true or false"):
            config.resolved()
    else:
        assert config.resolved()["yes"].value is value


def test_programs_get_values_and_not_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_TOOLS", "a.py,b.py")
    monkeypatch.setenv("AZENT_API_KEY", "secret")
    shown = json.loads(CliRunner().invoke(app, ["config", "show", "--json"]).stdout)
    given = {name: shown[name]["value"] for name in ("model", "yes", "rounds", "tools", "api_key")}
    assert given == {
        "model": None,
        "yes": False,
        "rounds": 8,
        "tools": ["a.py", "b.py"],
        "api_key": "(6 characters)",
    }
