"""The pages about servers, clusters and measuring: their code and commands run, all on loopback.

Machines that a page names are stood in for by servers of the test's own. What serves is started,
and runs until the next server of the page is started, or the page ends.
"""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

import azent
from azent.lab import read_cases
from azent.tools.files import load_tools
from tests.scripted_ollama import ScriptedOllama
from tests.serving import serving
from tests.test_pages import DOCS, MODELS, OF_SERVERS, ROOT, Block, blocks, knowing, world

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell runs the commands")
__all__ = ["world"]  # the folder with the examples
SERVES = re.compile(r"azent (serve|mcp .*--port)")
PLACE = re.compile(r"(?:http://[\d.]+:|port=)(\d+)")  # where a server says that it is
QUESTIONS = '{"id": "q1", "question": "What is 2 + 3?"}\n{"id": "q2", "question": "And 3 + 4?"}\n'
TOOLS = 'def add(a: int, b: int) -> int:\n    """Add two numbers."""\n    return a + b\n'


class Reader:
    """Somebody who does what a page says, block by block."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.folder = folder
        self.module = ModuleType("page")
        self.said = ""
        self._opened = opened
        self._server: subprocess.Popen[str] | None = None

    def follow(self, block: Block) -> None:
        match block.language:
            case "python" if "azent.serve import" in block.text:
                self._serve([sys.executable, "-c", block.text], block.text)
            case "python":
                exec(compile(block.text, str(block.page), "exec"), vars(self.module))
            case "sh":
                self._run(block.text)
            case "console":
                self._talk(block.text)

    def _talk(self, text: str) -> None:
        """Type the lines behind a `$`, and look for what is said to be the answer."""
        for line in text.splitlines():
            if not line.startswith("$ "):
                assert line in self.said, f"{line!r} is not in {self.said!r}"
            elif SERVES.search(line):
                port = [] if "--port" in line else ["--port", "0"]
                self._serve([*shlex.split(line[2:]), *port])
            else:
                self._run(line[2:])

    def _run(self, script: str) -> None:
        (self.folder / "answers.jsonl").unlink(missing_ok=True)  # so that each batch has work
        run = subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{script}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert run.returncode == 0, f"{script}\n{run.stderr}"
        assert "Traceback" not in run.stderr

    def _serve(self, words: list[str], told: str = "") -> None:
        """Start what serves, once the server before it has ended, and wait until it listens.

        It says on which port, unless that is `told`.
        """
        self.stop()
        log = self._opened.enter_context((self.folder / "server.log").open("w+"))
        self._server = subprocess.Popen(words, stdout=log, stderr=log, text=True)
        for _ in range(600):
            self.said = (self.folder / "server.log").read_text("utf-8")
            if (place := PLACE.search(told + self.said)) and _listens(int(place[1])):
                return
            assert self._server.poll() is None, self.said
            time.sleep(0.1)
        pytest.fail(f"it does not serve: {self.said}")

    def stop(self) -> None:
        """End the server that was started last; it ends as it should."""
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            assert self._server.wait(60) in (0, -signal.SIGTERM)
            self._server = None


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> str:
    with socket.socket() as any_free:
        any_free.bind(("127.0.0.1", 0))
        return str(any_free.getsockname()[1])


@pytest.fixture
def elsewhere(world: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """What pages call the machines of others, and what stands in for them."""
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    commands = world.parent / "bin"
    stand_ins = {"uvx": f'"{sys.executable}" -m azent mcp -t examples/weather.py', "vllm": "true"}
    for name, does in stand_ins.items():
        (commands / name).write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec {does}\n")
        (commands / name).chmod(0o755)
    cluster = distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp://", dashboard_address=":0"
    )
    with (
        ScriptedOllama(knowing, decides=False, models=(*MODELS, "qwen2.5-coder:0.5b")) as ollama,
        cluster,
    ):
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        model = azent.open_model("qwen3:8b", host=ollama.url)
        names = ("qwen", "qwen3", "Qwen/Qwen2.5-7B-Instruct")
        with serving(dict.fromkeys(names, model)) as url:
            yield {
                "http://a:11434": ollama.url,
                "http://b:11434": ollama.url,
                "tcp://scheduler:8786": cluster.scheduler_address,
                "http://box:8000": url,
                "http://gpu1:8000": url,
                "--port 8000": f"--port {_free_port()}",
                "11435": _free_port(),
            }


def _prepare(folder: Path) -> None:
    """The files of his own that a reader of the pages has."""
    for name in ("questions.jsonl", "sample.jsonl"):
        (folder / name).write_text(QUESTIONS, "utf-8")
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "token.txt").write_text("a-secret", "utf-8")
    block, loose = [b for b in blocks(DOCS / "evaluating.md") if b.language == "json"]
    asked = "".join(
        f'{{"question": "Is it warm in {city}?", "calls": [], "category": "none"}}\n'
        for city in ("Rome", "Oslo", "Lima", "Bonn", "Kyiv", "Graz")
    )
    (folder / "cases.jsonl").write_text(block.text + asked, "utf-8")
    (folder / "home.jsonl").write_text(loose.text, "utf-8")
    shutil.copy(DOCS.parent / "tests" / "cases" / "everyday_tools.json", folder / "home_tools.json")
    run = ["azent", "prompts", "new", "mine"]
    subprocess.run(run, check=True, capture_output=True)


@pytest.mark.parametrize("page", OF_SERVERS, ids=lambda page: page.stem)
def test_a_page_about_servers_is_followed(
    page: Path,
    world: Path,
    elsewhere: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _prepare(world)
    with ExitStack() as opened:
        reader = Reader(world, opened)
        opened.callback(reader.stop)
        monkeypatch.setitem(sys.modules, "page", reader.module)
        for block in blocks(page):
            text = block.text
            for place, stand_in in elsewhere.items():
                text = text.replace(place, stand_in)
            reader.follow(Block(page, block.language, text))


def test_the_cases_of_the_page_are_cases(world: Path) -> None:
    _prepare(world)
    cases = read_cases(Path("cases.jsonl"), load_tools("examples/weather.py"))
    assert [case.due for case in cases][:3] == [2, 0, None]
    assert [case.due for case in read_cases(Path("home.jsonl"))] == [1, 1, 0]
