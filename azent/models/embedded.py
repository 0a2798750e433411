"""Models that run inside this process: GGUF files on llama.cpp, by way of xllamacpp.

The model is loaded at its first request, and writes one reply at a time; other threads wait. It
writes on a thread of its own, because llama.cpp hands over its pieces by calling back.
"""

from __future__ import annotations

import importlib
import os
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from azent.arguments import named, place, whole
from azent.errors import ModelError, ModelNotFound, ModelRefused, ModelTimeout, ReplyBroken
from azent.messages import Delta, End, Request, Usage
from azent.models import fetch
from azent.models.gguf import parameter_count
from azent.models.size import billions_of

NUM_CTX = 4096
MAX_REPLY_TOKENS = 2048
CACHE_MEGABYTES = 512  # of earlier prompts, so that they need not be read again
DEFAULTS = {"temperature": 0, "seed": 0, "num_predict": MAX_REPLY_TOKENS}


class Embedded:
    """A model in a GGUF file, run in this process.

    `source` is the file's path, or a name that `azent.models.fetch` knows, which is fetched at the
    first request. `num_ctx` is the context in tokens. `options` are those of llama.cpp's server
    (temperature, seed, top_p, stop, ...); `num_predict` caps the tokens of a reply.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        num_ctx: int = NUM_CTX,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = str(place("source", source))
        self.name = self.source if self.source in fetch.MODELS else Path(source).stem
        self.num_ctx: int | None = whole("num_ctx", num_ctx, 1)
        self.options = {**DEFAULTS, **named("options", options)}
        self._turn = threading.Lock()
        self._server: Any = None

    def __repr__(self) -> str:
        return f"Embedded({self.source!r})"

    def parameters(self) -> float | None:
        """The billions of parameters, as the model's file tells them; None where it does not."""
        known = fetch.MODELS.get(self.source)
        if known is not None:  # it may still have to be fetched
            return known.billions
        return billions_of(parameter_count(Path(self.source).expanduser()))

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The reply, piece by piece. Raises ModelError's kinds; closing it stops the model."""
        if request.tools:
            raise ModelRefused(f"{self.name} has no tool calling of its own")
        deadline = None if request.timeout is None else time.monotonic() + request.timeout
        with self._my_turn(request.timeout):
            began = time.monotonic()
            self._server = self._server or self._load()
            reading = _Reading(self.name, time.monotonic() - began)
            for said in _replies(self._server, self._body(request), deadline):
                yield from reading.pieces(said)
            yield reading.end(time.monotonic() - began)

    def close(self) -> None:
        """Give the model's memory back; the next request loads it again."""
        with self._turn:
            self._server = None

    @contextmanager
    def _my_turn(self, timeout: float | None) -> Iterator[None]:
        if not self._turn.acquire(timeout=-1 if timeout is None else timeout):
            raise ModelTimeout("the model was busy with another reply for the whole time limit")
        try:
            yield
        finally:
            self._turn.release()

    def _load(self) -> Any:
        known = self.source in fetch.MODELS
        path = fetch.model_file(self.source) if known else Path(self.source).expanduser()
        if not path.is_file():
            hint = "Name a GGUF file, or a model that `azent models list` shows."
            raise ModelNotFound(f"there is no model file {str(path)!r}", hint)
        llama = _llama()
        try:
            return llama.Server(_parameters(llama, path, self.num_ctx))
        except RuntimeError as error:
            raise ModelError(
                f"{path.name} cannot be loaded with a context of {self.num_ctx} tokens",
                "Either it is no whole GGUF file, or it does not fit into the memory that is free:"
                " then take a smaller model or context (num_ctx).",
            ) from error

    def _body(self, request: Request) -> dict[str, Any]:
        options = {**self.options, **request.options}
        body = {
            "max_tokens": options.pop("num_predict"),
            **options,
            "messages": list(request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.format is not None:
            body["grammar"] = _grammar(request.format)
            body["chat_template_kwargs"] = {"enable_thinking": False}
        return body


def _llama() -> Any:
    try:
        with _patient_threads():
            return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ModelError(
            f"models in a file need xllamacpp, which cannot be imported: {error}",
            'Install it with `pip install "azent[embedded]"`.',
        ) from error


@contextmanager
def _patient_threads() -> Iterator[None]:
    """Let OpenMP's threads sleep while they wait for each other.

    They spin by default, so that a busy machine reads and writes 70 times slower (measured: 28 and
    0.4 tokens a second). OpenMP looks at the environment once, when it is loaded.
    """
    added = "OMP_WAIT_POLICY" not in os.environ
    if added:
        os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        yield
    finally:
        if added:
            del os.environ["OMP_WAIT_POLICY"]


def _parameters(llama: Any, path: Path, num_ctx: int | None) -> Any:
    parameters = llama.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = num_ctx
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.cache_ram_mib = CACHE_MEGABYTES
    # It cannot be kept from listening on loopback: let it be on a free port, and answer nobody.
    parameters.port = 0
    parameters.api_keys = [secrets.token_hex()]
    parameters.ui = False
    return parameters


def _grammar(schema: Mapping[str, Any]) -> str:
    """The schema as a grammar, without room for the line breaks and indents that cost time.

    Lenient, because a schema with one keyword that it does not know would not be held to at all.
    """
    style = {"item_separator": ", ", "key_separator": ": ", "whitespace_flexible": False}
    guidance = {**style, "lenient": True}
    grammar: str = _llama().json_schema_to_grammar({**schema, "x-guidance": guidance})
    return grammar


# ---- one reply -----------------------------------------------------------------------------------


def _replies(server: Any, body: Mapping[str, Any], deadline: float | None) -> Iterator[Any]:
    """What the server calls back with, until it has nothing more to say."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stopped = threading.Event()
    thread = threading.Thread(target=_write, args=(server, body, said, stopped), name="writer")
    thread.start()
    try:
        while (piece := _next(said, deadline)) is not None:
            if isinstance(piece, Exception):
                raise ModelRefused(f"llama.cpp refused the request: {piece}") from piece
            yield piece
    finally:
        stopped.set()
        thread.join()


def _write(server: Any, body: Mapping[str, Any], said: Any, stopped: threading.Event) -> None:
    def hear(piece: Any) -> bool:
        said.put(piece)
        # A program that ends in mid-reply need not wait for the rest.
        return stopped.is_set() or not threading.main_thread().is_alive()

    try:
        server.handle_chat_completions(body, hear)
    except Exception as error:
        said.put(error)
    said.put(None)


def _next(said: queue.SimpleQueue[Any], deadline: float | None) -> Any:
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    try:
        return said.get(timeout=left)
    except queue.Empty as error:
        raise ModelTimeout("the model did not finish its reply within the time limit") from error


class _Reading:
    """The state of reading one reply: why it ended, and what it cost."""

    def __init__(self, name: str, load_seconds: float) -> None:
        self.name = name
        self.load_seconds = load_seconds
        self.reason = ""
        self.usage: Mapping[str, Any] = {}
        self.timings: Mapping[str, Any] = {}

    def pieces(self, said: Mapping[str, Any]) -> Iterator[Delta]:
        if error := said.get("error"):
            raise _refusal(error)
        self.usage = said.get("usage", self.usage)
        self.timings = said.get("timings", self.timings)
        for choice in said["choices"]:
            self.reason = choice["finish_reason"] or self.reason
            delta = choice["delta"]
            text, thinking = delta.get("content"), delta.get("reasoning_content")
            if text or thinking:
                yield Delta(text or "", thinking or "")

    def end(self, seconds: float) -> End:
        if not self.reason:
            raise ReplyBroken(f"the reply of {self.name} broke off")
        usage = Usage(
            prompt_tokens=self.usage.get("prompt_tokens", 0),
            reply_tokens=self.usage.get("completion_tokens", 0),
            requests=1,
            seconds=seconds,
            load_seconds=self.load_seconds,
            prompt_seconds=self.timings.get("prompt_ms", 0) / 1000,
            reply_seconds=self.timings.get("predicted_ms", 0) / 1000,
        )
        return End(self.reason, usage)


def _refusal(error: Mapping[str, Any]) -> ModelRefused:
    too_long = error.get("type") == "exceed_context_size_error"
    hint = "Ask for a larger context (num_ctx)." if too_long else ""
    return ModelRefused(f"llama.cpp: {error['message']}", hint, error.get("code", 0))
