"""Every error of azent, reached from the command line: what is said, and how the command ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import azent
from azent import errors
from azent.cli import app
from azent.errors import AzentError
from tests.scripted_ollama import Fail, Item, Lines, Say, ScriptedOllama
from tests.serving import serving

FILES = {
    "same.py": "def f(a: int) -> int:\n    'One.'\n    return a\n__all__ = ['f', 'f']\n",
    "broken.py": "1 / 0\n",
    "empty.py": "",
    "refuses.py": "import azent\ndef f() -> str:\n    'F.'\n    raise azent.ToolFailed('not so')\n",
    "long.py": f"def f() -> str:\n    '''{'Many words. ' * 400}'''\n    return ''\n",
    "cases.jsonl": "not JSON\n",
    "store.db": "not a database, and longer than its head would be" * 4,
    "bad.toml": "rounds = 'many'",
    "badset/set.toml": "colour = 3\n",
    "slow.json": '[{"model": "scripted", "reply_timeout": 0.2, "retries": 0}]',
}


@dataclass(frozen=True)
class Way:
    """A command that ends in an error, and what the server that it asks does."""

    error: type[AzentError]
    arguments: Sequence[str]
    said: str
    script: Item | None = None  # None: no server at all


ASK = ("ask", "Hi", "-m", "scripted", "--no-tools")
MCP = f"--mcp={sys.executable} -c 1/0"
WAYS = [
    Way(errors.UsageError, ["ask", "  "], "there is no question"),
    Way(errors.UsageError, [*ASK, "-t", "same.py"], "--tools and --no-tools cannot go together"),
    Way(errors.UsageError, [*ASK[:4], "--choice", "dance"], "choice is 'dance'"),
    Way(errors.SettingsError, ["ask", "Hi", "--profile", "x"], "no profile matches"),
    Way(errors.SchemaError, ["ask", "Hi", "-m", "scripted", "-t", "same.py"], "f"),
    Way(errors.SchemaError, ["tools", "call", "refuses.py", "g"], "has no function 'g'"),
    Way(errors.ToolsFileError, ["tools", "list", "broken.py"], "broken.py does not import"),
    Way(errors.ToolsFileError, ["tools", "list", "empty.py"], "no functions to offer"),
    Way(errors.ToolsFileError, ["tools", "list", "none.py"], "there is no file none.py"),
    Way(errors.ToolServerError, [*ASK, MCP], "does not"),
    Way(errors.PromptError, [*ASK, "-p", "nowhere"], "nowhere"),
    Way(errors.PromptError, [*ASK, "-p", "./badset"], "set.toml"),
    Way(errors.CasesError, ["eval", "cases.jsonl", "-m", "scripted"], "cases.jsonl"),
    Way(errors.SessionError, ["sessions", "show", "none"], "there is no conversation 'none'"),
    Way(errors.SessionError, [*ASK, "-s", "x", "--store", "store.db"], "store.db"),
    Way(errors.ContextTooSmall, ["ask", "Hi", "-m", "scripted", "-t", "long.py"], "256", ""),
    Way(errors.BadReply, ["ask", "Hi", "-m", "scripted"], "no usable reply", ""),
    Way(errors.ModelError, ["ask", "Hi", "-m", "gguf:cases.jsonl"], "cannot be loaded"),
    Way(errors.ModelUnreachable, ASK, "cannot reach Ollama"),
    Way(errors.ModelUnreachable, ["models", "pull", "m"], "no Ollama answers"),
    Way(errors.ModelNotFound, ["models", "pull", "gguf:qwen2.5-coder:0.5b"], "AZENT_OFFLINE"),
    Way(errors.ModelNotFound, ["ask", "Hi", "-m", "gguf:none.gguf"], "there is no model file"),
    Way(errors.ModelNotFound, ASK, "has no model 'scripted'", Fail(404, "model not found")),
    Way(errors.ModelRefused, ASK, "invalid options", Fail(400, "invalid options")),
    Way(errors.ModelTimeout, ["ask", "Hi", "--no-tools"], "in time", Say("late", before=5)),
    Way(errors.NotRecorded, [*ASK, "--replay", "replies.db"], "no reply of scripted is kept"),
    Way(errors.ReplyBroken, ASK, "broke off", Say("half", ends=False)),
    Way(errors.ReplyBroken, ASK, "broke off", Lines(["<html>"])),
]
# Heard by models, by clients, and by whoever makes a warning of it.
ELSEWHERE = {errors.ToolFailed, errors.RequestRefused, errors.EncoderFailed}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, "utf-8")


@pytest.fixture
def run() -> Callable[[Way], Any]:
    def invoke(way: Way) -> Any:
        env = {"AZENT_OFFLINE": "1", "AZENT_PROFILES": "slow.json"}
        if way.error is errors.ContextTooSmall:
            env["AZENT_NUM_CTX"] = "256"
        if way.script is None:
            return CliRunner(env=env).invoke(app, list(way.arguments))
        with ScriptedOllama(way.script) as server:
            env["OLLAMA_HOST"] = server.url
            return CliRunner(env=env).invoke(app, list(way.arguments))

    return invoke


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.error.__name__}: {way.said}")
def test_a_command_ends_in_words(way: Way, run: Callable[[Way], Any]) -> None:
    ended = run(way)
    assert ended.exit_code == way.error.exit_code, ended.stderr
    *_, said, hint = ended.stderr.splitlines()
    assert said.startswith("azent: ")
    assert way.said in said
    assert hint, "what is there to do about it?"
    assert ended.stdout == ""


def test_every_error_is_reached() -> None:
    def below(error: type[AzentError]) -> set[type[AzentError]]:
        return {error}.union(*(below(each) for each in error.__subclasses__()))

    own = {each for each in below(AzentError) if each.__module__ == errors.__name__}
    assert own - {AzentError} == {way.error for way in WAYS} | ELSEWHERE


def test_exit_codes_tell_errors_apart() -> None:
    codes = {way.error.exit_code for way in WAYS}
    assert codes == {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}
    readme = (Path(azent.__file__).parent.parent / "README.md").read_text("utf-8")
    assert all(f"| {code} |" in readme for code in codes)


def test_what_a_tool_says_fails_a_call_by_hand() -> None:
    ended = CliRunner().invoke(app, ["tools", "call", "refuses.py", "f"])
    assert (ended.exit_code, ended.stderr) == (1, "azent: not so\n")
    as_json = CliRunner().invoke(app, ["tools", "call", "refuses.py", "f", "--json"])
    assert json.loads(as_json.stdout)["text"] == "not so"


def test_what_a_client_may_not_ask_has_a_status() -> None:
    with serving({"m": azent.Scripted()}) as url:
        answer = httpx.post(f"{url}/v1/chat/completions", json={"model": "none"}, timeout=20)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["message"]
