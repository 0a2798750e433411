"""Read and write OpenAI's chat completions, streamed as server-sent events or whole."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field

from azent.errors import RequestRefused
from azent.messages import Call, Usage
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

# azent's names of options by OpenAI's names; of two names for one option, the newer comes last.
OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
}
KINDS = {  # OpenAI's error type by HTTP status
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}


# ---- the format of bodies ------------------------------------------------------------------------


class FirstMisfit(FailFast):
    """pydantic's `FailFast`, made hashable, as a member of a union has to be."""

    __hash__ = object.__hash__


Item = TypeVar("Item")
Many: TypeAlias = Annotated[list[Item], FirstMisfit()]


class Open(BaseModel):
    """A pydantic model that keeps unknown fields."""

    model_config = ConfigDict(extra="allow")


class ImageUrl(Open):
    url: str


class Part(Open):
    type: str
    text: str | None = None
    image_url: ImageUrl | None = None


class CalledFunction(Open):
    name: str
    arguments: Any = ""


class ToolCall(Open):
    id: str = ""
    function: CalledFunction


class Message(Open):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Many[Part] | None = None
    name: str | None = None
    tool_calls: Many[ToolCall] | None = None
    tool_call_id: str | None = None


class Function(Open):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Open):
    type: Literal["function"] = "function"
    function: Function


class NamedFunction(Open):
    name: str


class NamedTool(Open):
    type: Literal["function"] = "function"
    function: NamedFunction


class JsonSchema(Open):
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")


class ResponseFormat(Open):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(Open):
    include_usage: bool | None = False


class ChatCompletion(Open):
    """The body of a request to /v1/chat/completions."""

    model: str
    messages: Many[Message] = Field(min_length=1)
    tools: Many[Tool] | None = None
    tool_choice: Literal["auto", "none", "required"] | NamedTool | None = None
    parallel_tool_calls: bool | None = True
    response_format: ResponseFormat | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = 1
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | Many[str] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


# ---- requests ------------------------------------------------------------------------------------


def wanted(body: Body) -> Wanted:
    """Read a chat request. Raises RequestRefused."""
    chat = shaped(ChatCompletion, body)
    if chat.n not in (None, 1):
        raise RequestRefused(f"n is {chat.n}: there is one choice for each request")
    specs = specs_of(tool.function.model_dump() for tool in chat.tools or ())
    return Wanted(
        model=chat.model,
        messages=tuple(map(_message, chat.messages)),
        specs=specs,
        choice=_choice(chat, specs),
        parallel=chat.parallel_tool_calls is not False,
        output=_output(chat.response_format),
        options=_options(chat, body),
        stream=bool(chat.stream),
        count_tokens=bool(chat.stream_options and chat.stream_options.include_usage),
    )


def _message(message: Message) -> ClientMessage:
    parts = message.content if isinstance(message.content, list) else []
    text = message.content if isinstance(message.content, str) else _text(parts)
    role = {"developer": "system", "function": "tool"}.get(message.role, message.role)
    calls = tuple(
        Call(call.function.name, arguments_of(call.function.arguments), id=call.id)
        for call in message.tool_calls or ()
    )
    images = tuple(_image(part.image_url.url) for part in parts if part.image_url)
    return ClientMessage(role, text, images, calls, message.tool_call_id or "", message.name or "")


def _text(parts: list[Part]) -> str:
    return "\n".join(part.text for part in parts if part.text)


def _image(url: str) -> str:
    head, comma, data = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        hint = "Send it along: data:image/png;base64,..."
        raise RequestRefused("an image beside tools must be a data URL; none is fetched", hint)
    return image_of(data)


def _choice(chat: ChatCompletion, specs: Mapping[str, Any]) -> str:
    if isinstance(chat.tool_choice, NamedTool):
        name = chat.tool_choice.function.name
        if name not in specs:
            raise RequestRefused(f"tool_choice names {name!r}, which is not among the tools")
        return name
    if chat.tool_choice == "required" and not specs:
        raise RequestRefused("tool_choice is 'required', and there are no tools")
    return chat.tool_choice or "auto"


