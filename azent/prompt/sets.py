"""Prompt sets: folders of texts and settings, read anew for each question.

A set is a folder with a `set.toml` (the fields of `PromptSet`) and texts with blanks:

    system       what the model is told first, before the conversation
    question     how the last question is put to a model that is to decide (else as it is)
    choose       what to do now: say yes or no to each function (where `decide` has "choose")
    list         what to do now: list the things that are asked for (where `decide` has "list")
    decide       what to do now: say which functions are to be called
    next         the same, when results have come
    results      how results are given back
    correction   what is said of a reply that could not be used
    answer       what to do now: answer in words
    example      how one example is shown, in the blank $examples
    earlier      what is said in place of turns that no longer fit into the context
    summary      how the model is asked to sum up a conversation
    value        what to do now: answer with a value that obeys a schema

The last three may be left out: then those of azent's own default set are taken.

Sets are searched in a folder given by path, `./prompts`, the user's folder, azent's own. A broken
one is an error that names file and line, before anything is asked.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from azent import settings
from azent.errors import PromptError
from azent.prompt.examples import Kind
from azent.prompt.text import Text, blanks_of, fill, read_text
from azent.schema import Style

_ASKED = {"system", "functions", "examples", "question"}  # the blanks of what asks for calls
Narrowing: TypeAlias = Literal["choose", "list"]
BLANKS = {  # the texts of a set, and the blanks that each may have
    "system": {"system", "functions", "examples"},
    "question": _ASKED,
    "choose": _ASKED,
    "list": _ASKED,
    "decide": {*_ASKED, "asked"},
    "next": _ASKED,
    "results": {"results"},
    "correction": {"problem"},
    "answer": {"question"},
    "example": {"question", "reply"},
    "earlier": {"summary"},
    "summary": set(),
    "value": {"question", "schema"},
}
NEEDED = {
    "question": {"question"},
    "results": {"results"},
    "correction": {"problem"},
    "example": {"question", "reply"},
    "earlier": {"summary"},
    "value": {"schema"},
}
OPTIONAL = {"question", "choose", "list", "decide", "next", "example"}
LENT = {"earlier", "summary", "value"}  # by azent's own default set, where a set lacks them
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The texts and settings by which a model is asked.

    `turn` is "decide-answer" (calls are asked for first, then plain words) or "single" (both in one
    reply). `decide` is what is asked before the calls are, in requests of their own: "choose", a
    yes or no for each function; "list", the separate things asked for. `held` holds decisions to a
    JSON schema by the server. `functions` is how tools are shown. `thought` asks for a thought
    before the calls. `examples` are the kinds of examples that are made of the user's own tools:
    "one" call, "two", "none", "near" (a near miss). `models` are patterns of the names of models
    that the set suits. `folder` is where it was read.
    """

    name: str
    texts: Mapping[str, Text]
    description: str = ""
    turn: Literal["decide-answer", "single"] = "decide-answer"
    decide: tuple[Narrowing, ...] = ()
    held: bool = True
    functions: Style = "python"
    thought: bool = False
    examples: tuple[Kind, ...] = ()
    language: str = "en"
    models: tuple[str, ...] = ()
    folder: Path | None = field(default=None, compare=False)


_FILLED = {"name", "texts", "folder"}  # the fields that no setting gives


def load(wanted: str | Path | PromptSet | None = None, model: str = "") -> PromptSet:
    """The set of a name or in a folder; without one, the set that suits the model, else `default`.

    A set that is loaded already is given back. Raises PromptError that names the file, and the line
    where there is one.
    """
    if isinstance(wanted, PromptSet):
        return wanted
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
    given = read_settings(folder / "set.toml")
    known = {name: _file(folder, name) for name in BLANKS}
    there = {name: file for name, file in known.items() if name not in OPTIONAL or file.exists()}
    texts = {name: read_text(file) for name, file in there.items()}
    for name, text in texts.items():
        fill(text, dict.fromkeys(BLANKS[name], "x"))
    _check_needed(texts, folder)
    _check_examples(given, texts, folder)
    _check_decide(given, texts, folder)
    return PromptSet(name=folder.resolve().name, texts=texts, folder=folder, **given)


def _file(folder: Path, name: str) -> Path:
    """Where a text of a set is."""
    file = folder / f"{name}.txt"
    lent = name in LENT and not file.exists()
    return settings.own_prompts() / DEFAULT / file.name if lent else file


