"""Choose the prompt set for a model."""

from __future__ import annotations

from pathlib import Path

from azent import prompt
from azent.models import Model, parameters_of
from azent.prompt import PromptSet


def prompts_for(model: Model, wanted: str | Path | PromptSet | None = None) -> PromptSet:
    """Return the wanted prompt set, else the one for the model's name or size, else `default`.

    The server may be asked once for the size. Raises PromptError.
    """
    billions = parameters_of(model) if wanted is None else None
    return prompt.load(wanted, model.name, billions)
