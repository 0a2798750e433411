"""The files of a prompt set: reading its `set.toml`, and writing a whole set.

Each setting is checked against the field of `PromptSet` that has its name. A set that is written is
read as the same set. Nothing here writes to a disk.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from azent.errors import PromptError, UsageError
from azent.prompt.text import read_text
from azent.prompt.value import NO_RULES, NO_SETTINGS, GateExample, PromptSet, Score, SelectionRules
from azent.values.files import read_toml

SETTINGS_FILE = "set.toml"
_IN_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number, 0 or more",
    float: "a number, 0 or more",
    Score: "a number",
}


def read_settings(file: Path) -> dict[str, Any]:
    """Return the checked settings in a `set.toml`. Raises PromptError with the file and line."""
    body = read_text(file).body
    try:
        given = read_toml(body)
    except ValueError as error:
        reason, line = _message_and_line(str(error))
        raise PromptError(f"{file}:{line or body.count(chr(10)) + 1}: {reason}") from error
    return {name: _setting(name, value, file, body) for name, value in given.items()}


def line_of(name: str, body: str) -> int:
    """Return the number of the line on which a setting or a table begins."""
    starts = re.compile(rf"\s*\[{{0,2}}[\"']?{re.escape(name)}\b")
    lines = enumerate(body.split("\n"), start=1)
    return next((number for number, line in lines if starts.match(line)), 1)


def _message_and_line(message: str) -> tuple[str, str]:
    """Split a message of tomllib into what is wrong and the line, "" for the end of the file."""
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
    """Raise PromptError unless sizes are two numbers, the smaller one first, or none at all."""
    if sizes and not (len(sizes) == 2 and sizes[0] < sizes[1]):
        message = f"{place}: sizes is {list(sizes)}, and must be two numbers, the smaller one first"
        raise PromptError(message, "sizes = [1.0, 3.0] is from 1 up to 3 billion parameters.")


def _table(value: Any, table: type, name: str, file: Path, body: str) -> Any:
    """Return a table of the settings, such as [selection], as a value of the class `table`."""
    place = f"{file}:{line_of(name, body)}"
    if not isinstance(value, dict):
        raise PromptError(f"{place}: {name} is {value!r}, and must be a table, [{name}]")
    places = {key: f"{file}:{line_of(key, body)}" for key in value}
    kinds = {key: _kind_of(key, table, places[key]) for key in value}
    given = {k: _checked(each, kinds[k], f"{places[k]}: {k} is") for k, each in value.items()}
    needed = [each.name for each in fields(table) if each.default is MISSING]
    if missing := next((key for key in needed if key not in given), None):
        raise PromptError(f"{place}: {name} lacks {missing!r}")
    return table(**given)


def _kind_of(name: str, table: type, place: str) -> Any:
    """Return the type of a setting, which is that of the field with its name."""
    hints = _hints(table)
    if name not in hints:
        hint = f"Settings: {', '.join(hints)}."
        raise PromptError(f"{place}: there is no setting {name!r}", hint)
    return hints[name]


@cache
def _hints(table: type) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(table).items() if name not in NO_SETTINGS}


def _checked(value: Any, kind: Any, place: str) -> Any:
    """Return a value that is of a kind, or one of its choices. Raises PromptError for others."""
    choices = get_args(kind)
    if value in choices:
        return value
    if not choices and _is_of(kind, value):
        return value if kind is Score else kind(value)
    wanted = " or ".join(map(repr, choices)) or _IN_WORDS[kind]
    raise PromptError(f"{place} {value!r}, and must be {wanted}")


def _is_of(kind: type, value: Any) -> bool:
    """Return whether a value is of a kind. Numbers are 0 or more, except scores."""
    if kind is Score:
        return type(value) in (int, float)
    if kind not in (int, float):
        return type(value) is kind
    is_one = type(value) is kind or (kind is float and type(value) is int)
    most = math.inf if type(value) is kind else sys.float_info.max
    return is_one and 0 <= value <= most


# ---- writing -------------------------------------------------------------------------------------


def checked_name(name: str) -> str:
    """Return a name that a set's folder can have. Raises UsageError for any other."""
    if not re.fullmatch(r"\w[\w-]*", name):
        raise UsageError(f"{name!r} is no name for a set", "Letters, digits, - and _ make one.")
    return name


def files_of(prompts: PromptSet, remark: str = "") -> dict[str, str]:
    """Return the text of each file of a set; the remark comes first in its settings."""
    texts = {f"{name}.txt": text.body for name, text in prompts.texts.items()}
    if prompts.bank:
        texts["bank.txt"] = "\n".join(prompts.bank) + "\n"
    return {**texts, SETTINGS_FILE: "\n".join(_setting_lines(prompts, remark)) + "\n"}


def _setting_lines(prompts: PromptSet, remark: str) -> Iterator[str]:
    """Yield the lines of a set.toml; rules and examples of the gate only where there are any."""
    for line in remark.splitlines():
        yield f"# {''.join(each if each.isprintable() else ' ' for each in line)}".rstrip()
    for field in fields(PromptSet):
        if field.name not in {*NO_SETTINGS, "selection", "gate"}:
            yield f"{field.name} = {_toml(getattr(prompts, field.name))}"
    if prompts.selection != NO_RULES:
        yield from _table_lines("[selection]", asdict(prompts.selection))
    for example in prompts.gate:
        yield from _table_lines("[[gate]]", asdict(example))


def _table_lines(heading: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield heading
    yield from (f"{name} = {_toml(value)}" for name, value in values.items())


def _toml(value: Any) -> str:
    """Return a value as TOML, which writes texts and lists as JSON does, except one character."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
