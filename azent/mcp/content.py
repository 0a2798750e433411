"""What an MCP call came to, as text for a model, and a result of ours as MCP has it."""

from __future__ import annotations

import json
from typing import Any

from mcp import types

from azent.messages import Result


def text_of(result: types.CallToolResult) -> str:
    """The text of a result, and its value where the text does not say it; other parts are named."""
    parts = [_part(block) for block in result.content]
    value = result.structured_content
    if value is not None and not _says(parts, value):
        parts.append(json.dumps(value, ensure_ascii=False))
    return "\n".join(parts)


def _says(parts: list[str], value: Any) -> bool:
    """Is the value there as text already, as the protocol asks servers to have it?

    Servers wrap what is no object as {"result": value}, and write the items of a list one by one.
    """
    read = [_read(part) for part in parts]
    inner = value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value
    is_list = isinstance(inner, list) and bool(parts) and inner in (read, parts)
    return is_list or value in read or inner in read or inner in parts


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _part(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ResourceLink):
        return f"({block.name}: {block.uri})"
    if isinstance(block, types.EmbeddedResource):
        return _resource(block.resource)
    return f"({block.type} of {block.mime_type}, {len(block.data) * 3 // 4:,} bytes)"


def _resource(resource: types.ResourceContents) -> str:
    if isinstance(resource, types.TextResourceContents):
        return resource.text
    return f"({resource.mime_type or 'a file'}: {resource.uri})"


def as_mcp(result: Result) -> types.CallToolResult:
    """A result of ours for an MCP client."""
    block = types.TextContent(type="text", text=result.text)
    return types.CallToolResult(content=[block], is_error=not result.ok)
