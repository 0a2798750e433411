"""The embedded model, with a real one: what it streams, what it is held to, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from azent.errors import ModelError, ModelNotFound, ModelRefused, ModelTimeout
from azent.messages import ChatMessage, Delta, End, Request
from azent.models import prefix_cache
from azent.models.embedded import Embedded
from azent.parsing.decoding_schema import mask_pattern

pytestmark = pytest.mark.model
pytest.importorskip("xllamacpp", reason="the extra `embedded` is not installed")


@pytest.fixture(scope="module")
def model(small_model_file: Path) -> Iterator[Embedded]:
    model = Embedded(small_model_file, num_ctx=1024, options={"num_predict": 40})
    yield model
    model.close()


def user(text: str) -> tuple[ChatMessage, ...]:
    return ({"role": "user", "content": text},)


def reply(model: Embedded, text: str, **settings: Any) -> tuple[str, End]:
    *deltas, end = model.stream(Request(user(text), **settings))
    assert isinstance(end, End)
    assert all(isinstance(delta, Delta) for delta in deltas)
    return "".join(delta.text for delta in deltas if isinstance(delta, Delta)), end


def test_streams_a_reply_and_counts_it(model: Embedded) -> None:
    pieces = list(model.stream(Request(user("What is the capital of France?"))))
    text = "".join(piece.text for piece in pieces if isinstance(piece, Delta))
    end = pieces[-1]
    assert isinstance(end, End)
    assert "Paris" in text
    assert len(pieces) > 3
    assert end.done_reason == "stop"
    assert end.usage.requests == 1
    assert end.usage.prompt_tokens > 10
    assert end.usage.reply_tokens >= len(pieces) - 1
    assert end.usage.seconds > 0


def test_the_whole_conversation_is_read(model: Embedded) -> None:
    messages = (
        {"role": "system", "content": "Reply with one word."},
        *user("My name is Zebulon."),
        {"role": "assistant", "content": "Hello."},
        *user("What is my name?"),
    )
    pieces = list(model.stream(Request(messages)))
    assert "Zebulon" in "".join(piece.text for piece in pieces if isinstance(piece, Delta))


def object_of(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        object_of(a={"type": "integer"}, b={"type": "integer"}),
        object_of(color={"enum": ["red", "green"]}, when={"type": "string", "format": "date"}),
        object_of(tools={"type": "array", "items": object_of(tool={"enum": ["add"]})}),
        # Keywords that its grammar does not know must not switch it off.
        object_of(words={"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        object_of(a={"type": "integer", "title": "A", "default": 1, "not": {"const": 0}}),
        # Texts in the form of the mask in a description.
        object_of(
            day={"type": "string", "pattern": mask_pattern({"description": "as YYYY-MM-DD"})},
            hour={"type": "string", "pattern": mask_pattern({"description": "HH:MM"})},
        ),
    ],
    ids=json.dumps,
)
def test_is_held_to_a_schema(model: Embedded, schema: dict[str, Any]) -> None:
    text, end = reply(model, "Write a short poem about rain.", format=schema)
    assert "\n" not in text
    if end.done_reason == "stop":
        jsonschema.validate(json.loads(text), schema)
    assert text.startswith("{")


def test_a_cap_ends_the_reply_and_says_so(small_model_file: Path) -> None:
    model = Embedded(small_model_file, num_ctx=512, options={"num_predict": 5})
    text, end = reply(model, "Count from one to one hundred.")
    model.close()
    assert (end.done_reason, end.usage.reply_tokens) == ("length", 5)
    assert text


def test_the_same_request_gives_the_same_reply(model: Embedded) -> None:
    first, again = (reply(model, "Name three colours.")[0] for _ in range(2))
    assert first == again


def test_closing_stops_the_model(model: Embedded) -> None:
    stream = model.stream(Request(user("Count from one to one thousand.")))
    first = next(stream)
    assert isinstance(first, Delta)
    stream.close()  # type: ignore[attr-defined]  # a generator, behind the Protocol's Iterator
    assert "writer" not in [thread.name for thread in threading.enumerate()]
    assert reply(model, "Say yes.")[1].done_reason == "stop"


def test_a_program_can_end_in_mid_reply(small_model_file: Path) -> None:
    code = (
        "import sys; from azent.messages import Request; from azent.models.embedded import Embedded"
        "\nmodel = Embedded(sys.argv[1], options={'num_predict': 100_000}, num_ctx=32_000)"
        "\ncount = {'role': 'user', 'content': 'Write the numbers from 1 to 100000.'}"
        "\nreply = model.stream(Request((count,))); print(next(reply).text)"
    )
    command = [sys.executable, "-c", code, str(small_model_file)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout
    assert run.stderr == ""


def test_replies_asked_for_at_once_come_one_by_one(model: Embedded) -> None:
    ends: list[str] = []

    def ask(word: str) -> None:
        ends.append(reply(model, f"Say {word}.")[1].done_reason)

    threads = [threading.Thread(target=ask, args=(word,)) for word in ("yes", "no", "maybe")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == ["stop"] * 3


def test_a_time_limit_ends_the_reply(model: Embedded) -> None:
    with pytest.raises(ModelTimeout):
        reply(model, "Count from one to one thousand.", timeout=0.2)
    assert reply(model, "Say yes.")[1].done_reason == "stop"


def test_a_time_limit_holds_while_the_model_is_busy(model: Embedded) -> None:
    busy = model.stream(Request(user("Count from one to one thousand.")))
    next(busy)
    began = time.monotonic()
    with pytest.raises(ModelTimeout, match="busy"):
        reply(model, "Say yes.", timeout=0.1)
    assert time.monotonic() - began < 30
    busy.close()  # type: ignore[attr-defined]  # a generator, behind the Protocol's Iterator


def test_a_request_larger_than_the_context_is_refused(model: Embedded) -> None:
    with pytest.raises(ModelRefused, match="1024") as caught:
        reply(model, "word " * 2000)
    assert caught.value.status == 400
    assert "num_ctx" in caught.value.hint


def test_a_request_that_its_template_refuses(model: Embedded) -> None:
    with pytest.raises(ModelRefused):
        list(model.stream(Request(({"role": "user"},))))
    assert reply(model, "Say yes.")[1].done_reason == "stop"


def test_is_quiet(small_model_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = Embedded(small_model_file, num_ctx=512)
    reply(model, "Say yes.")
    with pytest.raises(ModelRefused):
        reply(model, "word " * 1000)
    model.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF\x03\x00\x00\x00" + b"\xff" * 100, b"<p>"])
def test_a_broken_file(tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"broken\.gguf cannot be loaded"):
        reply(Embedded(path), "Hello")
    assert capfd.readouterr() == ("", "")


def test_has_no_tool_calling_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="no tool calling"):
        list(Embedded(tmp_path / "none.gguf").stream(Request(user("Hi"), tools=({"name": "f"},))))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"none\.gguf"):
        reply(Embedded(tmp_path / "none.gguf"), "Hello")


# ---- system texts kept on disk -------------------------------------------------------------------

LONG = "You answer questions on trains. " * 20


def cached_tokens(file: Path, system: str, question: str) -> int:
    """The tokens that a model which was just loaded need not read."""
    model = Embedded(file, num_ctx=1024, options={"num_predict": 2})
    *_, end = model.stream(Request(({"role": "system", "content": system}, *user(question))))
    model.close()
    assert isinstance(end, End)
    return end.usage.cached_tokens


def test_a_system_text_is_read_once_for_all_runs(
    small_model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZENT_CACHE", str(tmp_path))
    folder = tmp_path / "prefixes"
    cached_tokens(small_model_file, LONG, "Which one is fast?")
    (kept,) = folder.glob("*.bin")
    assert cached_tokens(small_model_file, LONG, "Which one is slow?") > 100
    assert cached_tokens(small_model_file, LONG.replace("trains", "ships"), "Which?") < 150
    assert len(list(folder.glob("*.bin"))) == 2
    kept.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])
    assert cached_tokens(small_model_file, LONG, "And this?") > 0, "a damaged file costs only time"
    kept.with_suffix(prefix_cache.DIGEST).write_bytes(b"\xff")
    assert cached_tokens(small_model_file, LONG, "And that?") > 0, "nor does a damaged hash"
    assert folder.stat().st_mode & 0o077 == 0


def test_short_texts_and_questions_are_not_kept(
    small_model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZENT_CACHE", str(tmp_path))
    cached_tokens(small_model_file, "Be brief.", LONG)
    assert not list((tmp_path / "prefixes").glob("*.bin"))


def test_the_files_used_longest_ago_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix_cache, "MOST_BYTES", 250)
    for age, name in enumerate(("new", "middle", "old")):
        file = tmp_path / f"{name}.bin"
        file.write_bytes(b"x" * 100)
        os.utime(file, (1000 - age, 1000 - age))
    prefix_cache.PrefixCache(tmp_path, tmp_path, 1024, "", "").drop_oldest()
    assert {file.stem for file in tmp_path.iterdir()} == {"new", "middle"}
