"""Prompt sets: folders of texts that people edit, read anew for each question.

A set is a folder with a `set.toml` and texts in which `$name` is a blank. Filling is one pass: what
is put into a blank is never looked at again, so user text, docstrings and results cannot expand. A
line whose only blank fills to nothing is left out. `$` before anything but a letter is text, and
`$$name` is the text `$name`. A blank that there is not is an error that names file and line.

Searched in this order: a folder given by path, `./prompts`, the user's folder, azent's own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from azent import settings
from azent.errors import PromptError

BLANK = re.compile(r"\$(\$?)([A-Za-z][A-Za-z0-9_]*)")
ONLY_BLANK = re.compile(r"\s*\$([A-Za-z][A-Za-z0-9_]*)\s*")
BLANKS = {  # the texts of a set, and the blanks that each may have
    "system": {"system", "functions"},
    "decide": {"question"},
    "next": {"question"},
    "results": {"results"},
    "correction": {"problem"},
    "answer": {"question"},
}
OPTIONAL = {"decide", "next"}
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a set, and where it came from."""

    body: str
    source: str = "(text)"


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The texts and settings by which a model is asked.

    `turn` is "decide-answer" (calls are asked for first, then plain words) or "single" (both in one
    reply). `held` holds decisions to a JSON schema by the server. `functions` is how tools are
    shown. `thought` asks for a thought before the calls. `models` are patterns of the names of
    models that the set suits.
    """

    name: str
    texts: Mapping[str, Text]
    description: str = ""
    turn: Literal["decide-answer", "single"] = "decide-answer"
    held: bool = True
    functions: Literal["json", "typescript", "python"] = "python"
    thought: bool = False
    language: str = "en"
    models: tuple[str, ...] = field(default=())


def fill(text: Text, blanks: Mapping[str, str]) -> str:
    """The text with its blanks filled. Raises PromptError for a blank that `blanks` lacks."""
    lines = enumerate(text.body.split("\n"), start=1)
    filled = (_filled(line, blanks, f"{text.source}:{number}") for number, line in lines)
    return "\n".join(line for line in filled if line is not None).strip("\n")


def _filled(line: str, blanks: Mapping[str, str], place: str) -> str | None:
    """A line with its blanks filled; None where its only blank has nothing to say."""
    alone = ONLY_BLANK.fullmatch(line)
    if alone and blanks.get(alone[1]) == "":
        return None

    def value(match: re.Match[str]) -> str:
        doubled, name = match.groups()
        if doubled:
            return f"${name}"
        if name not in blanks:
            raise PromptError(f"{place}: there is no blank ${name}", _known(blanks))
        return blanks[name]

    return BLANK.sub(value, line)


def _known(blanks: Iterable[str]) -> str:
    names = ", ".join(f"${name}" for name in sorted(blanks))
    return f"Blanks here: {names or 'none'}. To write the text itself, double the dollar sign."


def load(wanted: str | Path | None = None, model: str = "") -> PromptSet:
    """The set of a name or in a folder; without one, the set that suits the model, else `default`.

    Raises PromptError that names the file, and the line where there is one.
    """
    if wanted is None:
        return _suited(model)
    folder = _folder(wanted)
    if folder is None:
        there = ", ".join(sorted(folders())) or "none"
        raise PromptError(f"there is no prompt set {str(wanted)!r}", f"Sets there are: {there}.")
    return read(folder)


def folders() -> dict[str, Path]:
    """Every set that can be named, and its folder; what is searched first wins."""
    found: dict[str, Path] = {}
    for place in reversed(settings.prompt_folders()):
        if place.is_dir():
            found.update({f.parent.name: f.parent for f in sorted(place.glob("*/set.toml"))})
    return found


def read(folder: Path) -> PromptSet:
    """The set in a folder, checked. Raises PromptError."""
    known = {name: folder / f"{name}.txt" for name in BLANKS}
    given = {name: file for name, file in known.items() if name not in OPTIONAL or file.exists()}
    texts = {name: Text(_read_text(file), str(file)) for name, file in given.items()}
    for name, text in texts.items():
        fill(text, dict.fromkeys(BLANKS[name], "x"))
    return PromptSet(name=folder.name, texts=texts, **_read_settings(folder / "set.toml"))


def _folder(wanted: str | Path) -> Path | None:
    path = Path(wanted)
    if (path / "set.toml").is_file():
        return path
    return folders().get(str(wanted))


def _suited(model: str) -> PromptSet:
    """The first set, in order of name, with a pattern that fits the model's name."""
    for _, folder in sorted(folders().items()):
        patterns = _read_settings(folder / "set.toml").get("models", ())
        if any(fnmatchcase(model, pattern) for pattern in patterns):
            return read(folder)
    return load(DEFAULT)


def _read_text(file: Path) -> str:
    try:
        return file.read_text("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except FileNotFoundError as error:
        raise PromptError(f"{file} is missing") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{file} cannot be read: {error}") from error


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        given = tomllib.loads(_read_text(file))
    except tomllib.TOMLDecodeError as error:
        raise PromptError(f"{file}: {error}") from error
    return {name: _setting(name, value, file) for name, value in given.items()}


def _setting(name: str, value: Any, file: Path) -> Any:
    """One setting, checked against the field of PromptSet that bears its name."""
    hints = _hints()
    known = [f.name for f in fields(PromptSet) if f.name not in ("name", "texts")]
    if name not in known:
        raise PromptError(f"{file}: there is no setting {name!r}", f"Settings: {', '.join(known)}.")
    if name == "models" and isinstance(value, list) and all(isinstance(p, str) for p in value):
        return tuple(value)
    choices = get_args(hints[name]) if hints[name] not in (str, bool) else ()
    if value in choices or (not choices and isinstance(value, hints[name])):
        return value
    wanted = " or ".join(repr(c) for c in choices) or hints[name].__name__
    wanted = "a list of patterns" if name == "models" else wanted
    raise PromptError(f"{file}: {name} is {value!r}, and must be {wanted}")


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(PromptSet)
