"""azent: function calling for models that you run yourself.

    import azent

    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    print(azent.Agent("qwen2.5-coder:1.5b", [add]).ask("What is 2123 + 2321?").text)

Names are imported when they are first used, so that `import azent` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The module of each public name. Type checkers read the imports below; a test compares the two.
_HOMES = {
    "agent": ("Agent",),
    "errors": (
        "AzentError",
        "BadReply",
        "CasesError",
        "ContextTooSmall",
        "EncoderFailed",
        "ModelError",
        "ModelNotFound",
        "ModelRefused",
        "ModelTimeout",
        "ModelUnreachable",
        "NotRecorded",
        "PromptError",
        "ReplyBroken",
        "RequestRefused",
        "SchemaError",
        "SessionError",
        "SettingsError",
        "ToolFailed",
        "ToolServerError",
        "ToolsFileError",
        "UsageError",
    ),
    "messages": (
        "Answer",
        "Asking",
        "Call",
        "CallFinished",
        "CallStarted",
        "Chunk",
        "Context",
        "Corrected",
        "Correction",
        "Delta",
        "End",
        "Note",
        "Problem",
        "Question",
        "Replied",
        "Reply",
        "Request",
        "Result",
        "Shrunk",
        "Thinking",
        "Usage",
        "Warning",
    ),
    "models": ("Model", "Scripted", "open_model"),
    "models.encoder": ("Encoder", "open_encoder"),
    "models.recorded": ("Cached", "Recorded"),
    "runtime.decision": ("chat_of", "select", "summary"),
    "runtime.steps": ("StepFinished", "StepStarted"),
    "runtime.toolbox": ("Toolbox",),
    "sessions": ("Session", "Store"),
    "tools.reading": ("ReplyReader", "read_reply"),
    "tools.tool": ("Tool", "function_to_json", "tool"),
    "workflows": ("Chain", "State", "States", "prompt_function"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Answer",
    "Asking",
    "AzentError",
    "BadReply",
    "Cached",
    "Call",
    "CallFinished",
    "CallStarted",
    "CasesError",
    "Chain",
    "Chunk",
    "Context",
    "ContextTooSmall",
    "Corrected",
    "Correction",
    "Delta",
    "Encoder",
    "EncoderFailed",
    "End",
    "Model",
    "ModelError",
    "ModelNotFound",
    "ModelRefused",
    "ModelTimeout",
    "ModelUnreachable",
    "NotRecorded",
    "Note",
    "Problem",
    "PromptError",
    "Question",
    "Recorded",
    "Replied",
    "Reply",
    "ReplyBroken",
    "ReplyReader",
    "Request",
    "RequestRefused",
    "Result",
    "SchemaError",
    "Scripted",
    "Session",
    "SessionError",
    "SettingsError",
    "Shrunk",
    "State",
    "States",
    "StepFinished",
    "StepStarted",
    "Store",
    "Thinking",
    "Tool",
    "ToolFailed",
    "ToolServerError",
    "Toolbox",
    "ToolsFileError",
    "Usage",
    "UsageError",
    "Warning",
    "chat_of",
    "function_to_json",
    "open_encoder",
    "open_model",
    "prompt_function",
    "read_reply",
    "select",
    "summary",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'azent' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"azent.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.errors import (
        AzentError,
        BadReply,
        CasesError,
        ContextTooSmall,
        EncoderFailed,
        ModelError,
        ModelNotFound,
        ModelRefused,
        ModelTimeout,
        ModelUnreachable,
        NotRecorded,
        PromptError,
        ReplyBroken,
        RequestRefused,
        SchemaError,
        SessionError,
        SettingsError,
        ToolFailed,
        ToolServerError,
        ToolsFileError,
        UsageError,
    )
    from azent.messages import (
        Answer,
        Asking,
        Call,
        CallFinished,
        CallStarted,
        Chunk,
        Context,
        Corrected,
        Correction,
        Delta,
        End,
        Note,
        Problem,
        Question,
        Replied,
        Reply,
        Request,
        Result,
        Shrunk,
        Thinking,
        Usage,
        Warning,
    )
    from azent.models import Model, Scripted, open_model
    from azent.models.encoder import Encoder, open_encoder
    from azent.models.recorded import Cached, Recorded
    from azent.runtime.decision import chat_of, select, summary
    from azent.runtime.steps import StepFinished, StepStarted
    from azent.runtime.toolbox import Toolbox
    from azent.sessions import Session, Store
    from azent.tools.reading import ReplyReader, read_reply
    from azent.tools.tool import Tool, function_to_json, tool
    from azent.workflows import Chain, State, States, prompt_function
