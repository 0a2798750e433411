"""Resolve names of tools and arguments, and compare JSON values.

A name matches if it is offered, or equals exactly one offered name after case, punctuation and
invented prefixes are removed. Similar spelling never matches: the problem suggests the closest
name, and the model decides.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from azent.values.strict_json import Number

_INVENTED = ("functions", "function", "defaultapi", "tools", "tool", "api", "mcp", "assistant")
_MARKER = re.compile(r"<[|｜].*|\[(?:ARGS|CALL_ID|TOOL_CALLS)\].*", re.DOTALL)
_DECORATION = " \t\r\n\"'`*“”"
_NUMBERED = re.compile(r":\d+$")
_CALLED = re.compile(r"\(\s*\)$")
_LONGEST = 300
_MOST_PARTS = 8
_SEPARATOR = re.compile(r"[.:/]|__")


def resolved(name: str, offered: Collection[str]) -> str | None:
    """Return the offered name that `name` means; None if there is none, or more than one."""
    if name in offered:
        return name
    if len(name) > _LONGEST:
        return None
    cleaned = _cleaned(name)
    if cleaned in offered:
        return cleaned
    return _only(_folded_matches(cleaned, offered))


def nearest(name: str, offered: Iterable[str]) -> str | None:
    """Return the offered name most similar to a wrong one, or None."""
    by_fold = {folded(each): each for each in offered}
    close = difflib.get_close_matches(folded(name), list(by_fold), n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return a name without case and punctuation, in Unicode's normal form."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


def _cleaned(name: str) -> str:
    bare = _MARKER.sub("", unicodedata.normalize("NFC", name)).strip(_DECORATION)
    return _CALLED.sub("", _NUMBERED.sub("", bare)).replace("\\_", "_").strip(_DECORATION)


def _only(names: list[str]) -> str | None:
    return names[0] if len(set(names)) == 1 else None


def _folded_matches(name: str, offered: Collection[str]) -> list[str]:
    """Return the offered names that match, at the strictest level with any match."""
    for wanted in _forgiven(name):
        if matches := [each for each in offered if wanted and folded(each) == wanted]:
            return matches
    last = folded(name)
    return [each for each in offered if last and last == folded(_parts(each)[-1])]


def _forgiven(name: str) -> Iterable[str]:
    """Yield the folded name, then without namespaces before it, then without invented prefixes."""
    yield folded(name)
    parts = _parts(name)
    for begin in range(1, min(len(parts), _MOST_PARTS)):
        yield folded("".join(parts[begin:]))
    for prefix in _INVENTED:
        if folded(name).startswith(prefix):
            yield folded(name).removeprefix(prefix)


def _parts(name: str) -> list[str]:
    return _SEPARATOR.split(name)


# ---- the kinds of JSON values --------------------------------------------------------------------

Schema = Mapping[str, Any]

IS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "integer": lambda value: (
        type(value) is int
        or (isinstance(value, float) and value.is_integer() and abs(value) < 2**53)
    ),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def kinds_of(schema: Schema) -> tuple[str, ...]:
    """Return the types that a schema names; empty if it allows any."""
    kind = schema.get("type")
    if kind is None and "properties" in schema:
        return ("object",)
    return (kind,) if isinstance(kind, str) else tuple(kind or ())


def choices_of(schema: Schema) -> list[Any]:
    """Return the values of a schema's `enum` or `const`; empty without these."""
    if "const" in schema:
        return [schema["const"]]
    choices = schema.get("enum")
    return list(choices) if isinstance(choices, list) else []


def same(one: Any, other: Any) -> bool:
    """Return whether JSON values are equal: 1 equals 1.0, but neither true nor "1"."""
    same_kind = isinstance(one, bool) == isinstance(other, bool)
    return same_kind and isinstance(one, str) == isinstance(other, str) and bool(one == other)


def written_as(value: Any) -> str | None:
    """Return a scalar as it was written, or None for null, objects and lists."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Number):
        return value.text
    return repr(value) if isinstance(value, (int, float)) else None


def folded_choice(choice: Any) -> str | None:
    """Return a scalar as it was written, without case and punctuation."""
    written = written_as(choice)
    return None if written is None else folded(written)


def whole(text: str) -> Any:
    """Return the integer that a number's text means, or the text if it has a fraction."""
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else text
