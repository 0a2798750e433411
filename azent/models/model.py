"""What azent needs of a model, and how a model is opened by its address.

A model has a `name`, a `num_ctx` (the number of tokens in its context window, None where that is
not known) and `stream(request)`, an iterator of `Delta`s that ends with one `End`. Closing the
iterator stops the model. Other methods are optional: `astream` is the asynchronous version of
`stream` (without it, `stream` runs in a thread), `context()` finds out how much of `num_ctx` the
server really has, and `parameters()` returns the number of the model's parameters.

An address is a kind and what that kind needs: "ollama:qwen3:8b", "gguf:/path/to/model.gguf",
"openai:http://host:8000/v1#name". A name without a kind is a model of Ollama's. Installed packages
add kinds by entry points of the group `azent.models` (`docs/adapters.md`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from azent.config import ADAPTERS
from azent.errors import ModelError, UsageError
from azent.messages import Delta, End, Request

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS = {
    "ollama": "azent.models.ollama:Ollama",
    "gguf": "azent.models.embedded:Embedded",
    "openai": "azent.models.openai:OpenAI",
}
SETTINGS = {  # of models of Ollama's; other kinds have some of them, and some of their own
    "host",
    "num_ctx",
    "keep_alive",
    "retries",
    "retry_wait",
    "connect_timeout",
    "first_token",
    "reply_timeout",
    "headers",
    "verify",
    "options",
}


class Model(Protocol):
    """What azent needs of a model."""

    @property
    def name(self) -> str: ...

    @property
    def num_ctx(self) -> int | None: ...

    def stream(self, request: Request) -> Iterator[Delta | End]: ...


@runtime_checkable
class AsyncModel(Model, Protocol):
    """A model that can be awaited without a thread."""

    def astream(self, request: Request) -> AsyncIterator[Delta | End]: ...


@runtime_checkable
class MeasuredModel(Model, Protocol):
    """A model that can find out how large its context window really is."""

    def context(self) -> int | None: ...


@runtime_checkable
class SizedModel(Model, Protocol):
    """A model that knows its size, in billions of parameters.

    It may ask its server, once. It raises nothing and returns None where the size is not known.
    """

    def parameters(self) -> float | None: ...


def context_of(model: Model) -> int | None:
    """Return the number of tokens in a model's context window, None where it is not known."""
    return model.context() if isinstance(model, MeasuredModel) else model.num_ctx


def parameters_of(model: Model) -> float | None:
    """Return the billions of parameters that a model has, None where that is not known."""
    count: object = model.parameters() if isinstance(model, SizedModel) else None
    # Models that people bring may have another method of that name, as those of PyTorch do.
    return float(count) if isinstance(count, int | float) else None


# ---- addresses -----------------------------------------------------------------------------------


def open_model(address: str | Model, **settings: Any) -> Model:
    """Open the model at an address; the keywords are the settings of its kind.

    "ollama:NAME" or a bare name: a model of an Ollama server (see `azent.models.ollama.Ollama`:
    host, num_ctx, keep_alive, retries, retry_wait, connect_timeout, headers, verify, options).
    "gguf:PATH": a file, run inside this process (needs the extra `embedded`).
    "openai:URL#NAME": a model of a server that speaks OpenAI's protocol (see
    `azent.models.openai.OpenAI`; needs the extra `openai`).
    "ADAPTER:REST": a model of an installed adapter.
    Settings that are None are left at their defaults. Nothing is contacted or loaded before the
    first request. Raises UsageError for an address or a setting that does not exist, and
    ModelError for an adapter that does not work.
    """
    if not isinstance(address, str):
        return _checked_model(address)
    kind, rest = _kind_and_rest(address)
    if not rest:
        raise UsageError("a model's name is missing", "Name one, such as 'qwen2.5-coder:1.5b'.")
    given = {name: value for name, value in settings.items() if value is not None}
    make = _maker(kind)
    _refuse_unknown(kind, given, make)
    return _checked_model(make(rest, **given))


def settings_of(address: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the offered settings that the kind of model at an address has.

    An adapter that takes any keywords has all settings that azent's own kinds have in common.
    """
    names, takes_any = _parameters(_maker(_kind_and_rest(address)[0]))
    has = {*names, *SETTINGS, "api_key"} if takes_any else set(names)
    return {name: value for name, value in offered.items() if name in has}


def _checked_model(model: Any) -> Model:
    parts = ("name", "num_ctx", "stream")
    if isinstance(model, type) or not all(hasattr(model, part) for part in parts):
        hint = "Give an address such as 'qwen2.5-coder:1.5b', or what azent.open_model returns."
        raise UsageError(f"{model!r} is no model", hint)
    opened: Model = model
    return opened


def _kind_and_rest(address: str) -> tuple[str, str]:
    kind, colon, rest = address.partition(":")
    if colon and (kind in KINDS or kind in _adapters(tuple(sys.path))):
        return kind, rest
    return "ollama", address


def _maker(kind: str) -> Callable[..., Any]:
    """Return what makes models of a kind, of azent's own or of an adapter."""
    if kind in KINDS:
        module, _, name = KINDS[kind].partition(":")
        made: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return made
    return _loaded(_adapters(tuple(sys.path))[kind])


def _refuse_unknown(kind: str, settings: Mapping[str, Any], make: Callable[..., Any]) -> None:
    known, takes_any = _parameters(make)
    unknown = [name for name in settings if name not in known]
    if unknown and not takes_any:
        hint = f"It can be: {', '.join(known)}."
        raise UsageError(f"{kind} models have no setting {unknown[0]!r}", hint)


def _parameters(make: Callable[..., Any]) -> tuple[list[str], bool]:
    """Return the names of a maker's settings, and whether it takes any others as keywords."""
    import inspect

    settings = list(inspect.signature(make).parameters.values())[1:]  # the first is the address
    takes_any = any(each.kind is each.VAR_KEYWORD for each in settings)
    return [each.name for each in settings if each.kind is not each.VAR_KEYWORD], takes_any


# ---- adapters ------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _adapters(path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the adapters of the packages that are installed on a path, by their names."""
    from importlib.metadata import entry_points

    found = entry_points(group=ADAPTERS)
    return {name: tuple(found.select(name=name)) for name in found.names}


def _loaded(adapters: Sequence[EntryPoint]) -> Callable[..., Any]:
    """Return the callable of an adapter. Raises UsageError where several have its name.

    Whatever goes wrong while it is loaded becomes ModelError.
    """
    name, values = adapters[0].name, sorted({each.value for each in adapters})
    if len(values) > 1:
        hint = f"Remove all but one of them: {', '.join(values)}."
        raise UsageError(f"several packages have an adapter {name!r}", hint)
    try:
        make: Any = adapters[0].load()
    except Exception as error:  # whatever the package of someone else raises
        hint = f"Reinstall or remove the package that has it: {values[0]}."
        raise ModelError(f"the adapter {name!r} cannot be loaded: {error!r}", hint) from error
    if not callable(make):
        raise ModelError(f"the adapter {name!r} is {make!r}, which cannot be called")
    called: Callable[..., Any] = make
    return called
