"""What a function returned, as text that a model can read: short, honest, and never an exception.

A string is given as it is, all else as JSON, as far as there is a JSON form. Nothing is built whole
before it is known to be small: what is written stops at a bound, and the text says what is missing.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import fractions
import inspect
import io
import json
import pathlib
import re
import types
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

_MOST = 2_000_000  # characters that are written at most, whatever the limit is
_DEEPEST = 40
_MOST_SORTED = 10_000
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TEXTS = (datetime.timedelta, uuid.UUID, pathlib.PurePath, fractions.Fraction, complex)
_BYTES = (bytes, bytearray, memoryview)
_LISTS = (Set, Sequence, collections.deque, Iterator, collections.abc.ValuesView)


def text_of(value: Any, limit: int | None = None) -> str:
    """A returned value as text, in about `limit` characters.

    What is cut keeps its head and its tail, and says how many characters were omitted between
    them; of a value too large to be written out, only the head is known.
    """
    try:
        text = _string(value)
        return _legible(_written(value, limit) if text is None else _cut(text, limit))
    except Exception as error:  # whatever an object of somebody's own may do
        return f"({_kind(value)} that cannot be shown: {type(error).__name__})"


def _written(value: Any, limit: int | None) -> str:
    pieces, length = [], 0
    for piece in _pieces(value, ()):
        pieces.append(piece)
        length += len(piece)
        if length > _MOST:
            shown = "".join(pieces)[: _MOST if limit is None else limit]
            return f"{shown}\n... more than {length - len(shown):,} characters omitted ..."
    return _cut("".join(pieces), limit)


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    kept = max(limit - len(f"\n... {len(text):,} characters omitted ...\n"), 0)
    tail = kept // 3
    omitted = f"... {len(text) - kept:,} characters omitted ..."
    return "\n".join(filter(None, (text[: kept - tail], omitted, text[len(text) - tail :])))


def _legible(text: str) -> str:
    """The text without lone surrogates, which no encoding can carry."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ---- JSON, piece by piece ------------------------------------------------------------------------


def _pieces(value: Any, around: tuple[int, ...]) -> Iterator[str]:
    """The JSON text of a value. `around` holds the ids of the values it stands in."""
    if (text := _string(value)) is not None:
        yield _quoted(text)
    elif (number := _number(value)) is not None:
        yield number
    elif id(value) in around:
        yield _quoted("(this contains itself)")
    elif len(around) > _DEEPEST:
        yield _quoted("(nested too deeply to be shown)")
    elif (fields := _fields(value)) is not None:
        yield from _object(fields, (*around, id(value)))
    elif _is_list(value):
        yield from _array(value, (*around, id(value)))
    else:
        yield _quoted(_described(value))


def _object(fields: Iterable[tuple[Any, Any]], around: tuple[int, ...]) -> Iterator[str]:
    yield "{"
    for index, (key, value) in enumerate(fields):
        yield f"{', ' if index else ''}{_quoted(_key(key))}: "
        yield from _pieces(value, around)
    yield "}"


def _array(items: Iterable[Any], around: tuple[int, ...]) -> Iterator[str]:
    yield "["
    for index, item in enumerate(_each(items)):
        yield ", " if index else ""
        yield from _pieces(item, around)
    yield "]"


def _each(items: Iterable[Any]) -> Iterator[Any]:
    """The items, sets in order; a generator that fails midway ends with a word on it."""
    if isinstance(items, Set) and len(items) <= _MOST_SORTED:
        items = _sorted(items)
    try:
        yield from items
    except Exception as error:
        yield f"(it stopped here: {type(error).__name__}: {error})"


def _sorted(items: Iterable[Any]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=repr)


def _quoted(text: str) -> str:
    # A longer string goes over the bound anyway: no need to quote all of it.
    return json.dumps(text[: _MOST + 1], ensure_ascii=False)


def _key(key: Any) -> str:
    text = _string(key)
    if text is None and isinstance(key, tuple):
        return ", ".join(map(_key, key))
    return (_number(key) or _described(key)) if text is None else text


# ---- what each kind of value is ------------------------------------------------------------------


def _string(value: Any) -> str | None:
    """The text of a value that is a string, or that JSON has as one; None for others."""
    if isinstance(value, enum.Enum):
        return _string(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, _BYTES):
        size = value.nbytes if isinstance(value, memoryview) else len(value)
        return f"({type(value).__name__} of {size:,} bytes)"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, _TEXTS) else None


def _number(value: Any) -> str | None:
    """The JSON text of a number, a truth value or nothing; None for others."""
    if isinstance(value, enum.Enum):
        return _number(value.value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        is_short = value.bit_length() < 10_000
        return (
            int.__repr__(value) if is_short else _quoted(f"(a {value.bit_length():,} bit integer)")
        )
    if isinstance(value, float | Decimal):
        is_finite = value.is_finite() if isinstance(value, Decimal) else value - value == 0
        return str(value) if is_finite else _quoted(str(value))
    return _number(value.item()) if _is_array(value) and value.shape == () else None


def _fields(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """The named parts of a value that has such; None for others."""
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, type | BaseException):
        return None
    if hasattr(value, "model_dump"):  # pydantic, which need not be loaded for this
        return dict(value.model_dump(warnings=False)).items()
    names = _field_names(value)
    return None if names is None else ((name, getattr(value, name)) for name in names)


def _field_names(value: Any) -> Iterable[str] | None:
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return getattr(value, "_fields", None)
    if hasattr(value, "__attrs_attrs__"):
        return [attribute.name for attribute in value.__attrs_attrs__]
    has_own_words = "__repr__" in {name for each in type(value).__mro__[:-1] for name in vars(each)}
    if has_own_words or not getattr(value, "__dict__", None) or callable(value):
        return None
    return [name for name in vars(value) if not name.startswith("_")]


def _is_list(value: Any) -> bool:
    is_open = isinstance(value, io.IOBase)
    return _is_array(value) or (isinstance(value, _LISTS) and not is_open)


def _is_array(value: Any) -> bool:
    """Is this an array or a scalar in the manner of numpy?"""
    return not isinstance(value, type) and hasattr(value, "dtype") and hasattr(value, "shape")


def _described(value: Any) -> str:
    """A few words on a value that has no JSON form."""
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}" if str(value) else type(value).__name__
    if inspect.iscoroutine(value):
        value.close()  # or Python would warn that nobody awaited it
        return "(a coroutine that was not awaited)"
    if isinstance(value, type | types.ModuleType) or inspect.isroutine(value):
        return f"({_kind(value)} {value.__name__})"
    return _ADDRESS.sub("", str(value))


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"
