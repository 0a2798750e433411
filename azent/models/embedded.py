"""Models that run inside this process: GGUF files on llama.cpp, by the package xllamacpp.

A model is loaded at its first request, and writes one reply at a time; other threads wait. It
writes in a thread of its own, because llama.cpp hands over the pieces by calling a function.
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
from functools import partial
from pathlib import Path
from typing import Any

from azent import config
from azent.errors import ModelError, ModelNotFound, ModelRefused, ModelTimeout, ReplyBroken
from azent.messages import ChatMessage, Delta, End, Request, Usage
from azent.models import weights
from azent.models.prefix_cache import PrefixCache, cache_folder_for
from azent.models.size import billions_of, parameter_count
from azent.values.arguments import named, place, whole

NUM_CTX = 4096
MAX_REPLY_TOKENS = 2048
CACHE_MEGABYTES = 512  # of earlier prompts, which are then not read again
DEFAULTS = {"temperature": 0, "seed": 0, "num_predict": MAX_REPLY_TOKENS}


class Embedded:
    """A model in a GGUF file, run in this process.

    `source` is the file's path, or a name of `azent.models.weights.MODELS`, whose file is fetched
    at the first request. `num_ctx` is the context window in tokens. `options` are those of
    llama.cpp's server (temperature, seed, top_p, stop, ...); `num_predict` limits the tokens of a
    reply.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        num_ctx: int = NUM_CTX,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = str(place("source", source))
        self.name = self.source if self.source in weights.MODELS else Path(source).stem
        self.num_ctx: int | None = whole("num_ctx", num_ctx, 1)
        self.options = {**DEFAULTS, **named("options", options)}
        self._lock = threading.Lock()
        self._server: Any = None
        self._prefixes: PrefixCache | None = None

    def __repr__(self) -> str:
        return f"Embedded({self.source!r})"

    def parameters(self) -> float | None:
        """Return the billions of parameters in the model's file; None where it does not say."""
        known = weights.MODELS.get(self.source)
        if known is not None:  # it may still have to be fetched
            return known.billions
        return billions_of(parameter_count(Path(self.source).expanduser()))

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """Yield the reply piece by piece. Raises ModelError; closing it stops the model."""
        if request.tools:
            raise ModelRefused(f"{self.name} has no tool calling of its own")
        deadline = None if request.timeout is None else time.monotonic() + request.timeout
        with self._locked(request.timeout):
            began = time.monotonic()
            self._server = self._server or self._load()
            reading = _Reading(self.name, time.monotonic() - began)
            if self._prefixes is not None:
                self._prefixes.prepare(request.messages, partial(self._read_alone, deadline))
            for chunk in _chunks(self._server, self._body(request), deadline):
                yield from reading.pieces(chunk)
            yield reading.end(time.monotonic() - began)

    def close(self) -> None:
        """Free the model's memory; the next request loads it again."""
        with self._lock:
            self._server = self._prefixes = None

    def _read_alone(self, deadline: float | None, message: ChatMessage) -> None:
        """Have the model read a message, so that its next request need not."""
        body = {**self._body(Request((message,))), "max_tokens": 1}
        for _ in _chunks(self._server, body, deadline):
            pass

    @contextmanager
    def _locked(self, timeout: float | None) -> Iterator[None]:
        if not self._lock.acquire(timeout=-1 if timeout is None else timeout):
            raise ModelTimeout("the model was busy with another reply for the whole time limit")
        try:
            yield
        finally:
            self._lock.release()

    def _load(self) -> Any:
        known = self.source in weights.MODELS
        path = weights.model_file(self.source) if known else Path(self.source).expanduser()
        if not path.is_file():
            hint = "Name a GGUF file, or a model that `azent models list` shows."
            raise ModelNotFound(f"there is no model file {str(path)!r}", hint)
        llama = _llama()
        parameters = _parameters(llama, path, self.num_ctx)
        folder = cache_folder_for(config.cache_folder() / "prefixes")
        if folder is not None:
            parameters.slot_save_path = f"{folder}{os.sep}"
        try:
            server = llama.Server(parameters)
        except RuntimeError as error:
            raise ModelError(
                f"{path.name} cannot be loaded with a context of {self.num_ctx} tokens",
                "Either it is no whole GGUF file, or it does not fit into the memory that is free:"
                " then take a smaller model or context (num_ctx).",
            ) from error
        if folder is not None:
            address, (key,) = server.listening_address, parameters.api_keys
            self._prefixes = PrefixCache(folder, path, self.num_ctx, address, key)
        return server

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
        with _sleeping_threads():
            return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ModelError(
            f"models in a file need xllamacpp, which cannot be imported: {error}",
            'Install it with `pip install "azent[embedded]"`.',
        ) from error


