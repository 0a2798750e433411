"""Models: whatever takes chat messages and streams text.

model                  what azent needs of a model, and addresses: open_model
ollama, openai         models of servers; http and limits have what they share
embedded, weights      models of files inside this process; fetching the files
size, catalogue        how many parameters a model has; what an Ollama server has
recorded               replies that are known beforehand: from a script, or kept in a file
fallback, profiles     several models as one; models with their settings from JSON
encoder, encoders      what azent needs of an encoder, and choosing one; the encoders themselves
vectors                vectors that are kept, so that no text is encoded twice
"""

from __future__ import annotations

from azent.models.model import (
    AsyncModel,
    MeasuredModel,
    Model,
    SizedModel,
    context_of,
    open_model,
    parameters_of,
)
from azent.models.recorded import Scripted

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
