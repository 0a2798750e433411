"""Check the arguments of public functions; a wrong one raises UsageError with its name."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar

from azent.errors import UsageError
from azent.messages import Answer, Call, Log, Message

Number = TypeVar("Number", int, float)


def at_least(name: str, value: Number, least: int) -> Number:
    """Return the value if it is a number of at least `least`, else raise UsageError."""
    if _is_number(value) and value >= least:
        return value
    raise UsageError(f"{name} is {_shown(value)}", f"It must be a number, {least} or more.")


def whole(name: str, value: Any, least: int) -> int:
    """Return the value as an int of at least `least`, else raise UsageError."""
    if isinstance(value, SupportsIndex) and _is_number(value) and int(value) >= least:
        return int(value)
    raise UsageError(f"{name} is {_shown(value)}", f"It must be a whole number, {least} or more.")


def flag(name: str, value: Any) -> bool:
    """Return the value if it is True or False, else raise UsageError."""
    if isinstance(value, bool):
        return value
    raise UsageError(f"{name} is {_shown(value)}", "It is True or False.")


def place(name: str, value: Any) -> Path:
    """Return the value as a path, else raise UsageError."""
    if isinstance(value, str | PathLike) and isinstance(fspath(value), str):
        return Path(value)
    raise UsageError(f"{name} is {_shown(value)}", "It must be a path: a text, or a pathlib.Path.")


def named(name: str, value: Any) -> dict[str, Any]:
    """Return the value as a dict with string keys, {} for None, else raise UsageError."""
    if value is None:
        return {}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise UsageError(f"{name} is {_shown(value)}", 'It must be a dict such as {"name": value}.')


def seconds(name: str, value: float) -> float:
    """Return the value, capped at the longest timeout of a lock. Raises UsageError if negative."""
    return min(at_least(name, value, 0), threading.TIMEOUT_MAX)


def sendable(name: str, text: str) -> str:
    """Return the text if UTF-8 can encode it, else raise UsageError."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        what = f"{name} is no text: there is a stray byte or half a character at {error.start}"
        raise UsageError(what, "Convert it to UTF-8.") from error
    return text


def one_of(name: str, value: str, words: Sequence[str]) -> str:
    """Return the value if it is one of `words`, else raise UsageError."""
    if value in words:
        return value
    raise UsageError(f"{name} is {value!r}", f"It can be one of: {', '.join(words)}.")


def text(name: str, value: Any) -> str:
    """Return the value if it is a str, else raise UsageError."""
    if isinstance(value, str):
        return value
    raise UsageError(f"{name} is {_shown(value)}", "It must be a text (str).")


def called(name: str, value: Any, what: str) -> Any:
    """Return the value if it is callable, else raise UsageError; `what` completes "a function"."""
    if callable(value):
        return value
    raise UsageError(f"{name} is {_shown(value)}", f"It must be a function {what}.")


def called_with_one(name: str, value: Any, what: str) -> Any:
    """Return the value if it can be called with one argument, else raise UsageError."""
    import inspect

    called(name, value, what)
    try:
        inspect.signature(value).bind(None)
    except TypeError as error:
        hint = f"It must be a function {what}: it is given one argument."
        raise UsageError(f"{name} is {_shown(value)}: {error}", hint) from error
    except ValueError:  # some builtins do not tell what they take
        return value
    return value


def text_or_function(name: str, value: Any) -> Any:
    """Return the value if it is a str or a function, else raise UsageError."""
    if isinstance(value, str) or callable(value):
        return value
    raise UsageError(f"{name} is {_shown(value)}", "It must be a text, or a function.")


def word_or_test(name: str, value: Any) -> Any:
    """Return a non-empty str or a function of one argument unchanged, else raise UsageError."""
    if callable(value):
        return called_with_one(name, value, "from a Reply to True or False")
    return text_or_function(name, value or None)


def many(name: str, value: Any, example: str) -> Iterable[Any]:
    """Return the value if it is a collection and no single item, else raise UsageError."""
    one = isinstance(value, str | bytes | Mapping | Call) or not isinstance(value, Iterable)
    if one:
        raise UsageError(f"{name} is {_shown(value)}", f"Give a list: {example}.")
    items: Iterable[Any] = value
    return items


def log_in(value: Any) -> Log:
    """Return the log of an Answer, or a log unchanged. Raises UsageError for other values."""
    return value.log if isinstance(value, Answer) else log_of_messages(value)


def log_of_messages(value: Any) -> Log:
    """Return the value if it is a log, else raise UsageError with advice."""
    if isinstance(value, Answer):
        raise UsageError("log is an Answer", "Give the log that it has: log=answer.log.")
    if isinstance(value, str):
        raise UsageError(f"log is {value!r}", "A conversation goes by its name as session=...")
    listed = tuple(many("log", value, "the `log` of an Answer"))
    if strange := [each for each in listed if not isinstance(each, Message)]:
        hint = "A log is that of an Answer; messages as dicts are for azent.select."
        raise UsageError(f"log holds {_shown(strange[0])}, which is no message of a log", hint)
    return listed


def _is_number(value: Any) -> bool:
    """Return whether a value is a number, those of other libraries included, bool excluded."""
    return hasattr(type(value), "__float__") and not isinstance(value, bool)


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
