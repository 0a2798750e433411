"""What all tests stand on: a world of their own, and real models for those that ask for them.

Nothing that a test does reaches the user's files, settings or servers, unless it asks for a real
model by the fixture `ollama` or `small_model_file`: these are started and fetched once for all.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from azent import config
from azent.models import weights
from scripts import real_ollama

SMALL_MODEL = "qwen2.5-coder:0.5b"
LARGE_MODEL = "qwen2.5-coder:1.5b"
DEAD_SERVER = "http://127.0.0.1:9"


def pytest_configure() -> None:
    """Let Ctrl-C be heard by what tests start, also where we run in a shell's background.

    And let Hypothesis judge what is done, not how long it takes beside other programs.
    """
    too_slow = [hypothesis.HealthCheck.too_slow]
    patient = {"deadline": None, "suppress_health_check": too_slow}
    hypothesis.settings.register_profile("patient", hypothesis.settings(), **patient)
    hypothesis.settings.load_profile("patient")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("AZENT_", "XDG_", "OLLAMA_"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("OLLAMA_HOST", DEAD_SERVER)


@pytest.fixture(scope="session")
def real_cache() -> Path:
    """The user's own cache folder: for tests that run what was fetched into it."""
    return config.cache_folder()


@pytest.fixture(scope="session")
def ollama() -> Iterator[str]:
    """The URL of a real Ollama server that has SMALL_MODEL: OLLAMA_HOST's, or one of our own."""
    yield from _server_with(SMALL_MODEL)


@pytest.fixture(scope="session")
def large_ollama() -> Iterator[str]:
    """The URL of a real Ollama server that has LARGE_MODEL."""
    yield from _server_with(LARGE_MODEL)


def _server_with(model: str) -> Iterator[str]:
    try:
        with real_ollama.running([model]) as url:
            yield url
    except real_ollama.CannotRun as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def small_model_file() -> Path:
    """The file of SMALL_MODEL, in the user's own cache folder."""
    return weights.model_file(SMALL_MODEL)
