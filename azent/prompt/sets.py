"""Prompt sets: folders of texts and settings, read anew for each question.

A set is a folder with a `set.toml` (the fields of `PromptSet`) and texts with blanks:

    system       what the model is told first, before the conversation
    question     how the last question is put to a model that is to decide (else as it is)
    gate         is any function meant at all? (where `decide` has "gate")
    choose       what to do now: say yes or no to each function (where `decide` has "choose")
    list         what to do now: list the things that are asked for (where `decide` has "list")
    decide       what to do now: say which functions are to be called
    next         the same, when results have come
    results      how results are given back
    correction   what is said of a reply that could not be used
    answer       what to do now: answer in words
    answering    what the model is told first when it answers before any call
    example      how one example is shown, in the blank $examples
    earlier      what is said in place of turns that no longer fit into the context
    summary      how the model is asked to sum up a conversation
    value        what to do now: answer with a value that obeys a schema

`bank.txt` holds functions that have nothing to do with the program at hand, a line each, with which
those that are offered are compared (`azent.selection`); without it, that of the default set counts.

The last three may be left out: then those of azent's own default set are taken.

Sets are searched in `./prompts`, in the user's folder, and in azent's own; a path names a set
anywhere. A broken set that was named is an error with its file and line, before anything is asked.
Where no set was named, broken ones are left out, and `left_out` says why: one unfinished set must
not stop every question.

Where no set was named, the model's name decides, which a pattern in a set's `models` may match;
else its size, where it is known and within a set's `sizes`.

A set in the current folder may have been put there by anyone, so its use is logged.
"""

from __future__ import annotations

import filecmp
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from azent import config
from azent.errors import PromptError, reason_of
from azent.prompt.files import line_of, read_settings
from azent.prompt.text import Text, blanks_of, fill, read_text
from azent.prompt.value import NO_RULES, PromptSet

_ASKED = {"system", "functions", "examples", "question"}  # the blanks of what asks for calls
BLANKS = {  # the texts of a set, and the blanks that each may have
    "system": {"system", "functions", "examples"},
    "question": _ASKED,
    "gate": {"functions", "question"},
    "choose": _ASKED,
    "list": _ASKED,
    "decide": {*_ASKED, "asked"},
    "next": _ASKED,
    "results": {"results"},
    "correction": {"problem"},
    "answer": {"question"},
    "answering": {"system", "functions"},
    "example": {"question", "reply"},
    "earlier": {"summary"},
    "summary": set(),
    "value": {"question", "schema"},
}
NEEDED = {
    "gate": {"functions", "question"},
    "question": {"question"},
    "results": {"results"},
    "correction": {"problem"},
    "example": {"question", "reply"},
    "earlier": {"summary"},
    "value": {"schema"},
}
OPTIONAL = {"question", "gate", "choose", "list", "decide", "next", "answering", "example"}
LENT = {"earlier", "summary", "value"}  # by azent's own default set, where a set lacks them
DEFAULT = "default"
BANK_FILE = "bank.txt"
LEAST_IN_BANK = 20
BANK_HINT = f"A bank has {LEAST_IN_BANK} lines or more, each `name: description`."

HERE = {Path(), Path("prompts")}  # where a set is found that was named by its name alone

_logger = logging.getLogger("azent")
_logger.addHandler(logging.NullHandler())  # users who want to see warnings have their own handlers


def load(
    wanted: str | Path | PromptSet | None = None, model: str = "", billions: float | None = None
) -> PromptSet:
    """Load the set of a name or in a folder; without one, the set that suits the model.

    `model` is the model's name, `billions` its parameters, None where they are not known. Without a
    name of a set, broken sets are left out, and that is logged; so is a set that was found in the
    current folder. A set that is loaded already is returned as it is. Raises PromptError with the
    file, and the line where there is one.
    """
    if isinstance(wanted, PromptSet):
        return wanted
    found = suited(model, billions) if wanted is None else _named(wanted)
    _log_where_found(found)
    return found


def _named(wanted: str | Path) -> PromptSet:
    """Load the set of a name or in a folder."""
    if not isinstance(wanted, str | Path):
        raise PromptError(f"prompts is {wanted!r}", "Give a set's name, or its folder's path.")
    folder = _folder(wanted)
    if folder is None:
        there = ", ".join(sorted(folders())) or "none"
        raise PromptError(f"there is no prompt set {str(wanted)!r}", f"Sets there are: {there}.")
    return read(folder)


