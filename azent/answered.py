"""An answer as plain JSON values, for scripts and files."""

from __future__ import annotations

import json
from typing import Any

from azent.messages import Answer
from azent.results import text_of


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as plain JSON values."""
    return {
        "answer": answer.text,
        "value": _plain(answer.value),
        "calls": [{"tool": c.tool, "tool_input": c.tool_input} for c in answer.calls],
        "results": [{"tool": r.tool, "ok": r.ok, "text": r.text} for r in answer.results],
        "stopped": answer.stopped,
        "warnings": list(answer.warnings),
        "usage": {
            "prompt_tokens": answer.usage.prompt_tokens,
            "reply_tokens": answer.usage.reply_tokens,
            "requests": answer.usage.requests,
            "seconds": round(answer.usage.seconds, 3),
        },
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it; an object of some class as what its text says."""
    if value is None or isinstance(value, str | int | float):
        return value
    text = text_of(value)
    try:
        return json.loads(text)
    except ValueError:
        return text
