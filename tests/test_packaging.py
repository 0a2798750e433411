"""What users install works where they install it: as a wheel and as a checkout, from any folder."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ASK = """
import azent
from azent.models import Scripted

def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

call = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
answer = azent.Agent(Scripted(call, "It is 5."), [add]).ask("What is 2 + 3?")
print(azent.__file__)
print(answer.results[0].text, answer.text)
"""


def run(*command: object, folder: Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as a release has it: built from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """The Python of a new environment that has azent's dependencies, and not azent."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env", folder=tmp_path)
    python = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", where, folder=tmp_path).strip())
    # A path file is not read for path files in turn: azent installed for development stays out.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    return python


def install(python: Path, *what: object) -> None:
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    alone = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    run(*pip, *alone, *what, folder=ROOT)


def asked_from_an_empty_folder(python: Path, tmp_path: Path) -> Path:
    """Where the azent lies that answered."""
    empty = tmp_path / "empty"
    empty.mkdir()
    where, said = run(python, "-I", "-c", ASK, folder=empty).splitlines()
    assert said == "5 It is 5."
    assert list(empty.iterdir()) == []
    return Path(where)


def test_the_wheel_carries_what_azent_reads(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    prompts = {f"azent/{path.relative_to(ROOT)}" for path in (ROOT / "prompts").rglob("*.*")}
    assert prompts
    assert prompts <= set(names)
    assert "azent/py.typed" in names
    assert all(name.startswith(("azent/", "azent-")) for name in names)


def test_an_installed_wheel_answers(wheel: Path, environment: Path, tmp_path: Path) -> None:
    install(environment, wheel)
    assert tmp_path in asked_from_an_empty_folder(environment, tmp_path).parents


def test_a_checkout_installed_for_development_answers(environment: Path, tmp_path: Path) -> None:
    install(environment, "--editable", ROOT)
    assert asked_from_an_empty_folder(environment, tmp_path) == ROOT / "azent" / "__init__.py"


def test_the_command_is_installed(wheel: Path, environment: Path, tmp_path: Path) -> None:
    install(environment, wheel)
    assert "azent" in run(environment.with_name("azent"), "--version", folder=tmp_path)
