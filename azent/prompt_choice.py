"""Chooses the prompt set that a model is asked with."""

from __future__ import annotations

from pathlib import Path

from azent import prompt
from azent.models import Model, parameters_of
from azent.prompt import PromptSet


def prompts_for(model: Model, wanted: str | Path | PromptSet | None = None) -> PromptSet:
    """Return the prompt set that was named, else the one for the model's name or size.

    The model may ask its server for the size, once. Where the size is not known and no set matches
    the name, the set is `default`. Raises PromptError.
    """
    billions = parameters_of(model) if wanted is None else None
    return prompt.load(wanted, model.name, billions)