@contextmanager
def _sleeping_threads() -> Iterator[None]:
    """Let OpenMP's threads sleep while they wait for each other.

    They spin by default, which makes a busy machine 70 times slower (measured: 28 and 0.4 tokens a
    second). OpenMP reads the environment once, when it is loaded.
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
    # It always listens on loopback: a free port and a secret key make it answer nobody.
    parameters.port = 0
    parameters.api_keys = [secrets.token_hex()]
    parameters.ui = False
    return parameters


def _grammar(schema: Mapping[str, Any]) -> str:
    """Return the schema as a grammar without line breaks and indents, which cost time.

    It is lenient, because one unknown keyword would otherwise switch the whole grammar off.
    """
    style = {"item_separator": ", ", "key_separator": ": ", "whitespace_flexible": False}
    guidance = {**style, "lenient": True}
    grammar: str = _llama().json_schema_to_grammar({**schema, "x-guidance": guidance})
    return grammar


# ---- one reply -----------------------------------------------------------------------------------


def _chunks(server: Any, body: Mapping[str, Any], deadline: float | None) -> Iterator[Any]:
    """Yield the chunks of a reply, which llama.cpp hands over in another thread."""
    chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stopped = threading.Event()
    thread = threading.Thread(target=_write, args=(server, body, chunks, stopped), name="writer")
    thread.start()
    try:
        while (chunk := _next(chunks, deadline)) is not None:
            if isinstance(chunk, Exception):
                raise ModelRefused(f"llama.cpp refused the request: {chunk}") from chunk
            yield chunk
    finally:
        stopped.set()
        thread.join()


def _write(server: Any, body: Mapping[str, Any], chunks: Any, stopped: threading.Event) -> None:
    """Put the chunks of a reply into a queue, then None; an error in place of a chunk."""

    def put(chunk: Any) -> bool:
        """Put a chunk into the queue; return whether llama.cpp is to stop."""
        chunks.put(chunk)
        # A program that ends during a reply does not wait for the rest.
        return stopped.is_set() or not threading.main_thread().is_alive()

    try:
        server.handle_chat_completions(body, put)
    except Exception as error:
        chunks.put(error)
    chunks.put(None)


def _next(chunks: queue.SimpleQueue[Any], deadline: float | None) -> Any:
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    try:
        return chunks.get(timeout=left)
    except queue.Empty as error:
        raise ModelTimeout("the model did not finish its reply within the time limit") from error


class _Reading:
    """The state of reading one reply: why it ended, its tokens and its times."""

    def __init__(self, name: str, load_seconds: float) -> None:
        self.name = name
        self.load_seconds = load_seconds
        self.reason = ""
        self.usage: Mapping[str, Any] = {}
        self.timings: Mapping[str, Any] = {}

    def pieces(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        if error := chunk.get("error"):
            raise _refusal(error)
        self.usage = chunk.get("usage", self.usage)
        self.timings = chunk.get("timings", self.timings)
        for choice in chunk["choices"]:
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
            cached_tokens=self.usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
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
