"""The prompt set for a model is chosen by the size that its server or its file tells."""

from __future__ import annotations

import asyncio
import json
import re
import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import azent
from azent import prompt
from azent.batch.workers import asking
from azent.cli import app, doctor
from azent.errors import ModelUnreachable, PromptError
from azent.models import parameters_of, weights
from azent.models.embedded import Embedded
from azent.models.fallback import Fallback
from azent.models.recorded import Cached, Recorded, Scripted
from azent.models.size import billions_in, billions_listed, parameter_count
from azent.prompt.choice import prompts_for
from tests.scripted_ollama import Fail, ScriptedOllama
from tests.scripted_openai import Answer, ScriptedOpenAI, fails, says

MILLION = 1_000_000
NO_CALL = '{"tools": []}'
DEAD = "http://127.0.0.1:9"
NUMBERS = count()


def own_name() -> str:
    """A name that tells nothing, and that no other test has: sizes are remembered."""
    return f"house-model-{next(NUMBERS)}"


def set_for(model: Any) -> str:
    return prompts_for(azent.open_model(model)).name


# ---- which set a size gets -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("billions", "name"),
    [
        (0.135, "small"),
        (0.268, "small"),  # gemma3:270m
        (0.63, "small"),  # qwen2.5-coder:0.5b
        (0.94, "small"),
        (0.95, "medium"),
        (1.0, "medium"),  # gemma3:1b, which counts 0.99988
        (1.1, "medium"),  # tinyllama
        (1.777, "medium"),  # qwen2.5-coder:1.5b
        (2.99, "medium"),
        (3.0, "default"),
        (8.0, "default"),
        (671.0, "default"),
        (None, "default"),
        (float("nan"), "default"),
    ],
)
def test_a_size_gets_its_set(billions: float | None, name: str) -> None:
    assert prompt.load(None, "house-model", billions).name == name


@pytest.mark.parametrize("name", ["qwen2.5-coder:0.5b", "gemma3:1b", "m-360m-instruct", "x:2b"])
def test_a_name_is_no_evidence_of_a_size(name: str) -> None:
    assert prompt.load(None, name).name == "default"


def user_set(name: str, settings: str) -> None:
    folder = Path("prompts", name)
    folder.mkdir(parents=True)
    for file in prompt.folders()["default"].glob("*.txt"):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "set.toml").write_text(settings)


@pytest.mark.parametrize(
    ("sets", "name"),
    [
        ({"mine": 'models = ["house*"]'}, "mine"),
        ({"mine": 'models = ["other*"]'}, "small"),
        ({"mine": "sizes = [0.1, 0.6]"}, "mine"),
        ({"mine": "sizes = [0.6, inf]"}, "small"),
        ({"a": "sizes = [0, 9]", "b": 'models = ["house*"]'}, "b"),
        ({"small": "held = true"}, "default"),  # it takes the place of azent's own
        ({"small": "sizes = [0]"}, "small"),  # it is broken
        ({"small": 'models = ["house*"]\ndecide = ["choose"]'}, "small"),  # it is broken too
        ({"mine": "sizes = []"}, "small"),
    ],
)
def test_sets_of_the_user_come_first_and_names_before_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sets: dict[str, str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for each, settings in sets.items():
        user_set(each, settings)
    assert prompt.load(None, "house-model", 0.5).name == name


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sizes = [1.0]", "must be two numbers, the smaller one first"),
        ("sizes = [1, 2, 3]", "must be two numbers, the smaller one first"),
        ("sizes = [3.0, 1.0]", "must be two numbers, the smaller one first"),
        ("sizes = [1, 1]", "must be two numbers, the smaller one first"),
        ("sizes = 1.0", "must be a list"),
        ('sizes = ["0.5b", "1b"]', "must be a number, 0 or more"),
        ("sizes = [-1, 1]", "must be a number, 0 or more"),
        ("sizes = [0, nan]", "must be a number, 0 or more"),
        ("sizes = [true, 3]", "must be a number, 0 or more"),
        (f"sizes = [0, 1{'0' * 400}]", "must be a number, 0 or more"),
    ],
)
def test_sizes_that_make_no_sense_are_named(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "set.toml"
    file.write_text(f"# mine\nlanguage = 'en'\n{line}\n")
    with pytest.raises(PromptError, match=rf"set\.toml:3: sizes .*{said}"):
        prompt.read_settings(file)


@given(st.floats(0, 1e6), st.floats(0.001, float("inf")))
def test_sizes_are_written_as_they_are_read(
    tmp_path_factory: pytest.TempPathFactory, low: float, more: float
) -> None:
    own = prompt.load("small")
    sizes = (low, low + more)
    file = tmp_path_factory.mktemp("set") / "set.toml"
    written = prompt.PromptSet(own.name, own.texts, sizes=sizes, models=("a*", '"'))
    file.write_text(prompt.files_of(written)["set.toml"], "utf-8")
    back = prompt.read_settings(file)
    assert (back["sizes"], back["models"]) == (sizes, ("a*", '"'))


# ---- what tells a size ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "billions"),
    [
        ("630.17M", 0.63017),
        ("268.10M", 0.2681),
        ("1.8B", 1.8),
        ("1B", 1.0),
        ("8x7B", 56.0),
        ("1.04T", 1040.0),
        ("137 m", 0.137),
        ("", None),
        ("7", None),
        ("large", None),
        ("1.5bits", None),
        ("-1B", None),
        ("0M", None),
        ("9" * 1000 + "B", None),
        (None, None),
        (7, None),
    ],
)
def test_a_size_in_words_is_read(text: object, billions: float | None) -> None:
    assert billions_in(text) == (None if billions is None else pytest.approx(billions))


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ({"details": {"parameter_size": "630.17M"}}, "small"),
        ({"model_info": {"general.parameter_count": 268_098_176}}, "small"),
        ({"details": {"parameter_size": "1.8B"}}, "medium"),
        ({"details": {"parameter_size": "8.0B"}}, "default"),
        (
            {
                "details": {"parameter_size": "1B"},
                "model_info": {"general.parameter_count": 940_000_000},
            },
            "small",
        ),
        ({"details": {"parameter_size": ""}}, "default"),
        ({"details": {"parameter_size": "huge"}}, "default"),
        ({"model_info": {"general.parameter_count": "many"}}, "default"),
        ({"model_info": {"general.parameter_count": -5}}, "default"),
        ({"details": None}, "default"),
        ({}, "default"),
    ],
)
def test_an_ollama_server_tells_the_size_and_is_asked_once(
    about: dict[str, Any], name: str
) -> None:
    model = own_name()
    with ScriptedOllama(NO_CALL, about=about) as server:
        for _ in range(3):
            assert set_for(azent.open_model(model, host=server.url)) == name
        assert server.shown == [model]


