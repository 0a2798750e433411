"""What servers answer, in the forms that the SDK accepts. Pure.

The SDK refuses a whole list of tools for one of them, and a whole result for one part of it. So a
list keeps the tools that can be offered, and a result keeps its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from azent.errors import SchemaError
from azent.schema.foreign import foreign_parameters

Report = Callable[[str], None]

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# What each kind of content cannot be without, beside its type.
_CONTENT: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"name": str, "uri": str},
    "resource": {"resource": dict},
}


def mended(result: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
    """A server's answer to a request; `report` is told which tools cannot be offered."""
    if "tools" in result:
        return _listing(result, report)
    return _call_result(result) if {"content", "structuredContent"} & result.keys() else result


# ---- lists of tools ------------------------------------------------------------------------------


def _listing(result: Mapping[str, Any], report: Report) -> dict[str, Any]:
    listed = result["tools"] if isinstance(result["tools"], list) else []
    tools = [tool for tool in (_tool(each, report) for each in listed) if tool is not None]
    cursor = result.get("nextCursor")
    rest = {key: value for key, value in result.items() if key not in ("tools", "nextCursor")}
    return {**rest, "tools": tools, **({"nextCursor": cursor} if isinstance(cursor, str) else {})}


def _tool(listed: Any, report: Report) -> dict[str, Any] | None:
    """What azent needs to know of a tool; None, and a word on it, where it cannot be offered.

    An `outputSchema` is left out: the SDK would refuse the text of a result that misses it.
    """
    name = listed.get("name") if isinstance(listed, dict) else None
    if not isinstance(name, str):
        report("a tool without a name is not offered")
        return None
    try:
        parameters = foreign_parameters(name, listed.get("inputSchema"))
    except SchemaError as error:
        report(f"{error}; the tool is not offered")
        return None
    texts = {key: listed[key] for key in ("title", "description") if _is_text(listed.get(key))}
    hints = listed.get("annotations")
    known = hints if isinstance(hints, dict) else {}
    annotations = {key: known[key] for key in _HINTS if isinstance(known.get(key), bool)}
    return {"name": name, **texts, "inputSchema": parameters, "annotations": annotations}


# ---- results of calls ----------------------------------------------------------------------------


def _call_result(result: Mapping[str, Any]) -> dict[str, Any]:
    made = {**result, "content": [_block(each) for each in _blocks(result.get("content"))]}
    structured = made.pop("structuredContent", None)
    if structured is not None:
        is_object = isinstance(structured, dict)
        made["structuredContent"] = structured if is_object else {"result": structured}
    if "isError" in made:
        made["isError"] = bool(made["isError"])
    return made


def _blocks(content: Any) -> Iterator[Any]:
    if isinstance(content, list):
        yield from content
    elif content is not None:
        yield content


def _block(content: Any) -> dict[str, Any]:
    """One part of a result; what is none of the kinds that the protocol has, as text."""
    if not isinstance(content, dict):
        return {"type": "text", "text": content if _is_text(content) else _written(content)}
    needed = _CONTENT.get(str(content.get("type")), {})
    given = {**content, "mimeType": content.get("mimeType") or "application/octet-stream"}
    if needed and all(isinstance(given.get(key), kind) for key, kind in needed.items()):
        return {"type": content["type"], **{key: given[key] for key in needed}}
    text = content.get("text")
    return {"type": "text", "text": text if _is_text(text) else _written(content)}


def _written(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