def _output(wanted: ResponseFormat | None) -> dict[str, Any] | None:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return {"type": "object"}
    schema = wanted.json_schema.json_schema if wanted.json_schema else None
    if schema is None:
        raise RequestRefused("response_format lacks its json_schema")
    check_schemas([schema])
    return schema


def _options(chat: ChatCompletion, body: Body) -> dict[str, Any]:
    """Return the options by azent's names; unknown ones are passed on to the model's server."""
    known = {ours: body[theirs] for theirs, ours in OPTIONS.items() if body.get(theirs) is not None}
    given = {**(chat.model_extra or {}), **known}
    if isinstance(given.get("stop"), str):
        given["stop"] = [given["stop"]]
    return given


# ---- replies -------------------------------------------------------------------------------------


def whole(reply: Whole, heading: Heading) -> Body:
    """Return a reply as one object."""
    message: Body = {"role": "assistant", "content": reply.text or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.finish.calls:
        message["tool_calls"] = [_call(call) for call in reply.finish.calls]
    elif not reply.text:
        message["content"] = ""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _why(reply.finish)}
    usage = _usage(reply.finish.usage)
    return {**_head(heading, "chat.completion"), "choices": [choice], "usage": usage}


async def stream(
    pieces: AsyncIterator[Piece], heading: Heading, wanted: Wanted
) -> AsyncIterator[bytes]:
    """Yield a reply as server-sent events."""
    first: Body = {"role": "assistant", "content": ""}
    async for piece in pieces:
        match piece:
            case Words(text):
                yield _event(heading, {**first, "content": text})
            case Thoughts(text):
                yield _event(heading, {**first, "reasoning_content": text})
            case Finish():
                for delta in _last_deltas(piece, first):
                    yield _event(heading, delta)
                yield _event(heading, {}, _why(piece))
                if wanted.count_tokens:
                    yield _usage_event(heading, piece.usage)
        first = {}
    yield b"data: [DONE]\n\n"


def _last_deltas(finish: Finish, first: Body) -> list[Body]:
    """Return the last deltas; each call has two, as clients expect: its name, then its input."""
    deltas = [{**first, "content": None if finish.calls else ""}] if first else []
    for index, call in enumerate(finish.calls):
        whole = _call(call)
        function = whole["function"]
        named = {**whole, "function": {**function, "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **named}]})
        arguments = {"arguments": function["arguments"]}
        deltas.append({"tool_calls": [{"index": index, "function": arguments}]})
    return deltas


def _call(call: Call) -> Body:
    arguments = json.dumps(call.tool_input, ensure_ascii=False)
    function = {"name": call.tool, "arguments": arguments}
    return {"id": new_id("call_"), "type": "function", "function": function}


def _why(finish: Finish) -> str:
    if finish.calls:
        return "tool_calls"
    return "length" if finish.reason == "length" else "stop"


def _head(heading: Heading, kind: str) -> Body:
    created = int(heading.created)
    return {"id": heading.id, "object": kind, "created": created, "model": heading.model}


def _event(heading: Heading, delta: Body, why: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": why}
    return _data({**_head(heading, "chat.completion.chunk"), "choices": [choice]})


def _usage_event(heading: Heading, usage: Usage) -> bytes:
    head = _head(heading, "chat.completion.chunk")
    return _data({**head, "choices": [], "usage": _usage(usage)})


def _data(value: Body) -> bytes:
    return b"data: " + line(value) + b"\n\n"


def _usage(usage: Usage) -> Body:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.reply_tokens,
        "total_tokens": usage.prompt_tokens + usage.reply_tokens,
    }


def error(status: int, message: str) -> Body:
    """Return an error in OpenAI's format."""
    kind = KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def broken(status: int, message: str) -> bytes:
    """Return an error for a stream that has started."""
    return _data(error(status, message))


OPENAI = Protocol(
    name="openai",
    prefix="/v1",
    path="/v1/chat/completions",
    wanted=wanted,
    stream=stream,
    whole=whole,
    error=error,
    broken=broken,
    media_type="text/event-stream",
)
