"""The README and the guides: their code and their commands run, on a server with a script."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from azent.cli import COMMANDS
from azent.errors import AzentError
from azent.prompt import PromptSet, SelectionRules
from azent.prompt.sets import BLANKS
from azent.prompt.value import NO_SETTINGS
from azent.tools.tool import Options
from scripts import picture
from tests.scripted_ollama import NO_TOOL, ScriptedOllama

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GUIDES = ("agents", "command-line", "models", "prompts", "safety", "tools")
PAGES = [
    ROOT / "README.md",
    *(DOCS / f"{name}.md" for name in GUIDES),
]
CONVERSATIONS = DOCS / "conversations.md"  # whose code has a test of its own
ADAPTERS = DOCS / "adapters.md"  # the same: tests/test_adapters.py
# These need servers, clusters and files: tests/test_server_pages.py follows them.
OF_SERVERS = [DOCS / f"{name}.md" for name in ("evaluating", "scaling", "serving")]
NOT_RUN = {
    "./scripts/test": "it runs this test",
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
MODELS = ("qwen2.5-coder:1.5b", "qwen3:8b", "scripted:latest")
RULES = {  # what the model calls, by a word of the question and a function that it is offered
    ("2123", "calculate"): '{"expression": "(2123 + 2321) * 312"}',
    ("2123", "add"): '{"a": 2123, "b": 2321}',
    ("17 * 23", "calculate"): '{"expression": "17 * 23"}',
    ("Oslo or in Rome", "temperature"): '{"city": "Oslo"}',
    ("123.45", "ask_clerk"): '{"question": "How much is 123.45 USD in EUR?"}',
    ("London", "get_weather"): '{"location": "London, UK"}',
    ("123.45", "currency_calculator"): '{"base_amount": 123.45}',
    ("double room", "find_room"): '{"beds": 2}',
    ("passwd", "delete"): '{"path": "/etc/passwd"}',
    ("order", "my_orders"): "{}",
    ("450", "simulate"): '{"speed": 450}',
}


@dataclass(frozen=True)
class Block:
    page: Path
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(page, *found) for found in BLOCK.findall(page.read_text("utf-8"))]


def commands_of(block: Block) -> list[str]:
    """What is to be typed into a shell; on a console, behind a `$`."""
    lines = block.text.splitlines() if block.language in ("sh", "console") else []
    typed = [line[2:] for line in lines if line.startswith("$ ")]
    return typed if block.language == "console" else lines


def knowing(body: dict[str, Any]) -> str:
    """What a good model says: the call that the question is about, then words."""
    text = "\n".join(message["content"] for message in body["messages"])
    if not body.get("format"):
        return "Here is the answer."
    if '"result"' in body["messages"][-1]["content"]:
        return NO_TOOL
    for (word, function), given in RULES.items():
        if word in text and function in text:
            return f'{{"tools": [{{"tool": "{function}", "tool_input": {given}}}]}}'
    return NO_TOOL


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the examples, a server, and azent as a command."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, command in {"azent": f'"{sys.executable}" -m azent', "pip": "true"}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (commands / name).chmod(0o755)
    folder = tmp_path / "work"
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "tests" / "cases").mkdir(parents=True)
    for file in (ROOT / "tests" / "cases").glob("everyday*"):
        shutil.copy(file, folder / "tests" / "cases")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with ScriptedOllama(knowing, decides=False, models=MODELS) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(
    page: Path, world: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where pickle looks its functions up
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.text, str(page), "exec", dont_inherit=True), vars(module))
    assert capfd.readouterr().out or "```python" not in page.read_text("utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
@pytest.mark.parametrize("page", [*PAGES, CONVERSATIONS], ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, world: Path) -> None:
    for block in blocks(page):
        lines = [line for line in commands_of(block) if line not in NOT_RUN]
        if lines:
            script = "set -euo pipefail\n" + "\n".join(lines)
            run = subprocess.run(
                ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=240
            )
            assert run.returncode == 0, f"{block.text}\n{run.stderr}"
            assert "Traceback" not in run.stderr


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.glob("*.md")], ids=lambda p: p.stem)
def test_the_data_of_a_page_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            one_each_line = "\n{" in block.text and not block.text.startswith("[")
            for text in block.text.splitlines() if one_each_line else [block.text]:
                json.loads(text)


def test_no_page_is_left_out() -> None:
    for page in DOCS.glob("*.md"):
        languages = {block.language for block in blocks(page)}
        assert languages <= {"python", "sh", "json", "toml", "console", "text"}
        if page not in [*PAGES, *OF_SERVERS, CONVERSATIONS, ADAPTERS]:
            assert not languages & {"python", "sh", "console"}, f"{page.name} is run by no test"


def test_every_command_is_on_a_page() -> None:
    said = "".join(page.read_text("utf-8") for page in [ROOT / "README.md", *DOCS.glob("*.md")])
    assert [name for name in COMMANDS if f"azent {name}" not in said] == []


def test_the_messages_to_be_looked_up_are_those_of_the_source() -> None:
    """Each message's fixed words stand somewhere in azent, but for what is filled in between."""
    files = (ROOT / "azent").rglob("*.py")
    source = re.sub(r'"\s*\n\s*f?"', "", "\n".join(file.read_text("utf-8") for file in files))
    page = (DOCS / "troubleshooting.md").read_text("utf-8")
    cells = re.findall(r"^\| (`.*?`) \| ", page, re.MULTILINE)
    assert len(cells) > 15
    for message in re.findall(r"`([^`]+)`", "".join(cells)):
        for words in filter(None, map(str.strip, message.split("..."))):
            assert words in source, message


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_part_of_a_prompt_set_is_on_its_page() -> None:
    page = (DOCS / "prompts.md").read_text("utf-8")
    words = [f"{name}.txt" for name in BLANKS]
    elsewhere = (*NO_SETTINGS, "selection")
    words += [each.name for each in fields(PromptSet) if each.name not in elsewhere]
    assert [word for word in words if f"`{word}`" not in page and f"`[[{word}]]`" not in page] == []
    rules = [f"| `{each.name}` | `{json.dumps(each.default)}` |" for each in fields(SelectionRules)]
    assert [rule for rule in rules if rule not in page] == []


def test_every_option_of_a_tool_is_on_a_page() -> None:
    page = (DOCS / "agents.md").read_text("utf-8")
    assert [each.name for each in fields(Options) if f"`{each.name}`" not in page] == []


def test_every_error_that_ends_a_command_is_in_the_readme() -> None:
    def below(error: type[AzentError]) -> Iterator[type[AzentError]]:
        yield error
        for each in error.__subclasses__():
            yield from below(each)

    readme = (ROOT / "README.md").read_text("utf-8")
    codes = {e.exit_code for e in below(AzentError) if e.__module__ == "azent.errors"} - {1}
    assert [code for code in sorted(codes) if f"| {code} |" not in readme] == []


def test_the_picture_is_up_to_date() -> None:
    def words(svg: str) -> list[str]:
        return re.findall(r">([^<>]+)</text>", svg)

    assert words(picture.drawn()) == words(picture.PICTURE.read_text("utf-8"))


@pytest.mark.slow
def test_the_site_is_built(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    reference = (tmp_path / "reference" / "index.html").read_text("utf-8")
    assert 'id="azent.Agent.ask"' in reference
