"""The JSON Schema that a server's `format` is given, so that decoding is held to the protocol.

Servers turn it into a grammar, by converters that know only part of JSON Schema and fail, or hang,
on the rest. So what they do not know is left out: the reader validates the reply all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from azent.messages import Spec, Specs
from azent.reply.masks import mask_pattern
from azent.schema import inlined
from azent.schema.inline import without_references

_KEPT = ("type", "enum", "required", "minItems", "maxItems", "minimum", "maximum", "format")
_FORMATS = ("date", "time", "date-time", "uuid")
_MOST_ITEMS = 32  # a grammar spells repetitions out
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}


def reply_schema(
    specs: Specs,
    choice: str = "auto",
    *,
    thought: bool = False,
    least: int = 0,
    most: int | None = None,
    answers: bool = False,
) -> dict[str, Any]:
    """Return the schema of {"tools": [{"tool": name, "tool_input": {...}}]} for these tools.

    - `choice`: "none" allows only an empty list, "auto" any, "required" one call or more, and a
      tool's name that tool only.
    - `thought`: a string of that name comes first.
    - `least`, `most`: how many calls there may be.
    - `answers`: the reply may be {"answer": "..."} in place of calls.
    """
    properties = {"thought": {"type": "string"}} if thought else {}
    least = max(least, int(answers or choice != "auto"))
    properties["tools"] = _list(specs, choice, least, most)
    calls = {"type": "object", "properties": properties, "required": list(properties)}
    return {"anyOf": [calls, _ANSWER]} if answers else calls


def value_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an answer, as much of it as decoding can be held to."""
    return _known(without_references(inlined(schema)))


def _list(specs: Specs, choice: str, least: int, most: int | None) -> dict[str, Any]:
    offered = [spec for name, spec in specs.items() if choice in ("auto", "required", name)]
    if not offered:
        return {"enum": [[]]}
    calls = [_call(spec) for spec in offered]
    items = calls[0] if len(calls) == 1 else {"anyOf": calls}
    bounds = {"minItems": least or None, "maxItems": most}
    given = {key: min(value, _MOST_ITEMS) for key, value in bounds.items() if value is not None}
    return {"type": "array", "items": items, **given}


def _call(spec: Spec) -> dict[str, Any]:
    given = without_references(inlined(spec.get("parameters") or _NOTHING))
    return {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": [spec["name"]]},
            "tool_input": {"type": "object", **_known(given)},
        },
        "required": ["tool", "tool_input"],
    }


def _known(schema: Any) -> dict[str, Any]:
    """As much of a schema as grammars are made of."""
    if not isinstance(schema, Mapping):
        return {}
    if (union := _union(schema)) is not None:
        return union
    kept = {key: schema[key] for key in _KEPT if key in schema}
    kept |= _structure(schema)
    return _in_form(_without_null(_modest(kept)), schema)


def _in_form(kept: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A text in the form of the mask in its description, which small models seldom heed."""
    if kept.get("type") != "string" or "enum" in kept or "format" in kept:
        return kept
    pattern = mask_pattern(schema)
    return {**kept, "pattern": pattern} if pattern else kept


def _union(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A union without null: leaving an argument out says the same."""
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if not branches:
        return None
    about = {key: schema[key] for key in ("description", "default") if key in schema}
    if any(branch is True for branch in branches):
        return about
    known = [branch for branch in branches if isinstance(branch, Mapping)]
    real = [_known({**about, **branch}) for branch in known if not _is_null(branch)]
    unlike = [branch for at, branch in enumerate(real) if branch not in real[:at]]
    return unlike[0] if len(unlike) == 1 else {"anyOf": unlike} if unlike else {"type": "null"}


def _is_null(branch: Any) -> bool:
    return isinstance(branch, Mapping) and branch.get("type") == "null"


def _structure(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    if isinstance(schema.get("properties"), Mapping):
        kept["properties"] = {key: _known(part) for key, part in schema["properties"].items()}
    if isinstance(schema.get("prefixItems"), list):
        kept["prefixItems"] = [_known(part) for part in schema["prefixItems"]]
    elif isinstance(schema.get("items"), Mapping):
        kept["items"] = _known(schema["items"])
    if isinstance(schema.get("additionalProperties"), Mapping):
        kept["additionalProperties"] = _known(schema["additionalProperties"])
    return kept


def _modest(kept: dict[str, Any]) -> dict[str, Any]:
    """Without bounds that a grammar cannot count up to, or does not know."""
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    if kept.get("type") != "integer":
        kept.pop("minimum", None)
        kept.pop("maximum", None)
    for bound in ("minItems", "maxItems"):
        if kept.get(bound, 0) > _MOST_ITEMS:
            del kept[bound]
    return kept


def _without_null(kept: dict[str, Any]) -> dict[str, Any]:
    kinds = kept.get("type")
    if isinstance(kinds, list):
        real = [kind for kind in kinds if kind != "null"]
        kept["type"] = real[0] if len(real) == 1 else real or "null"
    if None in kept.get("enum", ()) and len(kept["enum"]) > 1:
        kept["enum"] = [choice for choice in kept["enum"] if choice is not None]
    return kept