def suited(model: str, billions: float | None = None, without: str = "") -> PromptSet:
    """Return the first set with a pattern that matches the model's name, else with its size.

    The current folder comes first, then the user's, then azent's own; sets of one folder come by
    name. Where none suits, the set is `default`. The set named `without` is left out, and broken
    ones too, with a warning. Raises PromptError where azent's own default set is broken.
    """
    found, broken = _suited(model, billions, without)
    for error in broken:
        _logger.warning("left out, as it is broken: %s", error)
    return found


def left_out(model: str = "", billions: float | None = None) -> tuple[PromptError, ...]:
    """Return the errors of the broken sets that are left out where no set is named."""
    return _suited(model, billions)[1]


def folders() -> dict[str, Path]:
    """Return the folder of each set by its name; a folder that is searched first wins."""
    found: dict[str, Path] = {}
    for place in reversed(config.prompt_folders()):
        if place.is_dir():
            found.update({f.parent.name: f.parent for f in sorted(place.glob("*/set.toml"))})
    return found


def read(folder: Path) -> PromptSet:
    """Read and check the set in a folder, anew when a file has changed. Raises PromptError."""
    stamps = (_stamps(folder), _stamps(config.own_prompts() / DEFAULT))
    return _read(folder, Path.cwd(), stamps)


