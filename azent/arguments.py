"""Arguments that make no sense are refused where they are given, by their name."""

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
    """The value, a number that must not be less than that. Raises UsageError."""
    if _is_number(value) and value >= least:
        return value
    raise UsageError(f"{name} is {_shown(value)}", f"It must be a number, {least} or more.")


def whole(name: str, value: Any, least: int) -> int:
    """The value, a whole number that must not be less than that. Raises UsageError."""
    if isinstance(value, SupportsIndex) and _is_number(value) and int(value) >= least:
        return int(value)
    raise UsageError(f"{name} is {_shown(value)}", f"It must be a whole number, {least} or more.")


def flag(name: str, value: Any) -> bool:
    """The value, which must be True or False. Raises UsageError."""
    if isinstance(value, bool):
        return value
    raise UsageError(f"{name} is {_shown(value)}", "It is True or False.")


def place(name: str, value: Any) -> Path:
    """The value as a path. Raises UsageError."""
    if isinstance(value, str | PathLike) and isinstance(fspath(value), str):
        return Path(value)
    raise UsageError(f"{name} is {_shown(value)}", "It must be a path: a text, or a pathlib.Path.")


def named(name: str, value: Any) -> dict[str, Any]:
    """The value, which must be values by names, or None for none. Raises UsageError."""
    if value is None:
        return {}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise UsageError(f"{name} is {_shown(value)}", 'It must be a dict such as {"name": value}.')


def seconds(name: str, value: float) -> float:
    """The value, at most what a lock can wait for, which is centuries. Raises UsageError."""
    return min(at_least(name, value, 0), threading.TIMEOUT_MAX)


def sendable(name: str, text: str) -> str:
    """The text, which must not hold what no encoding can carry. Raises UsageError."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        what = f"{name} is no text: there is a stray byte or half a character at {error.start}"
        raise UsageError(what, "Convert it to UTF-8.") from error
    return text


def one_of(name: str, value: str, words: Sequence[str]) -> str:
    """The value, which must be one of these words. Raises UsageError."""
    if value in words:
        return value
    raise UsageError(f"{name} is {value!r}", f"It can be one of: {', '.join(words)}.")


def text(name: str, value: Any) -> str:
    """The value, which must be a text. Raises UsageError."""
    if isinstance(value, str):
        return value
    raise UsageError(f"{name} is {_shown(value)}", "It must be a text (str).")


def called(name: str, value: Any, what: str) -> Any:
    """The value, which must be a function, `what` says of what. Raises UsageError."""
    if callable(value):
        return value
    raise UsageError(f"{name} is {_shown(value)}", f"It must be a function {what}.")


def called_with_one(name: str, value: Any, what: str) -> Any:
    """The value, a function that can be given one thing, `what` says which. Raises UsageError."""
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
    """The value, which must be a text or a function. Raises UsageError."""
    if isinstance(value, str) or callable(value):
        return value
    raise UsageError(f"{name} is {_shown(value)}", "It must be a text, or a function.")


def word_or_test(name: str, value: Any) -> Any:
    """The value, a text that is not empty, or a function of one thing. Raises UsageError."""
    if callable(value):
        return called_with_one(name, value, "from a Reply to True or False")
    return text_or_function(name, value or None)


def many(name: str, value: Any, example: str) -> Iterable[Any]:
    """The value, which must be a collection of things, not one of them. Raises UsageError."""
    one = isinstance(value, str | bytes | Mapping | Call) or not isinstance(value, Iterable)
    if one:
        raise UsageError(f"{name} is {_shown(value)}", f"Give a list: {example}.")
    items: Iterable[Any] = value
    return items


def log_in(value: Any) -> Log:
    """The log of an Answer, or a log as it is. Raises UsageError for what is neither."""
    return value.log if isinstance(value, Answer) else log_of_messages(value)


def log_of_messages(value: Any) -> Log:
    """The value as a log. Raises UsageError that says what was meant instead."""
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
    """Numbers of other libraries are numbers too; True and False are none here."""
    return hasattr(type(value), "__float__") and not isinstance(value, bool)


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
