"""Models: whatever takes chat messages and streams text.

A model has a `name`, a `num_ctx` (the tokens that its context holds, None where that is not known)
and `stream(request)`, an iterator of `Delta`s closed by one `End`. Closing the iterator stops the
model. `astream`, its asynchronous twin, may be left out: `stream` then runs in a thread; and so may
`context()`, which finds out how much of `num_ctx` there really is, and `parameters()`, which tells
how large the model is.

A model has an address: "ollama:qwen3:8b", "gguf:/path/to/model.gguf",
"openai:http://host:8000/v1#name"; a bare name means Ollama.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Protocol, runtime_checkable

from azent.errors import UsageError
from azent.messages import Delta, End, Request
from azent.models.scripted import Scripted

__all__ = [
    "AsyncModel",
    "MeasuredModel",
    "Model",
    "Scripted",
    "SizedModel",
    "context_of",
    "open_model",
    "parameters_of",
]


class Model(Protocol):
    """What azent needs of a model."""

    @property
    def name(self) -> str: ...

    @property
    def num_ctx(self) -> int | None: ...

    def stream(self, request: Request) -> Iterator[Delta | End]: ...


@runtime_checkable
class AsyncModel(Model, Protocol):
    """A model that can also be waited for without a thread."""

    def astream(self, request: Request) -> AsyncIterator[Delta | End]: ...


@runtime_checkable
class MeasuredModel(Model, Protocol):
    """A model that can find out how large its context really is."""

    def context(self) -> int | None: ...


@runtime_checkable
class SizedModel(Model, Protocol):
    """A model that can tell its size, the billions of parameters that it has.

    It may ask its server, once; it raises nothing, and gives None where the size is not known.
    """

    def parameters(self) -> float | None: ...


def context_of(model: Model) -> int | None:
    """The tokens that a model's context holds, None where that is not known."""
    return model.context() if isinstance(model, MeasuredModel) else model.num_ctx


def parameters_of(model: Model) -> float | None:
    """The billions of parameters that a model has, None where that is not known."""
    told: object = model.parameters() if isinstance(model, SizedModel) else None
    # Models that people bring may have another method of that name, as those of PyTorch do.
    return float(told) if isinstance(told, int | float) else None


def open_model(address: str | Model, **settings: Any) -> Model:
    """The model at an address, with what its kind can be set to as keywords.

    "ollama:NAME" or a bare name: a model of an Ollama server (see `azent.models.ollama.Ollama`:
    host, num_ctx, keep_alive, retries, retry_wait, connect_timeout, headers, verify, options).
    "gguf:PATH": a file, run inside this process (needs the extra `embedded`).
    "openai:URL#NAME": a model of a server that speaks OpenAI's protocol (see
    `azent.models.openai.OpenAI`; needs the extra `openai`). Settings that are None are left at
    their defaults. Nothing is contacted or loaded before the first request.
    Raises UsageError for an address or a setting that there is not.
    """
    if not isinstance(address, str):
        return _opened_already(address)
    kind, _, rest = address.partition(":")
    given = {name: value for name, value in settings.items() if value is not None}
    if kind in _KINDS and ":" in address:
        return _opened(kind, rest, given)
    return _opened("ollama", address, given)


def _opened_already(model: Any) -> Model:
    parts = ("name", "num_ctx", "stream")
    if isinstance(model, type) or not all(hasattr(model, part) for part in parts):
        hint = "Give an address such as 'qwen2.5-coder:1.5b', or what azent.open_model returns."
        raise UsageError(f"{model!r} is no model", hint)
    opened: Model = model
    return opened


def _opened(kind: str, rest: str, settings: dict[str, Any]) -> Model:
    if not rest:
        raise UsageError("a model's name is missing", "Name one, such as 'qwen2.5-coder:1.5b'.")
    made = _KINDS[kind]()
    _refuse_unknown(kind, settings, made)
    model: Model = made(rest, **settings)
    return model


def _refuse_unknown(kind: str, settings: dict[str, Any], made: Callable[..., Any]) -> None:
    import inspect

    known = list(inspect.signature(made).parameters)[1:]  # the first one is the name
    if unknown := [name for name in settings if name not in known]:
        hint = f"It can be: {', '.join(known)}."
        raise UsageError(f"{kind} models have no setting {unknown[0]!r}", hint)


def _ollama() -> Any:
    from azent.models.ollama import Ollama

    return Ollama


def _gguf() -> Any:
    from azent.models.embedded import Embedded

    return Embedded


def _openai() -> Any:
    from azent.models.openai import OpenAI

    return OpenAI


_KINDS: dict[str, Callable[[], Any]] = {"ollama": _ollama, "gguf": _gguf, "openai": _openai}
