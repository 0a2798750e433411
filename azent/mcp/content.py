"""What an MCP call came to, as text for a model, and a result of ours as MCP has it."""

from __future__ import annotations

import json

from mcp import types

from azent.messages import Result


def text_of(result: types.CallToolResult) -> str:
    """The text of a result; what is no text is named."""
    parts = [_part(block) for block in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


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