def _check_needed(texts: Mapping[str, Text], folder: Path) -> None:
    """What a text is for, it has to say."""
    for name, text in texts.items():
        for blank in sorted(NEEDED.get(name, set()) - set(blanks_of(text))):
            raise PromptError(f"{folder / name}.txt: the blank ${blank} is missing")
    if not any("functions" in blanks_of(text) for text in texts.values()):
        hint = "Put it into system.txt, where the functions are to stand."
        raise PromptError(f"{folder}: no text has the blank $functions", hint)


def _check_examples(given: Mapping[str, Any], texts: Mapping[str, Text], folder: Path) -> None:
    """Examples that are made, or shown, have to have a place to be shown in."""
    shown = any("examples" in blanks_of(text) for text in texts.values())
    if given.get("examples") and not shown:
        line = _line_of("examples", read_text(folder / "set.toml").body)
        hint = "Put it into system.txt, where the examples are to stand."
        raise PromptError(f"{folder / 'set.toml'}:{line}: no text has the blank $examples", hint)
    if given.get("examples") and "example" not in texts:
        raise PromptError(f"{folder / 'example.txt'} is missing", "It says how one is shown.")


def _check_decide(given: Mapping[str, Any], texts: Mapping[str, Text], folder: Path) -> None:
    """What is asked in a request of its own needs a text, and a turn that has such requests."""
    line = _line_of("decide", read_text(folder / "set.toml").body)
    if given.get("decide") and given.get("turn") == "single":
        said = 'nothing can be asked before the calls where turn is "single"'
        raise PromptError(f"{folder / 'set.toml'}:{line}: {said}")
    for name in given.get("decide", ()):
        if name not in texts:
            raise PromptError(f"{folder / name}.txt is missing", "It says what is asked.")


def _folder(wanted: str | Path) -> Path | None:
    path = Path(wanted)
    if (path / "set.toml").is_file():
        return path
    return folders().get(str(wanted))


def _suited(model: str) -> PromptSet:
    """The first set, in order of name, with a pattern that fits the model's name."""
    for _, folder in sorted(folders().items()):
        patterns = read_settings(folder / "set.toml").get("models", ())
        if any(fnmatchcase(model, pattern) for pattern in patterns):
            return read(folder)
    return load(DEFAULT)


# ---- settings ------------------------------------------------------------------------------------


def read_settings(file: Path) -> dict[str, Any]:
    """The settings in a `set.toml`, checked. Raises PromptError that names file and line."""
    body = read_text(file).body
    try:
        given = tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        said, line = _said_and_line(str(error))
        raise PromptError(f"{file}:{line or body.count(chr(10)) + 1}: {said}") from error
    return {
        name: _setting(name, value, f"{file}:{_line_of(name, body)}")
        for name, value in given.items()
    }


def _said_and_line(message: str) -> tuple[str, str]:
    """What is wrong, and on which line (none: at the end): tomllib puts both into one sentence."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message)
    return (found[1], found[2] or "") if found else (message, "1")


def _line_of(name: str, body: str) -> int:
    """The line on which a setting or a table begins."""
    starts = re.compile(rf"\s*\[?[\"']?{re.escape(name)}\b")
    lines = enumerate(body.split("\n"), start=1)
    return next((number for number, line in lines if starts.match(line)), 1)


def _setting(name: str, value: Any, place: str) -> Any:
    """One setting, checked against the field of PromptSet that bears its name."""
    hints = {key: hint for key, hint in _hints().items() if key not in _FILLED}
    if name not in hints:
        raise PromptError(
            f"{place}: there is no setting {name!r}", f"Settings: {', '.join(hints)}."
        )
    kind = hints[name]
    if get_origin(kind) is not tuple:
        return _checked(value, kind, f"{place}: {name} is")
    if not isinstance(value, list):
        raise PromptError(f"{place}: {name} is {value!r}, and must be a list")
    each = get_args(kind)[0]
    return tuple(_checked(item, each, f"{place}: {name} has") for item in value)


def _checked(value: Any, kind: Any, place: str) -> Any:
    """The value, if it is of the kind; choices are named where it is not among them."""
    choices = get_args(kind)
    if value in choices or (not choices and type(value) is kind):
        return value
    wanted = " or ".join(map(repr, choices)) or {str: "a text", bool: "true or false"}[kind]
    raise PromptError(f"{place} {value!r}, and must be {wanted}")


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(PromptSet)
