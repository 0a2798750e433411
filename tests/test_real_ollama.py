"""The real Ollama of the tests: how it starts, how it ends, and what it says where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from scripts import real_ollama

SCRIPT = real_ollama.__file__


def script(*words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "PATH": path or os.environ["PATH"]}
    command = [sys.executable, SCRIPT, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/version", trust_env=False).is_success
    except httpx.HTTPError:
        return False


@pytest.mark.model
def test_the_server_has_the_model_with_its_own_template(ollama: str) -> None:
    about = httpx.post(f"{ollama}/api/show", json={"model": "qwen2.5-coder:0.5b"}, trust_env=False)
    assert "tools" in about.json()["capabilities"]


@pytest.mark.model
def test_a_server_that_is_named_is_used(ollama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama.removeprefix("http://"))
    show = [sys.executable, "-c", "import os; print(os.environ['OLLAMA_HOST'])"]
    assert script("run", "--", *show).stdout.strip() == ollama


@pytest.mark.model
def test_run_hands_on_the_exit_code(ollama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama)
    assert script("run", "--", sys.executable, "-c", "raise SystemExit(7)").returncode == 7


@pytest.fixture
def own_server(real_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that start servers of their own find what is installed; OLLAMA_HOST names none."""
    monkeypatch.setenv("AZENT_CACHE", str(real_cache))


@pytest.mark.model
def test_an_own_server_goes_with_its_block(ollama: str, own_server: None) -> None:
    with real_ollama.running([]) as url:
        assert answers(url)
        assert url != ollama
    assert not answers(url)


@pytest.mark.model
def test_an_own_server_goes_with_a_parent_that_is_killed(ollama: str, own_server: None) -> None:
    code = (
        "import time; from scripts import real_ollama\n"
        "with real_ollama.running([]) as url: print(url, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert answers(url)
        parent.kill()
    deadline = time.monotonic() + 20
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not answers(url)


def test_says_in_words_that_a_compiler_is_missing(tmp_path: Path) -> None:
    run = script("install", path=str(tmp_path))
    assert run.returncode == 1
    assert "gcc" in run.stderr
    assert "OLLAMA_HOST" in run.stderr
    assert "Traceback" not in run.stderr


def test_fetches_nothing_when_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_OFFLINE", "1")
    run = script("run", "--", "true")
    assert run.returncode == 1
    assert "AZENT_OFFLINE" in run.stderr


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("gcc"), reason="needs gcc on Linux")
def test_a_library_bound_to_itself_calls_its_own_function(tmp_path: Path) -> None:
    other = compiled(tmp_path / "other.so", "int answer(void) { return 1; }")
    source = "int answer(void) { return 2; } int ask(void) { return answer(); }"
    plain = compiled(tmp_path / "plain.so", source)
    bound = tmp_path / "bound.so"
    bound.write_bytes(real_ollama.bound_to_itself(plain.read_bytes()))
    code = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
        "print(*(ctypes.CDLL(path).ask() for path in sys.argv[2:]))"
    )
    command = [sys.executable, "-c", code, *map(str, (other, plain, bound))]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "2"]


def compiled(library: Path, source: str) -> Path:
    command = ["gcc", "-shared", "-fPIC", "-xc", "-", "-o", str(library)]
    subprocess.run(command, input=source, text=True, check=True)
    return library
