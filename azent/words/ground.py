"""Calls held against what was said: a model with nothing to go by invents its inputs. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from azent.words.numbers import ARTICLE
from azent.words.plain import content_words
from azent.words.said import said, speak_alike, told, unspoken

# What is known of a place once its name is: nobody says it.
OF_A_PLACE = frozenset({"state", "province", "region", "country", "continent"})
# A description that lists what may be given, and one that only gives examples.
LISTING = re.compile(
    r"\b(?:one of|options?|either|allowed|choices|can be|must be)\b", re.IGNORECASE
)
EXAMPLES = re.compile(r"\be\.?g\b|\bsuch as\b|\bexamples?\b|\betc\b", re.IGNORECASE)
# Words of a switch's description that tell nothing of what it is for.
SWITCHING = frozenset({"whether", "flag", "indicate", "indicates", "enable", "enabled", "include",
                       "includes", "boolean", "should", "option"})  # fmt: skip


def grounded(
    tool_input: Mapping[str, Any], parameters: Mapping[str, Any], text: str, share: float = 1.0
) -> bool:
    """Is this share of the inputs that a function requires found in the text?

    Choices, switches and defaults stand in the schema, so they need not be in the text; nor need
    what cannot be told, and what follows from a place that is named beside it.
    """
    properties, required = _of(parameters)
    verdicts = [
        told(value, properties.get(name), text)
        for name, value in tool_input.items()
        if name in required and not _is_given(value, properties.get(name))
        if not (name in OF_A_PLACE and len(required) > 1)
    ]
    judged = [verdict for verdict in verdicts if verdict is not None]
    return sum(judged) >= share * len(judged)


def _is_given(value: Any, schema: Any) -> bool:
    """Does the schema itself give the value?"""
    if not isinstance(schema, Mapping):
        return False
    by_type = _is_choice(schema) or schema.get("type") == "boolean"
    return by_type or _is_default(value, schema) or _is_listed(value, schema)


def _is_choice(schema: Mapping[str, Any]) -> bool:
    """Is it one of some values, or a list of them?"""
    items = schema.get("items")
    return "enum" in schema or (isinstance(items, Mapping) and "enum" in items)


def _is_listed(value: Any, schema: Mapping[str, Any]) -> bool:
    """Does the description list the value among all that may be given: "one of: 1d|1wk|1mo"?"""
    about = str(schema.get("description") or "")
    if not isinstance(value, str) or not LISTING.search(about) or EXAMPLES.search(about):
        return False
    return bool(value) and bool(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", about))


def _is_default(value: Any, schema: Mapping[str, Any]) -> bool:
    return "default" in schema and schema["default"] == value


def without_invented(
    tool_input: Mapping[str, Any], parameters: Mapping[str, Any], text: str
) -> dict[str, Any]:
    """The inputs without optional ones that the text does not give, or gives another input."""
    properties, required = _of(parameters)
    meant = {
        name: _within(value, properties.get(name), text)
        for name, value in tool_input.items()
        if name in required or _is_meant(name, value, properties, text)
    }
    return _once(meant, required, text)


def _once(tool_input: Mapping[str, Any], required: Sequence[str], text: str) -> dict[str, Any]:
    """The inputs without words that one surely takes: an artist is not what its album is called."""
    words = Counter(filter(_is_words, tool_input.values()))
    shared = [n for n, value in tool_input.items() if _is_words(value) and words[value] > 1]
    sure = {name for name in shared if name in required or _is_named(name, text)}
    taken = {tool_input[name] for name in sure}
    again = {name for name in shared if name not in sure and tool_input[name] in taken}
    return {name: value for name, value in tool_input.items() if name not in again}


def _is_words(value: Any) -> bool:
    return isinstance(value, str) and not _is_switch(value)


def _within(value: Any, schema: Any, text: str) -> Any:
    """An object without what nobody gave in it; any other value as it is."""
    nested = isinstance(value, Mapping) and isinstance(schema, Mapping) and "properties" in schema
    return without_invented(value, schema, text) if nested else value


def _is_meant(name: str, value: Any, properties: Mapping[str, Any], text: str) -> bool:
    schema = properties.get(name)
    if not isinstance(schema, Mapping):
        return True
    if _is_switch(value):
        return _is_spoken_of(name, properties, text)
    if isinstance(value, list | dict):
        return bool(value) and said(value, text) is not False
    if _is_choice(schema) and _is_named(name, text):
        return True
    return bool(told(value, schema, ARTICLE.sub(" ", text)))


def _is_named(name: str, text: str) -> bool:
    """Has a text all the words of an input's name? "The strongest wind strength" is HIGH."""
    words = content_words(name)
    return bool(words) and not unspoken(words, text)


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool) or str(value).lower() in ("true", "false")


def _is_spoken_of(name: str, properties: Mapping[str, Any], text: str) -> bool:
    """Is a switch, which has no value that could be said, spoken of by its name or its use?

    What the other inputs are described by too tells nothing of this one.
    """
    others = "\n".join(_described(other, properties) for other in properties if other != name)
    own = content_words(_described(name, properties)) - content_words(others)
    known = (content_words(name) | own) - SWITCHING
    return not known or speak_alike(known, text)


def _described(name: str, properties: Mapping[str, Any]) -> str:
    schema = properties[name]
    return str(schema.get("description") or "") if isinstance(schema, Mapping) else ""


def _of(parameters: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[str]]:
    """What a schema has, and what of it it requires; old schemas say `required: true` of a part."""
    properties, required = parameters.get("properties"), parameters.get("required")
    return (
        properties if isinstance(properties, Mapping) else {},
        required if isinstance(required, list | tuple) else (),
    )
