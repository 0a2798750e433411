"""How large a model is, in billions of parameters, as its server tells it.

A server is asked once in the life of the process, however often the model is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from azent.errors import ModelError, ModelNotFound
from azent.models.trouble import may_pass

ASK_SECONDS = 5.0  # a description of a model is not worth a longer wait
LONGEST_TEXT = 40
BILLION = 1e9
MOST = 1e18  # parameters; a larger count is damage
UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_TEXT = re.compile(r"(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?)\s*([KMBT])", re.IGNORECASE)

_told: dict[tuple[str, str], float | None] = {}


def told_once(url: str, name: str, ask: Callable[[], float | None]) -> float | None:
    """What `ask` finds out about a model of a server, remembered; None where asking fails.

    A failure is remembered too, so that a server that does not tell is not asked again, unless it
    may pass or the model may still be fetched. Whatever is wrong, the first request will say it.
    """
    if (url, name) not in _told:
        try:
            _told[url, name] = ask()
        except Exception as error:  # of any kind: a size is not worth a failure
            if isinstance(error, ModelNotFound) or _may_pass(error):
                return None
            _told[url, name] = None
    return _told[url, name]


def _may_pass(error: Exception) -> bool:
    return isinstance(error, ModelError) and may_pass(error)


def billions_of(count: object) -> float | None:
    """The billions in a count of parameters, None for what is no count."""
    if not isinstance(count, int | float) or not 0 < count < MOST:
        return None
    return count / BILLION


def billions_in(text: object) -> float | None:
    """The billions in a size as people write it ("630.17M", "1.8B", "8x7B"), else None."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        return None
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    experts, number, unit = found.groups()
    return billions_of(int(experts or 1) * float(number) * UNITS[unit.upper()])


def billions_shown(facts: Mapping[str, Any], size: object) -> float | None:
    """The billions in what Ollama shows of a model: its count, else its size in words."""
    return billions_of(facts.get("general.parameter_count")) or billions_in(size)


def billions_listed(page: object, name: str) -> float | None:
    """The billions in a list of models in OpenAI's protocol, where llama-server wrote it.

    It serves one model, whatever name it is asked for.
    """
    listed = page.get("data") if isinstance(page, Mapping) else None
    models = [m for m in listed if isinstance(m, Mapping)] if isinstance(listed, list) else []
    only: Mapping[str, Any] = models[0] if len(models) == 1 else {}
    meta = next((model for model in models if model.get("id") == name), only).get("meta")
    return billions_of(meta.get("n_params")) if isinstance(meta, Mapping) else None
