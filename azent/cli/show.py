"""What happened, as lines for people and as JSON for scripts. Nothing here prints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from azent.answered import answer_json
from azent.messages import (
    Answer,
    Asking,
    Call,
    CallFinished,
    CallStarted,
    Chunk,
    Corrected,
    Event,
    Replied,
    Result,
    Shrunk,
    Spec,
    Thinking,
    Usage,
    Warning,
    to_json,
)
from azent.wording import counted

RESULT_WIDTH = 300


def call_line(call: Call) -> str:
    """A call as one line: add(a=2, b=3)."""
    inputs = (f"{name}={_json(value)}" for name, value in call.tool_input.items())
    return f"{call.tool}({', '.join(inputs)})"


def result_line(result: Result) -> str:
    """A result as one line, cut where it is long, with a word on how long it is."""
    line = " ".join(result.text.split())
    if len(line) > RESULT_WIDTH:
        line = f"{line[:RESULT_WIDTH]}... ({len(result.text)} characters)"
    return line


def usage_line(usage: Usage) -> str:
    """What a run cost, as one line."""
    requests, tokens = counted(usage.requests, "request"), usage.prompt_tokens
    return (
        f"{requests}, {tokens} + {usage.reply_tokens} tokens, {usage.seconds:.1f} s{_parts(usage)}"
    )


def _parts(usage: Usage) -> str:
    """Where the time went, by the server's account, where it gives one."""
    speed = f" ({usage.reply_tokens / usage.reply_seconds:.0f} tokens/s)" * bool(
        usage.reply_seconds
    )
    parts = {
        f"loading {usage.load_seconds:.1f} s": usage.load_seconds,
        f"reading {usage.prompt_seconds:.1f} s": usage.prompt_seconds,
        f"writing {usage.reply_seconds:.1f} s{speed}": usage.reply_seconds,
    }
    told = [words for words, seconds in parts.items() if seconds >= 0.05]
    return f": {', '.join(told)}" if told else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# ---- for scripts ---------------------------------------------------------------------------------


def event_json(event: Event) -> dict[str, Any]:
    """An event as plain JSON values, its name under "event"."""
    match event:
        case Asking(move, number, why):
            told = {"why": why} if why else {}
            return {"event": "asking", "move": move, "number": number, **told}
        case Chunk(text):
            return {"event": "chunk", "text": text}
        case Thinking(text):
            return {"event": "thinking", "text": text}
        case Replied(reply):
            return {"event": "replied", **_without_kind(to_json(reply))}
        case CallStarted(call):
            return {"event": "call_started", **_call(call)}
        case CallFinished(call, result, seconds):
            took = {"ok": result.ok, "text": result.text, "seconds": round(seconds, 3)}
            return {"event": "call_finished", **_call(call), **took}
        case Corrected(problem):
            return {"event": "corrected", **asdict(problem)}
        case Shrunk(note):
            return {"event": "shrunk", **_without_kind(to_json(note))}
        case Warning(text):
            return {"event": "warning", "text": text}
        case Answer():
            return {"event": "answer", **answer_json(event)}


def tool_lines(specs: Iterable[Spec]) -> Iterable[str]:
    """Functions in lines, each with the first line of its description."""
    listed = list(specs)
    width = max((len(spec["name"]) for spec in listed), default=0)
    for spec in listed:
        first = spec["description"].partition("\n")[0]
        yield f"{spec['name']:{width}}  {first}".rstrip()


def _call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "tool": call.tool, "tool_input": call.tool_input}


def _without_kind(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "kind"}
