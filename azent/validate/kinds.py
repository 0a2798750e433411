"""The types of JSON values, and equality between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from azent.literals import Number
from azent.validate.names import folded

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
