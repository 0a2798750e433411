"""Read and write chats in Ollama's protocol, streamed as lines of JSON or whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field

from azent.errors import RequestRefused
from azent.messages import Call, Usage
from azent.serve.openai import Function, Many, NamedTool, Open, ToolCall
from azent.serve.protocol import (
    Body,
    Finish,
    Heading,
    Piece,
    Protocol,
    Thoughts,
    Whole,
    Words,
    line,
    new_id,
    shaped,
)
from azent.serve.translate import (
    ClientMessage,
    Wanted,
    arguments_of,
    check_schemas,
    image_of,
    specs_of,
)

NOT_FOR_CLIENTS = {"num_ctx"}  # a changed context window makes the server load the model again
NANOSECONDS = 1_000_000_000


# ---- the format of bodies ------------------------------------------------------------------------


class ChatMessage(Open):
    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = ""
    images: Many[str] | None = None
    tool_calls: Many[ToolCall] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class ChatTool(Open):
    type: str | None = "function"
    function: Function


class Chat(Open):
    """The body of a request to /api/chat. `tool_choice` is azent's; Ollama itself has none."""

    model: str
    messages: Many[ChatMessage] = Field(min_length=1)
    tools: Many[ChatTool] | None = None
    tool_choice: Literal["auto", "none", "required"] | NamedTool | None = None
    format: Literal["", "json"] | dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    stream: bool | None = True


# ---- requests ------------------------------------------------------------------------------------


def wanted(body: Body) -> Wanted:
    """Read a chat request. Raises RequestRefused."""
    chat = shaped(Chat, body)
    check_schemas([chat.format])
    specs = specs_of(tool.function.model_dump() for tool in chat.tools or ())
    return Wanted(
        model=chat.model,
        messages=tuple(map(_message, chat.messages)),
        specs=specs,
        choice=_choice(chat, specs),
        output={"type": "object"} if chat.format == "json" else chat.format or None,
        options={k: v for k, v in (chat.options or {}).items() if k not in NOT_FOR_CLIENTS},
        stream=chat.stream is not False,
    )


def _message(message: ChatMessage) -> ClientMessage:
    calls = tuple(
        Call(call.function.name, arguments_of(call.function.arguments or {}), id=call.id)
        for call in message.tool_calls or ()
    )
    return ClientMessage(
        message.role,
        message.content or "",
        tuple(map(image_of, message.images or ())),
        calls,
        message.tool_call_id or "",
        message.tool_name or "",
    )


def _choice(chat: Chat, specs: Mapping[str, Any]) -> str:
    choice = chat.tool_choice
    name = choice.function.name if isinstance(choice, NamedTool) else choice or "auto"
    if name in ("auto", "none") or name in specs or (name == "required" and specs):
        return name
    raise RequestRefused(f"tool_choice is {name!r}, which is not among the tools")


# ---- replies -------------------------------------------------------------------------------------


def whole(reply: Whole, heading: Heading) -> Body:
    """Return a reply as one object."""
    message: Body = {"role": "assistant", "content": reply.text}
    if reply.thinking:
        message["thinking"] = reply.thinking
    if reply.finish.calls:
        message["tool_calls"] = _calls(reply.finish.calls)
    return {**_head(heading), "message": message, **_end(reply.finish)}


async def stream(
    pieces: AsyncIterator[Piece], heading: Heading, wanted: Wanted
) -> AsyncIterator[bytes]:
    """Yield a reply as lines of JSON."""
    async for piece in pieces:
        match piece:
            case Words(text):
                yield _line(heading, {"content": text})
            case Thoughts(text):
                yield _line(heading, {"content": "", "thinking": text})
            case Finish(calls):
                if calls:
                    yield _line(heading, {"content": "", "tool_calls": _calls(calls)})
                yield _line(heading, {"content": ""}, _end(piece))


def _line(heading: Heading, part: Body, end: Mapping[str, Any] | None = None) -> bytes:
    message = {"role": "assistant", **part}
    return line({**_head(heading), "message": message, **(end or {"done": False})}) + b"\n"


def _head(heading: Heading) -> Body:
    created = datetime.fromtimestamp(heading.created, UTC)
    return {"model": heading.model, "created_at": created.isoformat().replace("+00:00", "Z")}


def _calls(calls: tuple[Call, ...]) -> list[Body]:
    return [
        {
            "id": new_id("call_"),
            "function": {"index": index, "name": call.tool, "arguments": call.tool_input},
        }
        for index, call in enumerate(calls)
    ]


def _end(finish: Finish) -> Body:
    usage = finish.usage
    reason = "length" if finish.reason == "length" and not finish.calls else "stop"
    return {"done": True, "done_reason": reason, **_counts(usage)}


def _counts(usage: Usage) -> Body:
    return {
        "total_duration": int(usage.seconds * NANOSECONDS),
        "load_duration": int(usage.load_seconds * NANOSECONDS),
        "prompt_eval_count": usage.prompt_tokens,
        "prompt_eval_duration": int(usage.prompt_seconds * NANOSECONDS),
        "eval_count": usage.reply_tokens,
        "eval_duration": int(usage.reply_seconds * NANOSECONDS),
    }


def error(status: int, message: str) -> Body:
    """Return an error in Ollama's format."""
    return {"error": message}


def broken(status: int, message: str) -> bytes:
    """Return an error for a stream that has started."""
    return line(error(status, message)) + b"\n"


OLLAMA = Protocol(
    name="ollama",
    prefix="/api",
    path="/api/chat",
    wanted=wanted,
    stream=stream,
    whole=whole,
    error=error,
    broken=broken,
    media_type="application/x-ndjson",
)
