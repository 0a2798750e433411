"""What an Ollama server can tell of its models: sizes, contexts, native tools; and fetching one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azent import settings
from azent.errors import ModelNotFound, ModelRefused, ModelUnreachable
from azent.models.incoming import HEADERS, bounded
from azent.models.prefixes import is_embedding_model
from azent.models.size import billions_shown

if TYPE_CHECKING:
    import ollama

CONNECT_SECONDS = 2.0
READ_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Installed:
    """A model of a server. `size` is in bytes, `context` in tokens (0 where it is not told).

    `parameters` is what the server says of their number, `billions` that number as azent reads it.
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
    """How far a pull is: what is being done, and the bytes done of those in all."""

    status: str
    done: int = 0
    total: int = 0


def names(host: str | None = None) -> list[str]:
    """The names of a server's models, newest first. Raises ModelUnreachable, ModelRefused."""
    with _client(host) as client:
        return [each.model for each in _listed(client)]


def installed(host: str | None = None) -> tuple[Installed, ...]:
    """The models of a server, newest first. Raises ModelUnreachable, ModelRefused."""
    with _client(host) as client:
        return tuple(_described(client, each) for each in _listed(client))


def embedding_models(host: str | None = None) -> list[str]:
    """The names of a server's embedding models, the smallest first.

    Raises ModelUnreachable, ModelRefused.
    """
    with _client(host) as client:
        models = sorted(_listed(client), key=lambda each: int(each.size or 0))
    return [each.model for each in models if is_embedding_model(each.model, _family(each))]


def _family(listed: Any) -> str:
    return (listed.details.family or "") if listed.details else ""


def loaded(host: str | None = None) -> list[str]:
    """The names of the models in a server's memory. Raises ModelUnreachable, ModelRefused."""
    with _client(host) as client:
        return [each.model for each in client.ps().models if each.model]


def version(host: str | None = None) -> str:
    """The version of a server. Raises ModelUnreachable, ModelRefused."""
    import httpx

    url = settings.ollama_host(host)
    try:
        answer = httpx.get(f"{url}/api/version", timeout=CONNECT_SECONDS, trust_env=False)
        return str(answer.json()["version"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise ModelUnreachable(f"no Ollama answers at {url}") from error


def pull(name: str, host: str | None = None) -> Iterator[Pulling]:
    """Have a server fetch a model; how far it is, as it goes. Raises ModelError's kinds."""
    if not name:
        raise ModelNotFound(
            "a model without a name cannot be fetched", "ollama.com/library has names."
        )
    with _client(host, read=None) as client:
        for step in client.pull(name, stream=True):
            yield Pulling(step.status or "", step.completed or 0, step.total or 0)


def context_length(shown: ollama.ShowResponse) -> int:
    """The tokens that a model can have in its context, as its server shows it; 0 where not told."""
    facts = shown.modelinfo or {}
    told = (int(value) for name, value in facts.items() if name.endswith(".context_length"))
    return min(told, default=0)


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

    url = settings.ollama_host(host)
    timeout = httpx.Timeout(read, connect=CONNECT_SECONDS)
    try:
        hooks = {"response": [bounded]}
        more = {"timeout": timeout, "event_hooks": hooks, "headers": HEADERS}
        with ollama.Client(url, trust_env=False, **more) as client:
            yield client
    except (ConnectionError, httpx.TransportError) as error:
        raise ModelUnreachable(f"no Ollama answers at {url}") from error
    except ollama.ResponseError as error:
        raise ModelRefused(f"Ollama's server failed: {error.error}") from error
