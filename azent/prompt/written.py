"""A prompt set as the files that it is read from: what is written is read as the same set. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

from azent.errors import UsageError
from azent.prompt.value import NO_RULES, NO_SETTINGS, PromptSet

SETTINGS_FILE = "set.toml"
_TABLES = {"selection", "gate"}


def checked_name(name: str) -> str:
    """A name that a set's folder can have. Raises UsageError for any other."""
    if not re.fullmatch(r"\w[\w-]*", name):
        raise UsageError(f"{name!r} is no name for a set", "Letters, digits, - and _ make one.")
    return name


def files_of(prompts: PromptSet, remark: str = "") -> dict[str, str]:
    """What stands in each file of a set's folder; the remark, at the head of its settings."""
    texts = {f"{name}.txt": text.body for name, text in prompts.texts.items()}
    if prompts.bank:
        texts["bank.txt"] = "\n".join(prompts.bank) + "\n"
    return {**texts, SETTINGS_FILE: "\n".join(_settings(prompts, remark)) + "\n"}


def _settings(prompts: PromptSet, remark: str) -> Iterator[str]:
    """The lines of a set.toml; rules and examples of the gate only where there are any."""
    for line in remark.splitlines():
        yield f"# {''.join(each if each.isprintable() else ' ' for each in line)}".rstrip()
    for field in fields(PromptSet):
        if field.name not in NO_SETTINGS | _TABLES:
            yield f"{field.name} = {_toml(getattr(prompts, field.name))}"
    if prompts.selection != NO_RULES:
        yield from _table("[selection]", asdict(prompts.selection))
    for example in prompts.gate:
        yield from _table("[[gate]]", asdict(example))


def _table(heading: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield heading
    yield from (f"{name} = {_toml(value)}" for name, value in values.items())


def _toml(value: Any) -> str:
    """A value as TOML, whose texts and lists are written as in JSON, but for one character."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
