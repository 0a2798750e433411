"""A tuned prompt set in a folder, with the evidence for it: how it did on the cases set aside.

The settings file is written last. A folder without it is no prompt set, so a set that was written
only in part is never used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from azent import __version__
from azent.arguments import place
from azent.errors import PromptError, UsageError
from azent.lab.report import Row, as_json
from azent.lab.tuning import Tuned
from azent.prompt import PromptSet, files_of, read
from azent.prompt.files import SETTINGS_FILE
from azent.prompt.sets import BLANKS
from azent.wording import counted, reason_of

EVIDENCE = "evidence.json"
WILDCARDS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class About:
    """The name of a tuned set, the date, and the command that was typed."""

    name: str
    date: str
    command: str = ""


def check_free(folder: str | Path, *, force: bool = False) -> None:
    """Raise UsageError if something is in the place of a new set, unless it may be replaced."""
    if place("folder", folder).exists() and not force:
        hint = "Take another --name, or replace it with --force."
        raise UsageError(f"{folder} is there already", hint)


def write(tuned: Tuned, folder: str | Path, about: About, *, force: bool = False) -> PromptSet:
    """Write the winner and the evidence into a folder, and read it back as a prompt set.

    Raises UsageError if something is there already, PromptError if it cannot be written.
    """
    folder = place("folder", folder)
    check_free(folder, force=force)
    files = files_of(_named(tuned, about), "\n".join(_remarks(tuned, about)))
    files[EVIDENCE] = json.dumps(evidence(tuned, about), ensure_ascii=False, indent=2) + "\n"
    files[SETTINGS_FILE] = files.pop(SETTINGS_FILE)  # now the last one
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in (SETTINGS_FILE, *(f"{name}.txt" for name in BLANKS)):
            (folder / old).unlink(missing_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8", newline="\n")
    except OSError as error:
        message = f"{folder} cannot be written: {reason_of(error)}"
        raise PromptError(message, "Take another --name.") from error
    return read(folder)


def _named(tuned: Tuned, about: About) -> PromptSet:
    """The winner under its new name, for the model that it was tuned for."""
    return replace(
        tuned.prompts,
        name=about.name,
        description=f"tuned for {tuned.model}: {_figures(tuned.winner)}",
        models=patterns(tuned.model),
        sizes=(),
        folder=None,
    )


def patterns(model: str) -> tuple[str, ...]:
    """The patterns that match one model's name; a name without a tag means its tag "latest"."""
    bare = model.removesuffix(":latest")
    names = (model,) if ":" in bare else (bare, f"{bare}:latest")
    return tuple(WILDCARDS.sub(r"[\g<0>]", name) for name in names)


def _remarks(tuned: Tuned, about: About) -> Iterator[str]:
    """The evidence in a few lines, which become comments at the top of the settings."""
    result = tuned.result
    yield f"Tuned by azent {__version__} on {about.date}. All figures are in evidence.json."
    yield f"The best of {counted(len(result.tried), 'set')} tried: {result.winner.name}"
    yield f"On {counted(tuned.winner.all.count, 'case')} set aside: {_figures(tuned.winner)}"
    for verdict in tuned.verdicts:
        yield f"The set {tuned.start.prompts} on the same: {_figures(tuned.start)}"
        yield str(verdict)
    if about.command:
        yield about.command


def _figures(row: Row) -> str:
    low, high = row.interval
    return f"mean {row.mean:.2f} ({low:.2f}-{high:.2f}), {row.prompt_tokens:.0f} prompt tokens"


def evidence(tuned: Tuned, about: About) -> dict[str, Any]:
    """All of the evidence as JSON values."""
    result = tuned.result
    tried = [
        {"prompts": x.candidate.name, "cases": x.cases, "mean": x.mean, "prompt_tokens": x.tokens}
        for x in result.tried
    ]
    return {
        "name": about.name,
        "date": about.date,
        "azent": __version__,
        "command": about.command,
        "model": {"name": tuned.model, "digest": tuned.digest},
        "start": tuned.start.prompts,
        "winner": result.winner.name,
        "set_aside": {
            "cases": len(tuned.split.aside),
            **as_json(tuned.judged, tuned.verdicts),
        },
        "search": {"cases": len(tuned.split.search), "asked": result.spent, "tried": tried},
    }
