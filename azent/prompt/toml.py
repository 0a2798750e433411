"""Reading a `set.toml`: each setting is checked against the field that bears its name."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from azent.errors import PromptError
from azent.files import read_toml
from azent.prompt.text import read_text
from azent.prompt.value import NO_SETTINGS, GateExample, PromptSet, Score, SelectionRules

_IN_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number, 0 or more",
    float: "a number, 0 or more",
    Score: "a number",
}


def read_settings(file: Path) -> dict[str, Any]:
    """The settings in a `set.toml`, checked. Raises PromptError that names file and line."""
    body = read_text(file).body
    try:
        given = read_toml(body)
    except ValueError as error:
        said, line = _said_and_line(str(error))
        raise PromptError(f"{file}:{line or body.count(chr(10)) + 1}: {said}") from error
    return {name: _setting(name, value, file, body) for name, value in given.items()}


def line_of(name: str, body: str) -> int:
    """The line on which a setting or a table begins."""
    starts = re.compile(rf"\s*\[{{0,2}}[\"']?{re.escape(name)}\b")
    lines = enumerate(body.split("\n"), start=1)
    return next((number for number, line in lines if starts.match(line)), 1)


def _said_and_line(message: str) -> tuple[str, str]:
    """What is wrong, and on which line (none: at the end): tomllib puts both into one sentence."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message)
    return (found[1], found[2] or "") if found else (message, "1")


def _setting(name: str, value: Any, file: Path, body: str) -> Any:
    place = f"{file}:{line_of(name, body)}"
    kind = _kind_of(name, PromptSet, place)
    if kind is SelectionRules:
        return _table(value, SelectionRules, name, file, body)
    if get_origin(kind) is not tuple:
        return _checked(value, kind, f"{place}: {name} is")
    if not isinstance(value, list):
        raise PromptError(f"{place}: {name} is {value!r}, and must be a list")
    each = get_args(kind)[0]
    if each is GateExample:
        return tuple(_table(item, GateExample, name, file, body) for item in value)
    items = tuple(_checked(item, each, f"{place}: {name} has") for item in value)
    if name == "sizes":
        _check_sizes(items, place)
    return items


def _check_sizes(sizes: tuple[float, ...], place: str) -> None:
    """Sizes are two numbers, the smaller one first, or none at all."""
    if sizes and not (len(sizes) == 2 and sizes[0] < sizes[1]):
        said = f"{place}: sizes is {list(sizes)}, and must be two numbers, the smaller one first"
        raise PromptError(said, "sizes = [1.0, 3.0] is from 1 up to 3 billion parameters.")


def _table(value: Any, table: type, name: str, file: Path, body: str) -> Any:
    """A table within the settings, such as [selection]; fields without a default are due."""
    place = f"{file}:{line_of(name, body)}"
    if not isinstance(value, dict):
        raise PromptError(f"{place}: {name} is {value!r}, and must be a table, [{name}]")
    places = {key: f"{file}:{line_of(key, body)}" for key in value}
    kinds = {key: _kind_of(key, table, places[key]) for key in value}
    given = {k: _checked(each, kinds[k], f"{places[k]}: {k} is") for k, each in value.items()}
    due = [each.name for each in fields(table) if each.default is MISSING]
    if missing := next((key for key in due if key not in given), None):
        raise PromptError(f"{place}: {name} lacks {missing!r}")
    return table(**given)


def _kind_of(name: str, table: type, place: str) -> Any:
    """The kind of a setting: the hint of the field that bears its name."""
    hints = _hints(table)
    if name not in hints:
        hint = f"Settings: {', '.join(hints)}."
        raise PromptError(f"{place}: there is no setting {name!r}", hint)
    return hints[name]


@cache
def _hints(table: type) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(table).items() if name not in NO_SETTINGS}


def _checked(value: Any, kind: Any, place: str) -> Any:
    """The value, if it is of the kind; choices are named where it is not among them."""
    choices = get_args(kind)
    if value in choices:
        return value
    if not choices and _is_of(kind, value):
        return value if kind is Score else kind(value)
    wanted = " or ".join(map(repr, choices)) or _IN_WORDS[kind]
    raise PromptError(f"{place} {value!r}, and must be {wanted}")


def _is_of(kind: type, value: Any) -> bool:
    """Is a value of a kind? Numbers are 0 or more, except scores."""
    if kind is Score:
        return type(value) in (int, float)
    if kind not in (int, float):
        return type(value) is kind
    is_one = type(value) is kind or (kind is float and type(value) is int)
    most = math.inf if type(value) is kind else sys.float_info.max
    return is_one and 0 <= value <= most
