"""The bodies that clients send, as pydantic is to know them.

Only what azent reads is described; what else there is, is let through, as both servers do. Lists
are checked up to the first item that does not fit: one reason is enough to refuse a request, and
collecting thousands takes seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field


class FirstMisfit(FailFast):
    """pydantic's `FailFast`, with the hash that a part of a union needs."""

    __hash__ = object.__hash__


Item = TypeVar("Item")
Many: TypeAlias = Annotated[list[Item], FirstMisfit()]


class Open(BaseModel):
    """A shape that lets through what it does not know."""

    model_config = ConfigDict(extra="allow")


# ---- OpenAI --------------------------------------------------------------------------------------


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


# ---- Ollama --------------------------------------------------------------------------------------


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