def _stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return the time and size of each file in a folder, which change when a text does."""
    try:
        with os.scandir(folder) as files:
            stated = [(file.name, file.stat()) for file in files]
    except OSError as error:
        raise PromptError(f"{folder} cannot be read: {reason_of(error)}") from error
    return tuple(sorted([(name, state.st_mtime_ns, state.st_size) for name, state in stated]))


@lru_cache(maxsize=64)
def _read(folder: Path, here: Path, stamps: object) -> PromptSet:
    """Read a set; it is read again when `here` or `stamps` differ."""
    given = read_settings(folder / "set.toml")
    known = {name: _file(folder, name) for name in BLANKS}
    there = {name: file for name, file in known.items() if name not in OPTIONAL or file.exists()}
    texts = {name: read_text(file) for name, file in there.items()}
    for name, text in texts.items():
        fill(text, dict.fromkeys(BLANKS[name], "x"))
    _check_needed(texts, folder)
    _check_examples(given, texts, folder)
    _check_decide(given, texts, folder)
    wanted = given.get("selection", NO_RULES) != NO_RULES
    bank = _bank(folder) if wanted or (folder / BANK_FILE).exists() else ()
    return PromptSet(name=folder.resolve().name, texts=texts, bank=bank, folder=folder, **given)


def _bank(folder: Path) -> tuple[str, ...]:
    """Return the lines of a set's bank of functions, or of that of azent's own default set."""
    own = folder / BANK_FILE
    file = own if own.exists() else config.own_prompts() / DEFAULT / BANK_FILE
    lines = [line.strip() for line in read_text(file).body.splitlines()]
    bank = tuple(line for line in lines if line and not line.startswith("#"))
    if len(bank) < LEAST_IN_BANK:
        raise PromptError(f"{file}: {len(bank)} functions are too few to compare with", BANK_HINT)
    return bank


def _file(folder: Path, name: str) -> Path:
    """Return the file of a text: the set's own, or one that azent's default set lends it."""
    file = folder / f"{name}.txt"
    lent = name in LENT and not file.exists()
    return config.own_prompts() / DEFAULT / file.name if lent else file


def _check_needed(texts: Mapping[str, Text], folder: Path) -> None:
    """Raise PromptError where a text lacks a blank that it needs."""
    for name, text in texts.items():
        for blank in sorted(NEEDED.get(name, set()) - set(blanks_of(text))):
            raise PromptError(f"{folder / name}.txt: the blank ${blank} is missing")
    if not any("functions" in blanks_of(text) for text in texts.values()):
        hint = "Put it into system.txt, where the functions are to stand."
        raise PromptError(f"{folder}: no text has the blank $functions", hint)


def _check_examples(given: Mapping[str, Any], texts: Mapping[str, Text], folder: Path) -> None:
    """Raise PromptError where a set has examples, and no text to show them in."""
    shown = any("examples" in blanks_of(text) for text in texts.values())
    if given.get("examples") and not shown:
        line = line_of("examples", read_text(folder / "set.toml").body)
        hint = "Put it into system.txt, where the examples are to stand."
        raise PromptError(f"{folder / 'set.toml'}:{line}: no text has the blank $examples", hint)
    if given.get("examples") and "example" not in texts:
        raise PromptError(f"{folder / 'example.txt'} is missing", "It says how one is shown.")


def _check_decide(given: Mapping[str, Any], texts: Mapping[str, Text], folder: Path) -> None:
    """Raise PromptError where `decide` names a request without a text, or the turn has none."""
    line = line_of("decide", read_text(folder / "set.toml").body)
    if given.get("decide") and given.get("turn") == "single":
        message = 'nothing can be asked before the calls where turn is "single"'
        raise PromptError(f"{folder / 'set.toml'}:{line}: {message}")
    for name in given.get("decide", ()):
        if name not in texts:
            raise PromptError(f"{folder / name}.txt is missing", "It says what is asked.")


def _folder(wanted: str | Path) -> Path | None:
    path = Path(wanted)
    if (path / "set.toml").is_file():
        return path
    return folders().get(str(wanted))


def _suited(
    model: str, billions: float | None, without: str = ""
) -> tuple[PromptSet, tuple[PromptError, ...]]:
    """Return the set that suits a model, and the errors of the sets that were tried before it.

    A set hides sets of its name in folders that are searched later, unless it is broken.
    """
    broken: dict[Path, PromptError] = {}
    every = [folder for folder in _all_folders() if folder.name != without]
    for suits in _rules(model, billions):
        hidden: set[str] = set()
        for folder in every:
            if folder in broken or folder.name in hidden:
                continue
            try:
                if suits(folder):
                    return read(folder), _distinct(broken)
                hidden.add(folder.name)
            except PromptError as error:
                broken[folder] = error
    raise list(broken.values())[-1]  # azent's own set is broken too: it was tampered with


def _all_folders() -> list[Path]:
    """Return the folders of all sets, in the order in which they are searched."""
    places = (place for place in config.prompt_folders() if place.is_dir())
    return [file.parent for place in places for file in sorted(place.glob("*/set.toml"))]


def _rules(model: str, billions: float | None) -> Iterator[Callable[[Path], bool]]:
    """Yield tests of a set's folder: for the model's name, for its size, for the default set."""
    yield lambda folder: _matches_name(_settings_in(folder), model)
    if billions is not None:
        yield lambda folder: _includes_size(_settings_in(folder), billions)
    yield lambda folder: folder.name == DEFAULT


def _distinct(broken: Mapping[Path, PromptError]) -> tuple[PromptError, ...]:
    """Return the errors once each: a text that several sets share is broken in all of them."""
    return tuple({str(error): error for error in broken.values()}.values())


def _matches_name(given: Mapping[str, Any], model: str) -> bool:
    return any(fnmatchcase(model.lower(), each.lower()) for each in given.get("models", ()))


def _includes_size(given: Mapping[str, Any], billions: float) -> bool:
    sizes = given.get("sizes", ())
    return bool(sizes) and bool(sizes[0] <= billions < sizes[1])


def _settings_in(folder: Path) -> Mapping[str, Any]:
    file = folder / "set.toml"
    return _settings(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _settings(file: Path, changed: int) -> Mapping[str, Any]:
    """Read the settings of a set; they are read again when `changed` differs."""
    return read_settings(file)


# ---- sets in the current folder ------------------------------------------------------------------


def folder_here(prompt_set: PromptSet) -> Path | None:
    """Return the folder of a set that is in the current folder or in ./prompts, else None.

    The result is None for an exact copy of one of azent's own sets, as in a checkout of azent.
    """
    folder = prompt_set.folder
    if folder is None or folder.parent not in HERE or _is_own(folder):
        return None
    return folder


def words_on(prompt_set: PromptSet) -> tuple[str, ...]:
    """Return the lines that tell the user where a set was found."""
    folder = folder_here(prompt_set)
    return (f"using the prompt set in {folder}",) if folder else ()


def _log_where_found(prompt_set: PromptSet) -> None:
    """Log a set that was found in the current folder, once for each folder."""
    for words in words_on(prompt_set):
        _log_once(Path.cwd(), words)


@lru_cache(maxsize=256)
def _log_once(here: Path, words: str) -> None:
    _logger.warning(words)


def _is_own(folder: Path) -> bool:
    own = config.own_prompts() / folder.name
    names = _names(folder)
    if names != _names(own):
        return False
    _, unlike, unread = filecmp.cmpfiles(folder, own, names, shallow=False)
    return not unlike and not unread


def _names(folder: Path) -> set[str]:
    return {file.name for file in folder.glob("*.*") if file.is_file()}