@pytest.mark.parametrize(
    ("about", "times"),  # None where it does not matter how often
    [
        (Fail(403, "not allowed"), 1),  # it will not tell the next time either
        (Fail(500, "it failed"), 1),
        (Fail(405, b"<html>"), 1),
        (Fail(200, b"[" * 10_000), None),
        (Fail(200, b'{"details": 3}'), 3),
        (Fail(503, "server busy"), 3),  # this may pass
        (Fail(404, "model not found"), 3),  # it may be fetched
    ],
)
def test_a_server_that_does_not_tell_is_no_error(about: Fail, times: int | None) -> None:
    model = own_name()
    with ScriptedOllama(NO_CALL, about=about) as server:
        for _ in range(3):
            assert set_for(azent.open_model(model, host=server.url)) == "default"
        assert times is None or len(server.shown) == times


def test_a_server_that_is_down_fails_at_the_request_alone() -> None:
    model = azent.open_model(own_name(), host=DEAD, retries=0)
    assert parameters_of(model) is None
    with pytest.raises(ModelUnreachable):
        azent.select("Hello", [len], model, encoder=None)


def meta(name: str, parameters: object) -> dict[str, Any]:
    return {"id": name, "object": "model", "meta": {"n_params": parameters}}


@pytest.mark.parametrize(
    ("page", "billions"),
    [
        ({"data": [meta("m", 494_032_768)]}, 0.494032768),
        ({"data": [meta("/models/mine.gguf", 494_032_768)]}, 0.494032768),
        ({"data": [meta("other", 7), meta("m", 1_100_048_384)]}, 1.100048384),
        ({"data": [meta("a", 7), meta("b", 8)]}, None),
        ({"data": [{"id": "m", "object": "model"}]}, None),
        ({"data": [{"id": "m", "meta": None}]}, None),
        ({"data": [meta("m", "many")]}, None),
        ({"data": [3, None, "m"]}, None),
        ({"data": []}, None),
        ({"data": None}, None),
        ([], None),
        ("m", None),
        (None, None),
    ],
)
def test_a_list_of_models_is_read(page: object, billions: float | None) -> None:
    assert billions_listed(page, "m") == billions


