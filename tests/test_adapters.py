"""Adapters: a package on the path adds a kind of model, as docs/adapters.md says."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import azent
from azent.cli import app
from azent.errors import ModelError, SettingsError, UsageError
from azent.models.profiles import open_profiles, profiles_from_json
from tests.test_cli_serve import ROOT, running

PAGE = (ROOT / "docs" / "adapters.md").read_text("utf-8")
BLOCKS = dict(re.findall(r"^```(python|toml|sh)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
HELLO = """
import json, sys
asked = json.load(sys.stdin)
assert {"role", "content"} <= set(asked[-1])
print("Hello from a program.")
"""
SETTINGS = """
class Model:
    num_ctx = None
    def __init__(self, rest, **settings):
        self.name, self.settings = rest, settings
    def stream(self, request):
        raise NotImplementedError
"""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that puts a distribution with entry points into a folder on the path."""

    def put(module: str, source: str, adapters: dict[str, str]) -> Path:
        folder = tmp_path / module
        about = folder / f"azent_{module}-1.0.dist-info"
        about.mkdir(parents=True)
        (folder / f"{module}.py").write_text(source, "utf-8")
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: azent-{module}\n")
        lines = [f"{name} = {value}" for name, value in adapters.items()]
        (about / "entry_points.txt").write_text("\n".join(["[azent.models]", *lines]))
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, module, raising=False)
        return folder

    return put


@pytest.fixture
def page(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of the page, and a program for it in the current folder."""
    entry_points = tomllib.loads(BLOCKS["toml"])["project"]["entry-points"]["azent.models"]
    install("program", BLOCKS["python"], entry_points)
    (tmp_path / "hello.py").write_text(HELLO, "utf-8")
    monkeypatch.chdir(tmp_path)


def ask(*options: str, **env: str) -> Any:
    return CliRunner(env=env).invoke(app, ["ask", "Say hello.", "--no-tools", *options])


@pytest.mark.usefixtures("page")
def test_the_model_of_the_page_answers_in_python() -> None:
    model = azent.open_model(f"program:{sys.executable} hello.py", num_ctx=4096)
    assert (model.name, model.num_ctx) == (f"{sys.executable} hello.py", 4096)
    assert azent.Agent(model).ask("Say hello.").text.strip() == "Hello from a program."


@pytest.mark.usefixtures("page")
def test_the_model_of_the_page_answers_at_the_command_line() -> None:
    assert 'azent ask "Say hello." -m "program:python hello.py"' in BLOCKS["sh"]
    address = f"program:{sys.executable} hello.py"
    run = ask("-m", address)
    assert (run.exit_code, run.stdout) == (0, "Hello from a program.\n"), run.stderr
    assert ask(AZENT_MODEL=address, AZENT_HOST="http://box:1").stdout == run.stdout


@pytest.mark.usefixtures("page")
def test_the_model_of_the_page_answers_a_batch(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "1", "question": "Say hello."}\n', "utf-8")
    command = ["batch", "in.jsonl", "-o", "out.jsonl", "-m", f"program:{sys.executable} hello.py"]
    run = CliRunner().invoke(app, [*command, "--no-tools"])
    assert run.exit_code == 0, run.stderr
    (record,) = map(json.loads, (tmp_path / "out.jsonl").read_text("utf-8").splitlines())
    assert "Hello from a program." in json.dumps(record)
    refused = CliRunner().invoke(app, [*command, "--no-tools", "--host", "http://127.0.0.1:9"])
    assert refused.exit_code == UsageError.exit_code


@pytest.mark.usefixtures("page")
def test_the_model_of_the_page_is_served(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), str(tmp_path / "program")])
    address = f"program:{sys.executable} hello.py"
    with running("serve", "-m", address, "--port", "0", PYTHONPATH=path) as (url, _):
        (model,) = httpx.get(f"{url}/v1/models").json()["data"]
        body = {"model": model["id"], "messages": [{"role": "user", "content": "Say hello."}]}
        answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).json()
    assert answer["choices"][0]["message"]["content"].strip() == "Hello from a program."


@pytest.mark.usefixtures("page")
def test_a_model_that_fails_gives_way_to_the_next_profile() -> None:
    profiles = [
        {"model": "program:no-such-program"},
        {"model": f"program:{sys.executable} hello.py", "num_ctx": 2048, "team": "red"},
    ]
    model = open_profiles(profiles_from_json(json.dumps(profiles)))
    assert model.num_ctx == 2048
    assert azent.Agent(model).ask("Say hello.").text.strip() == "Hello from a program."


@pytest.mark.usefixtures("page")
def test_a_setting_that_an_adapter_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match="program models have no setting 'host'") as caught:
        azent.open_model("program:x", host="http://box:1")
    assert caught.value.hint == "It can be: num_ctx."
    with pytest.raises(UsageError, match="name is missing"):
        azent.open_model("program:")


def test_an_adapter_that_takes_any_settings_is_given_them(install: Install) -> None:
    install("anything", SETTINGS, {"anything": "anything:Model"})
    model: Any = azent.open_model("anything:a:b", host="h", temperature=1, verify=None)
    assert (model.name, model.settings) == ("a:b", {"host": "h", "temperature": 1})
    profile = {"model": "anything:m", "api_key": "k", "num_ctx": 5, "team": "red"}
    model = open_profiles(profiles_from_json(json.dumps([profile])))
    assert model.settings == {"api_key": "k", "num_ctx": 5}


@pytest.mark.parametrize(
    ("source", "value", "said"),
    [
        ("", "broken:Missing", "cannot be loaded: AttributeError"),
        ("1 / 0", "broken:Model", "cannot be loaded: ZeroDivisionError"),
        ("", "nowhere:Model", "cannot be loaded: ModuleNotFoundError"),
        ("Model = 5", "broken:Model", "is 5, which cannot be called"),
    ],
)
def test_an_adapter_that_does_not_work_is_an_error_of_the_model(
    install: Install, source: str, value: str, said: str
) -> None:
    install("broken", source, {"broken": value})
    with pytest.raises(ModelError, match=f"the adapter 'broken' {said}"):
        azent.open_model("broken:x")
    assert ask("-m", "broken:x").exit_code == ModelError.exit_code
    assert azent.open_model("qwen3:8b").name == "qwen3:8b"  # others are opened as ever


def test_what_an_adapter_returns_must_be_a_model(install: Install) -> None:
    install("odd", "def odd(rest): return rest", {"odd": "odd:odd"})
    with pytest.raises(UsageError, match="'x' is no model"):
        azent.open_model("odd:x")


def test_two_adapters_of_one_name_are_refused(install: Install) -> None:
    install("first", SETTINGS, {"same": "first:Model"})
    install("second", SETTINGS, {"same": "second:Model"})
    with pytest.raises(UsageError, match="several packages have an adapter 'same'") as caught:
        azent.open_model("same:x")
    assert "first:Model, second:Model" in caught.value.hint


@pytest.mark.parametrize("kind", ["ollama", "gguf", "openai"])
def test_an_adapter_does_not_replace_a_kind_of_azent(install: Install, kind: str) -> None:
    install("thief", SETTINGS, {kind: "thief:Model"})
    assert type(azent.open_model(f"{kind}:http://h/v1#m")).__module__.startswith("azent.models.")


@pytest.mark.usefixtures("page")
def test_a_project_may_not_name_the_model_of_an_adapter(tmp_path: Path) -> None:
    (tmp_path / "azent.toml").write_text('model = "program:rm -r notes"', "utf-8")
    run = ask()
    assert run.exit_code == SettingsError.exit_code
    assert "azent.toml may not set model" in run.stderr
