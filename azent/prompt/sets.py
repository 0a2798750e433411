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
    answering    what the model is told first when it is to answer (else the same as ever)
    example      how one example is shown, in the blank $examples
    earlier      what is said in place of turns that no longer fit into the context
    summary      how the model is asked to sum up a conversation
    value        what to do now: answer with a value that obeys a schema

`bank.txt` holds functions that have nothing to do with the program at hand, a line each, with which
those that are offered are compared (`azent.selection`); without it, that of the default set counts.

The last three may be left out: then those of azent's own default set are taken.

Sets are searched in a folder given by path, `./prompts`, the user's folder, azent's own. A broken
one that was named is an error that names file and line, before anything is asked. Where none was
named, it is left out, and `left_out` tells why: one unfinished set must not stop every question.

Where none was named, the model decides: by its name, which the patterns in a set's `models` may
fit, else by its size, where a server or a file tells it, and a set's `sizes` hold it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from azent import settings
from azent.errors import PromptError
from azent.prompt.here import log_where_found
from azent.prompt.text import Text, blanks_of, fill, read_text
from azent.prompt.toml import line_of, read_settings
from azent.prompt.value import NO_RULES, PromptSet
from azent.wording import reason_of

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
    "answering": {"system"},
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

_logger = logging.getLogger("azent")


def load(
    wanted: str | Path | PromptSet | None = None, model: str = "", billions: float | None = None
) -> PromptSet:
    """The set of a name or in a folder; without one, the set that suits the model, else `default`.

    `model` is the model's name, `billions` its parameters, None where they are not known. Without a
    name of a set, broken sets are left out, and that is logged; so is a set that was found in the
    current folder. A set that is loaded already is given back. Raises PromptError that names the
    file, and the line where there is one.
    """
    if isinstance(wanted, PromptSet):
        return wanted
    found = suited(model, billions) if wanted is None else _named(wanted)
    log_where_found(found)
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
    """The first set with a pattern that fits the model's name, else with sizes that hold its own.

    The nearest place comes first, and sets of one place by name. Where none suits it is `default`.
    The set named `without` is passed over, and broken ones too, with a warning. PromptError where
    azent's own default set is broken.
    """
    found, broken = _suited(model, billions, without)
    for error in broken:
        _logger.warning("left out, as it is broken: %s", error)
    return found


def left_out(model: str = "", billions: float | None = None) -> tuple[PromptError, ...]:
    """What is wrong with the sets that are left out, where none is named for a model."""
    return _suited(model, billions)[1]


def folders() -> dict[str, Path]:
    """Every set that can be named, and its folder; what is searched first wins."""
    found: dict[str, Path] = {}
    for place in reversed(settings.prompt_folders()):
        if place.is_dir():
            found.update({f.parent.name: f.parent for f in sorted(place.glob("*/set.toml"))})
    return found


def read(folder: Path) -> PromptSet:
    """The set in a folder, checked; read anew when one of its files was changed. PromptError."""
    stamps = (_stamps(folder), _stamps(settings.own_prompts() / DEFAULT))
    return _read(folder, Path.cwd(), stamps)


def _stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """When and how large the files of a folder are: equal stamps, equal texts."""
    try:
        with os.scandir(folder) as files:
            stated = [(file.name, file.stat()) for file in files]
    except OSError as error:
        raise PromptError(f"{folder} cannot be read: {reason_of(error)}") from error
    return tuple(sorted((name, state.st_mtime_ns, state.st_size) for name, state in stated))


@lru_cache(maxsize=64)
def _read(folder: Path, here: Path, stamps: object) -> PromptSet:
    """Reads a set; `here` and `stamps` only say when what was read before will do."""
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
    """The functions in a set's bank, or in that of azent's own default set: a line each."""
    own = folder / BANK_FILE
    file = own if own.exists() else settings.own_prompts() / DEFAULT / BANK_FILE
    lines = [line.strip() for line in read_text(file).body.splitlines()]
    bank = tuple(line for line in lines if line and not line.startswith("#"))
    if len(bank) < LEAST_IN_BANK:
        raise PromptError(f"{file}: {len(bank)} functions are too few to compare with", BANK_HINT)
    return bank


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
        line = line_of("examples", read_text(folder / "set.toml").body)
        hint = "Put it into system.txt, where the examples are to stand."
        raise PromptError(f"{folder / 'set.toml'}:{line}: no text has the blank $examples", hint)
    if given.get("examples") and "example" not in texts:
        raise PromptError(f"{folder / 'example.txt'} is missing", "It says how one is shown.")


def _check_decide(given: Mapping[str, Any], texts: Mapping[str, Text], folder: Path) -> None:
    """What is asked in a request of its own needs a text, and a turn that has such requests."""
    line = line_of("decide", read_text(folder / "set.toml").body)
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


def _suited(
    model: str, billions: float | None, without: str = ""
) -> tuple[PromptSet, tuple[PromptError, ...]]:
    """The set that suits a model, and what is wrong with those that were to be tried before it."""
    broken: dict[Path, PromptError] = {}
    for folder in _to_be_tried(model, billions, without, broken):
        try:
            return read(folder), _different(broken)
        except PromptError as error:
            broken[folder] = error
    raise list(broken.values())[-1]  # even azent's own: it was tampered with


def _different(broken: Mapping[Path, PromptError]) -> tuple[PromptError, ...]:
    """The errors without repetitions: a text that several sets share is broken in all of them."""
    return tuple({str(error): error for error in broken.values()}.values())


def _to_be_tried(
    model: str, billions: float | None, without: str, broken: dict[Path, PromptError]
) -> Iterator[Path]:
    """Sets that fit the model's name, then sets that hold its size, then the default set."""
    places = [place for place in settings.prompt_folders() if place.is_dir()]
    files = (file for place in places for file in sorted(place.glob("*/set.toml")))
    every = [file.parent for file in files if file.parent.name != without]
    yield from _fitting(every, lambda given: _fits_name(given, model), broken)
    if billions is not None:
        yield from _fitting(every, lambda given: _holds_size(given, billions), broken)
    yield from (folder for folder in every if folder.name == DEFAULT)


def _fitting(
    every: Iterable[Path],
    fits: Callable[[Mapping[str, Any]], bool],
    broken: dict[Path, PromptError],
) -> Iterator[Path]:
    """The sets whose settings fit, the nearest place first.

    A set takes the place of farther ones of its name, unless it is found to be `broken`.
    """
    taken: set[str] = set()
    for folder in every:
        if folder in broken or folder.name in taken:
            continue
        try:
            is_fit = fits(_settings_in(folder))
        except PromptError as error:
            broken[folder] = error
            continue
        if is_fit:
            yield folder  # who takes the next one as well has found this one to be broken
        else:
            taken.add(folder.name)


def _fits_name(given: Mapping[str, Any], model: str) -> bool:
    return any(fnmatchcase(model.lower(), each.lower()) for each in given.get("models", ()))


def _holds_size(given: Mapping[str, Any], billions: float) -> bool:
    sizes = given.get("sizes", ())
    return bool(sizes) and bool(sizes[0] <= billions < sizes[1])


def _settings_in(folder: Path) -> Mapping[str, Any]:
    file = folder / "set.toml"
    return _settings(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _settings(file: Path, changed: int) -> Mapping[str, Any]:
    """The settings of a set; `changed` says when what was read before will do."""
    return read_settings(file)