@pytest.mark.parametrize(
    ("listed", "name", "times"),
    [
        (Answer([json.dumps({"data": [meta("m", 494 * MILLION)]}).encode()]), "small", 1),
        (Answer([json.dumps({"data": [{"id": "m"}]}).encode()]), "default", 1),
        (Answer([b"<html>"]), "default", None),
        (fails(404, "no /v1/models here"), "default", 1),
        (fails(503, "Loading model"), "default", 3),
        (Answer(hangs_up=True), "default", 3),
    ],
)
def test_a_server_of_openais_protocol_is_asked_once(
    listed: Answer, name: str, times: int | None
) -> None:
    pytest.importorskip("openai")
    with ScriptedOpenAI(says(NO_CALL), listed=listed) as server:
        address = f"openai:{server.url}#{own_name()}"
        assert [set_for(address) for _ in range(3)] == [name] * 3
        assert times is None or server.lists == times


# ---- models around models, and callers -----------------------------------------------------------


def test_models_around_a_model_tell_its_size(tmp_path: Path) -> None:
    small, unknown = Scripted(NO_CALL, billions=0.5), Scripted(NO_CALL)
    file = tmp_path / "replies.db"
    assert parameters_of(Recorded(small, file)) is None  # nothing is kept yet
    assert parameters_of(Cached(small, file)) == 0.5
    assert parameters_of(Recorded(Scripted(), file)) == 0.5
    assert parameters_of(Cached(unknown, tmp_path / "other.db")) is None
    assert not (tmp_path / "other.db").exists()
    (tmp_path / "broken.db").write_bytes(b"no database" * 100)
    assert parameters_of(Cached(small, tmp_path / "broken.db")) is None


def test_of_several_models_the_one_that_answers_tells_its_size() -> None:
    down = azent.open_model(own_name(), host=DEAD, retries=0)
    both = Fallback([down, Scripted("Hello.", billions=0.5)], tell=lambda words: None)
    assert set_for(both) == "small"
    azent.select("Hello", [], both, prompts="default")
    assert set_for(both) == "small"
    assert parameters_of(Fallback([Scripted(), Scripted()])) is None


def test_a_method_of_that_name_may_mean_something_else() -> None:
    class Torch(Scripted):
        def parameters(self) -> Iterator[object]:  # type: ignore[override]
            return iter([object()])

    assert parameters_of(Torch()) is None


def test_every_way_to_ask_chooses_by_the_size() -> None:
    model = own_name()
    with ScriptedOllama(NO_CALL, about={"details": {"parameter_size": "630.17M"}}) as server:
        opened = azent.open_model(model, host=server.url)
        agent = azent.Agent(opened, encoder=None)
        assert agent.terms().prompts.name == "small"
        asyncio.run(agent.aask("Hello"))
        azent.select("Hello", [], opened, encoder=None)
        azent.select("Hello", [], azent.open_model(model, host=server.url), encoder=None)
        azent.select("Hello", [], opened, prompts="article", encoder=None)
    assert server.shown.count(model) <= 2  # for its size, and for its context


def test_a_batch_chooses_the_set_when_its_server_is_there() -> None:
    model = Scripted(ModelUnreachable("it is down"), NO_CALL, "Hi.", NO_CALL, "Hi.")
    ask = asking(azent.Agent(model, [len], encoder=None))
    with pytest.raises(ModelUnreachable):
        ask("Hello")
    model.billions = 0.5
    ask("Hello")
    model.billions = 8.0
    ask("Hello")
    small = Scripted(NO_CALL, "Hi.")
    azent.Agent(small, [len], prompts="small", encoder=None).ask("Hello")
    asked = [request.messages for request in model.heard[1:]]
    assert asked == 2 * [request.messages for request in small.heard]


def test_a_set_that_is_named_needs_no_size() -> None:
    with ScriptedOllama(NO_CALL) as server:
        azent.select("Hello", [], azent.open_model(own_name(), host=server.url), prompts="small")
        assert server.shown == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["models", "list"], r"MODEL .*\bsmall\b.* Ollama"),
        (["prompts", "list", "-m", "MODEL"], r"\* small "),
        (["prompts", "render", "Hello", "-m", "MODEL"], "set small"),
    ],
)
def test_commands_show_the_set_of_a_size(
    monkeypatch: pytest.MonkeyPatch, command: list[str], said: str
) -> None:
    model = own_name()
    about = {"details": {"parameter_size": "268.10M"}}
    with ScriptedOllama(NO_CALL, models=(model,), about=about) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.setenv("AZENT_ENCODER", "none")
        findings = doctor.look({"host": server.url})
        assert "prompt set small" in next(each.found for each in findings if each.what == model)
        words = [model if word == "MODEL" else word for word in command]
        found = CliRunner().invoke(app, words)
    shown = (found.stdout + found.stderr).replace("\n    ", " ")
    assert re.search(said.replace("MODEL", model), shown), shown


def test_a_model_whose_size_nobody_tells_gets_the_default_set() -> None:
    found = CliRunner().invoke(app, ["prompts", "list", "-m", own_name()])
    assert "is not known here" in found.stderr
    assert "* default" in found.stdout


