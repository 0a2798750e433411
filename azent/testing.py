"""A pytest plugin: tests of programs that use azent, without a model.

In conftest.py:

    pytest_plugins = ["azent.testing"]

and in a test:

    def test_sum(recorded):
        agent = azent.Agent(recorded("qwen2.5-coder:1.5b"), [add])
        assert "5" in agent.ask("What is 2 + 3?").text

`pytest --azent-record` asks the model for what is not kept yet, and keeps it in `replies.db` beside
the test's file. Without the option nothing is asked: a request that is not kept fails the test.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from azent.models import Model, open_model
from azent.models.encoder import Kind, Vector, texts_of, unit
from azent.models.recorded import Cached

FILE = "replies.db"
DIMENSIONS = 256
Recorder: TypeAlias = Callable[..., Model]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --azent-record."""
    help_text = "ask models for replies that are not kept yet, and keep them"
    parser.getgroup("azent").addoption("--azent-record", action="store_true", help=help_text)


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Recorder:
    """Opens models, by address or open ones, whose replies are kept beside the test's file."""
    recording: bool = request.config.getoption("--azent-record")
    file = Path(request.path).parent / FILE

    def open_recorded(model: str | Model, **settings: Any) -> Model:
        return Cached(open_model(model, **settings), file, strict=not recording)

    return open_recorded


class WordEncoder:
    """An encoder that needs no model: texts are alike in so far as they have words in common.

    `encoded` are the texts that it was given, in their order.
    """

    name = "words"

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def version(self) -> str:
        """What its vectors are kept under."""
        return "1"

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """A vector for each text, with a place for each of its words."""
        given = texts_of(texts, kind)
        self.encoded += given
        return [_vector_of_words(each) for each in given]


def _vector_of_words(text: str) -> Vector:
    counts = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()) or [""]:
        counts[zlib.crc32(word.encode()) % DIMENSIONS] += 1
    return unit(counts, WordEncoder.name)
