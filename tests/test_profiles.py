"""Model profiles: where they are read from, which are chosen, and what happens when one fails."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import azent
from azent.cli import app
from azent.errors import (
    ModelError,
    ModelNotFound,
    ModelUnreachable,
    ReplyBroken,
    SettingsError,
    UsageError,
)
from azent.messages import Delta, Request
from azent.models import Model, Scripted
from azent.models.fallback import Fallback
from azent.models.ollama import Ollama
from azent.models.openai import OpenAI
from azent.models.profiles import filter_from, open_profiles, profiles_from_json
from tests.scripted_ollama import Fail, Say, ScriptedOllama

DOWN = "http://127.0.0.1:9"
LIST: list[dict[str, Any]] = [
    {"model": "large", "host": "http://box:1", "tags": ["slow", "good"], "api_key": "hush"},
    {"model": "small", "num_ctx": 2048, "tags": ["fast", "local"]},
    {"model": "tiny", "tags": ["fast"], "team": "red", "price": 0, "free": True},
    {"model": "qwen", "base_url": "http://box:2/v1", "api_key": "hush", "retries": 0},
]
TEXT = json.dumps(LIST)
ASK = Request(({"role": "user", "content": "Hi"},))


def chosen(words: list[str], source: str | Path = TEXT) -> list[str]:
    return [each.model for each in profiles_from_json(source, filter_from(words))]


@pytest.mark.parametrize(
    ("words", "models"),
    [
        ([], ["large", "small", "tiny", "qwen"]),
        (["fast"], ["small", "tiny"]),
        (["good", "local"], ["large", "small"]),
        (["fast", "team=red"], ["tiny"]),
        (["model=tiny", "model=large"], ["large", "tiny"]),
        (["price=0"], ["tiny"]),
        (["free=true"], ["tiny"]),
        (["num_ctx=2048"], ["small"]),
        (["tags=good"], ["large"]),
    ],
)
def test_tags_and_other_keys_choose(words: list[str], models: list[str]) -> None:
    assert chosen(words) == models


def test_a_filter_may_have_values_of_any_type() -> None:
    found = profiles_from_json(json.dumps(LIST), {"num_ctx": [2048], "tags": "fast"})
    assert [each.model for each in found] == ["small"]


def test_a_file_a_variable_with_json_or_one_with_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "models.json"
    file.write_text(json.dumps(LIST), "utf-8")
    monkeypatch.setenv("BY_JSON", json.dumps(LIST[:2]))
    monkeypatch.setenv("BY_PATH", str(file))
    assert len(chosen([], file)) == len(chosen([], str(file))) == len(chosen([], "BY_PATH")) == 4
    assert chosen([], "BY_JSON") == ["large", "small"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no-such-file.json", "cannot be read"),
        ("[", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "not a list"),
        ("[]", "not a list"),
        ("[3]", "profile 1 names no model"),
        ('[{"model": ""}]', "profile 1 names no model"),
        ('[{"model": "m"}, {"tags": []}]', "profile 2 names no model"),
        ('[{"model": "m", "tags": "fast"}]', "its tags are no list of texts"),
    ],
)
def test_what_cannot_be_used_is_said(source: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        profiles_from_json(source)
    assert "Such as" in caught.value.hint


def test_nothing_that_matches_names_what_there_is() -> None:
    with pytest.raises(SettingsError, match="no profile matches") as caught:
        chosen(["cheap"])
    assert "large (slow, good); small" in caught.value.hint
    assert "hush" not in caught.value.hint + str(caught.value)


def test_each_is_opened_with_its_settings() -> None:
    model = open_profiles(profiles_from_json(json.dumps(LIST)))
    assert isinstance(model, Fallback)
    large, small, _, qwen = model.models
    assert isinstance(large, Ollama)
    assert large.transport()["headers"]["Authorization"] == "Bearer hush"
    assert (large.host, small.num_ctx) == ("http://box:1", 2048)
    assert isinstance(qwen, OpenAI)
    assert (qwen.name, qwen.url, qwen.retries) == ("qwen", "http://box:2/v1", 0)
    assert (model.name, model.num_ctx) == ("large", 2048)
    assert "hush" not in repr(model) + repr(profiles_from_json(json.dumps(LIST)))


@pytest.mark.parametrize("key", [{}, {"api_key": "hush"}])
@pytest.mark.parametrize("headers", [5, "x", ["x"], {"x": 5}])
def test_headers_that_are_none_are_told(headers: Any, key: dict[str, str]) -> None:
    profile = {"model": "m", "headers": headers, **key}
    with pytest.raises(UsageError, match="header"):
        open_profiles(profiles_from_json(json.dumps([profile])))


def test_one_alone_is_itself() -> None:
    assert isinstance(open_profiles(profiles_from_json('[{"model": "m"}]')), Ollama)


# ---- in order on failure -------------------------------------------------------------------------


def text_of(model: Model) -> str:
    return "".join(piece.text for piece in model.stream(ASK) if isinstance(piece, Delta))


def test_the_next_is_asked_when_one_fails_and_stays(caplog: pytest.LogCaptureFixture) -> None:
    first = Scripted(ModelUnreachable("box is down"), "back again")
    second = Scripted("one", "two")
    model = Fallback([first, second])
    with caplog.at_level(logging.WARNING, "azent"):
        assert [text_of(model), text_of(model)] == ["one", "two"]
    assert len(first.heard) == 1
    assert caplog.messages == ["box is down: asking the next model"]


def test_the_others_are_asked_again_when_the_last_one_fails() -> None:
    first = Scripted(ModelUnreachable("down"), "back again")
    model = Fallback([first, Scripted("one", ModelUnreachable("down, too"))])
    assert [text_of(model), text_of(model)] == ["one", "back again"]


def test_all_failures_are_told() -> None:
    models = [Scripted(ModelUnreachable("box is down")), Scripted(ModelNotFound("no m", "Pull."))]
    with pytest.raises(ModelNotFound, match="box is down; no m") as caught:
        text_of(Fallback(models))
    assert caught.value.hint == "Pull."


def test_a_reply_that_began_is_not_begun_again() -> None:
    def broken() -> Any:
        yield Delta("half")
        raise ReplyBroken("it broke off")

    second = Scripted("whole")
    with pytest.raises(ReplyBroken):
        text_of(Fallback([Scripted(broken()), second]))
    assert second.heard == []


def test_what_is_no_failure_of_a_model_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        text_of(Fallback([Scripted(ZeroDivisionError()), Scripted("one")]))
    with pytest.raises(azent.UsageError):
        Fallback([])
    assert issubclass(ModelUnreachable, ModelError)


# ---- at the command line -------------------------------------------------------------------------


def ask(*options: str, **env: str) -> Any:
    return CliRunner(env=env).invoke(app, ["ask", "Hi", "--no-tools", *options])


@pytest.mark.parametrize("first", ["down", "failing", "without the model"])
def test_two_servers_the_first_of_no_use(first: str, tmp_path: Path) -> None:
    items = {"failing": Fail(500, "broken"), "without the model": Fail(404, "model not found")}
    with ScriptedOllama(items.get(first, "")) as bad, ScriptedOllama("Hello.") as good:
        hosts = [DOWN if first == "down" else bad.url, good.url]
        profiles = [{"model": "m", "host": host, "retries": 0} for host in hosts]
        file = tmp_path / "models.json"
        file.write_text(json.dumps(profiles), "utf-8")
        run = ask(AZENT_PROFILES=str(file))
        quiet = ask("-q", AZENT_PROFILES=json.dumps(profiles))
    assert (run.exit_code, run.stdout) == (0, "Hello.\n")
    assert "asking the next model" in run.stderr
    assert (quiet.stdout, quiet.stderr) == ("Hello.\n", "")


def test_a_profile_is_chosen_by_tag() -> None:
    with ScriptedOllama(lambda body: Say(body["model"])) as server:
        tagged = [
            {"model": "a", "host": server.url, "tags": ["big"]},
            {"model": "b", "host": server.url, "tags": ["small"]},
        ]
        env = {"AZENT_PROFILES": json.dumps(tagged)}
        assert ask("--profile", "small", **env).stdout == "b\n"
        assert ask("--profile", "small", AZENT_MODEL="c", **env).stdout == "b\n"
        assert ask(**env).stdout == "a\n"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--profile", "fast"], 2, "there are none"),
        (["--profile", "fast", "--model", "m"], 2, "cannot go together"),
    ],
)
def test_profiles_that_cannot_be_chosen(options: list[str], code: int, said: str) -> None:
    run = ask(*options)
    assert run.exit_code == code
    assert said in run.stderr


def test_secrets_of_profiles_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_PROFILES", json.dumps(LIST))
    monkeypatch.setenv("AZENT_HOST", "http://me:hush@box:1")
    for options in ([], ["--json"]):
        shown = CliRunner().invoke(app, ["config", "show", *options]).stdout
        assert "hush" not in shown
        assert "http://***@box:1" in shown
    monkeypatch.setenv("AZENT_PROFILES", "models.json")
    assert "models.json" in CliRunner().invoke(app, ["config", "show"]).stdout