# ---- files ---------------------------------------------------------------------------------------

U32, U64, TEXT, LIST = 4, 10, 8, 9


def packed_text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def entry(name: str, kind: int, value: bytes) -> bytes:
    return packed_text(name) + struct.pack("<I", kind) + value


def texts(*words: str) -> bytes:
    return struct.pack("<IQ", TEXT, len(words)) + b"".join(map(packed_text, words))


def tensor(name: str, *shape: int) -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return packed_text(name) + sizes + struct.pack("<IQ", 0, 0)


def gguf(entries: list[bytes], tensors: list[bytes], version: int = 3) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(entries))
    return head + b"".join(entries + tensors)


WORDS = entry("tokenizer.ggml.tokens", LIST, texts("a", "", "ä"))
SCORES = entry("tokenizer.ggml.scores", LIST, struct.pack("<IQ3f", 6, 3, 1, 2, 3))
NAME = entry("general.name", TEXT, packed_text("mine"))
TOLD = entry("general.parameter_count", U64, struct.pack("<Q", 500 * MILLION))
PARTS = entry("split.count", 2, struct.pack("<H", 3))
ONE_PART = entry("split.count", 2, struct.pack("<H", 1))
TENSORS = [tensor("embedding", 1000, 500), tensor("norm", 100), tensor("one")]
WHOLE = gguf([NAME, WORDS, SCORES], TENSORS)


@pytest.mark.parametrize(
    ("content", "parameters"),
    [
        (WHOLE, 500_101),
        (gguf([NAME, WORDS], TENSORS, version=2), 500_101),
        (gguf([NAME, TOLD, WORDS], TENSORS), 500 * MILLION),
        (gguf([ONE_PART], TENSORS), 500_101),
        (gguf([PARTS], TENSORS), None),
        (gguf([], []), 0),
        (gguf([NAME], TENSORS, version=1), None),
        (gguf([entry("odd", 77, b"")], TENSORS), None),
        (gguf([entry("nested", LIST, struct.pack("<IQ", LIST, 1))], TENSORS), None),
        (gguf([entry("long", LIST, struct.pack("<IQ", TEXT, 2**63))], TENSORS), None),
        (gguf([entry("long", TEXT, struct.pack("<Q", 2**63))], TENSORS), None),
        (gguf([], [struct.pack("<QI", 0, 2**31)]), None),
        (struct.pack("<4sIQQ", b"GGUF", 3, 2**62, 0), None),
        (b"GGML" + WHOLE[4:], None),
        (b"", None),
    ],
)
def test_a_file_tells_its_parameters(
    tmp_path: Path, content: bytes, parameters: int | None
) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(content)
    assert parameter_count(file) == parameters
    model = Embedded(file)
    assert parameters_of(model) == (parameters / 1e9 if parameters else None)


def test_a_file_that_was_cut_anywhere_tells_nothing(tmp_path: Path) -> None:
    for cut in range(0, len(WHOLE), 3):
        file = tmp_path / f"{cut}.gguf"
        file.write_bytes(WHOLE[:cut])
        assert parameter_count(file) is None


@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=9))
def test_damage_of_any_kind_raises_nothing(
    tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / f"damaged-{next(NUMBERS)}.gguf"
    file.write_bytes(WHOLE[:at] + noise + WHOLE[at + len(noise) :])
    found = parameter_count(file)
    assert found is None or found >= 0


def test_a_file_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert parameters_of(Embedded(tmp_path / "none.gguf")) is None
    assert parameters_of(Embedded(tmp_path)) is None
    assert parameters_of(Embedded("nul\0.gguf")) is None


@pytest.mark.model
def test_the_real_files_are_as_large_as_is_said(small_model_file: Path) -> None:
    told = weights.MODELS["qwen2.5-coder:0.5b"].billions
    assert parameters_of(Embedded(small_model_file)) == told
    assert set_for("gguf:qwen2.5-coder:0.5b") == set_for(Embedded(small_model_file)) == "small"


@pytest.mark.model
def test_a_real_model_under_a_name_of_the_users_own(ollama: str) -> None:
    name = own_name()
    copy = {"source": "qwen2.5-coder:0.5b", "destination": name}
    httpx.post(f"{ollama}/api/copy", json=copy, trust_env=False).raise_for_status()
    try:
        model = azent.open_model(name, host=ollama)
        assert parameters_of(model) == pytest.approx(0.63, abs=0.01)
        assert azent.Agent(model).terms().prompts.name == "small"
    finally:
        httpx.request("DELETE", f"{ollama}/api/delete", json={"model": name}, trust_env=False)
