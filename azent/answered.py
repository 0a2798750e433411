"""Answers and events as plain JSON values, for scripts and files."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from azent.messages import (
    Answer,
    Asking,
    Call,
    CallFinished,
    CallStarted,
    Chunk,
    Corrected,
    Event,
    Message,
    Replied,
    Shrunk,
    Thinking,
    Warning,
    to_json,
)
from azent.results import text_of


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON values."""
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


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as plain JSON values, with its name under "event"."""
    match event:
        case Asking(move, number, why):
            reason = {"why": why} if why else {}
            return {"event": "asking", "move": move, "number": number, **reason}
        case Chunk(text):
            return {"event": "chunk", "text": text}
        case Thinking(text):
            return {"event": "thinking", "text": text}
        case Replied(reply):
            return {"event": "replied", **_message_json(reply)}
        case CallStarted(call):
            return {"event": "call_started", **_call_json(call)}
        case CallFinished(call, result, seconds):
            outcome = {"ok": result.ok, "text": result.text, "seconds": round(seconds, 3)}
            return {"event": "call_finished", **_call_json(call), **outcome}
        case Corrected(problem):
            return {"event": "corrected", **asdict(problem)}
        case Shrunk(note):
            return {"event": "shrunk", **_message_json(note)}
        case Warning(text):
            return {"event": "warning", "text": text}
        case Answer():
            return {"event": "answer", **answer_json(event)}


def _call_json(call: Call) -> dict[str, Any]:
    return {"id": call.id, "tool": call.tool, "tool_input": call.tool_input}


def _message_json(message: Message) -> dict[str, Any]:
    return {name: value for name, value in to_json(message).items() if name != "kind"}


def _plain(value: Any) -> Any:
    """Return a value as JSON values; an object without a JSON form as its text."""
    if value is None or isinstance(value, str | int | float):
        return value
    text = text_of(value)
    try:
        return json.loads(text)
    except ValueError:
        return text
