"""Make the JSON Schema that a server holds the decoding of a reply to.

Servers turn it into a grammar, by converters that know only part of JSON Schema and fail, or hang,
on the rest. So what they do not know is left out: the reader validates the reply all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from azent.messages import Call, Reply, Spec, Specs
from azent.parsing.answers import read_words
from azent.schema.references import inlined, without_references
from azent.values.lenient_json import literal
from azent.values.strict_json import TooDeep

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
    given = spec.get("parameters") or _NOTHING
    return {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": [spec["name"]]},
            "tool_input": _input(given),
        },
        "required": ["tool", "tool_input"],
    }


def _input(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema that the input of a call is held to, worked out once for equal parameters.

    The text of the parameters is the key, so that a schema which its owner changes is read anew,
    and the result is a copy.
    """
    try:
        written = json.dumps(parameters)
    except (TypeError, ValueError, RecursionError):  # not JSON: it may be refused with a reason
        return _held_input(parameters)
    copied: dict[str, Any] = json.loads(_held_input_as_text(written))
    return copied


@lru_cache(maxsize=1024)
def _held_input_as_text(written: str) -> str:
    return json.dumps(_held_input(json.loads(written)))


def _held_input(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", **_known(without_references(inlined(parameters)))}


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


# ---- masks in descriptions, as patterns for decoding ---------------------------------------------
# Descriptions in every language say "YYYY-MM-DD", "DD/MM/YYYY" or "HH:MM", and small models write
# "April 15" and "7 PM" all the same. Held to the mask, they write figures in its order. Where a
# description has several masks, or a default has another form, the model is free.
#
# The patterns are of the simplest sort, as the converters of servers want them.

LONGEST = 1000  # characters of a description that are looked at
DATE = r"YYYY([-/.])MM\1DD|MM([-/.])DD\2YYYY|DD([-/.])MM\3YYYY"
TIME = r"HH:MM(?::SS)?"
# A mask stands alone: no letter, figure or separator goes on before or behind it, nor does "AM".
MASK = re.compile(
    rf"(?<![\w/:.-])(?:(?:{DATE})(?:[T ]{TIME}Z?)?|{TIME}Z?)(?![\w/:-]|\.\w| ?[AP]\.?M\b)",
    re.IGNORECASE | re.ASCII,
)
FIGURES = re.compile("Y+|M+|D+|H+|S+")


def mask_pattern(schema: Mapping[str, Any]) -> str | None:
    """The pattern of the mask in the description of a text; None where it has none, or several."""
    description = str(schema.get("description") or "")[:LONGEST]
    masks = [match[0].upper() for match in MASK.finditer(description)]
    if len(masks) != 1:
        return None
    pattern = _in_figures(masks[0])
    default = schema.get("default")
    return pattern if default is None or re.fullmatch(pattern, str(default)) else None


def _in_figures(mask: str) -> str:
    """The pattern of a mask: each of its letters stands for a figure, T and Z for themselves."""
    digits = FIGURES.sub(lambda run: f"[0-9]{{{len(run[0])}}}", mask.replace(".", "[.]"))
    return f"^{digits}$"


# ---- replies that only narrow a decision down ----------------------------------------------------
#     gate     yes
#     choose   {"asked": "...", "functions": {"add": "yes", "weather": "no"}}
#     list     {"asked": ["the weather in Oslo", "the weather in Rome"]}
#
# They hold no calls and no words for a person. A reply that cannot be read narrows nothing down:
# the decision that follows is then asked for as if this one had not been.

Narrowing: TypeAlias = Literal["gate", "choose", "list"]
WORDS = {"type": "string", "maxLength": 80}
MOST_LISTED = 8
YES = {"yes", "true", "y", "1", "是"}
NO = re.compile(r"\W*(no|none|否|不)\b", re.IGNORECASE)


def narrowing_schema(move: Narrowing, names: Iterable[str]) -> dict[str, Any] | None:
    """The schema that a reply of this kind is held to, if any, for functions of these names."""
    if move == "gate":
        return None
    if move == "list":
        asked = {"type": "array", "items": WORDS, "minItems": 1, "maxItems": MOST_LISTED}
        return _object({"asked": asked})
    verdicts = {name: {"type": "string", "enum": ["yes", "no"]} for name in names}
    return _object({"asked": WORDS, "functions": _object(verdicts)})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def read_narrowing(text: str, move: Narrowing, names: Iterable[str]) -> Reply:
    """What a reply of this kind says: the functions, or the things asked for. Never raises.

    A no at the gate picks no function; anything else there leaves it open.
    """
    if move == "gate":
        return Reply(move=move, picked=() if NO.match(read_words(text).text) else None, raw=text)
    said = _value(read_words(text).text)
    if not isinstance(said, Mapping):
        return Reply(move=move, raw=text)
    picked = _listed(said.get("asked")) if move == "list" else _chosen(said, tuple(names))
    return Reply(move=move, picked=picked, raw=text)


def _value(text: str) -> Any:
    """The object in a text, fence or words around it or not."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        return literal(text[begin : end + 1]) if 0 <= begin < end else None
    except (ValueError, TooDeep):
        return None


def _listed(asked: Any) -> tuple[str, ...] | None:
    things = [each.strip() for each in asked if isinstance(each, str)] if _is_list(asked) else []
    return tuple(dict.fromkeys(filter(None, things))) or None


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _chosen(said: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The functions that are said to be needed; None where none of them is spoken of."""
    verdicts = said.get("functions", said)
    if _is_list(verdicts):
        return tuple(name for name in names if name in verdicts)
    if not isinstance(verdicts, Mapping) or not any(name in verdicts for name in names):
        return None
    return tuple(name for name in names if str(verdicts.get(name)).strip().lower() in YES)


class NarrowingReader:
    """Reads such a reply while it streams: the methods of `Reader`, with nothing to show."""

    def __init__(self, move: Narrowing, names: Iterable[str]) -> None:
        self._move: Narrowing = move
        self._names = tuple(names)
        self._texts: list[str] = []

    def feed(self, piece: str) -> list[Call]:
        """Take a piece of text; there are never calls in it."""
        self._texts.append(piece)
        return []

    def begin_in_reasoning(self) -> None:
        """Nothing: what is shown does not depend on it."""

    def native(self, call: Call) -> None:
        """Calls that the server read have no place here."""

    def words(self) -> str:
        """Nothing of it is for a person."""
        return ""

    def thoughts(self) -> str:
        """Nor is any of it reasoning to show."""
        return ""

    def close(self, done_reason: str = "stop") -> Reply:
        """The whole reply, as `read_narrowing` has it."""
        return read_narrowing("".join(self._texts), self._move, self._names)
