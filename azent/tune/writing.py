"""The winner as a prompt set in a folder.

The settings are written last: a folder without them is no prompt set, so that one that was only
half written is not taken for one.
"""

from __future__ import annotations

import json
from pathlib import Path

from azent.arguments import place
from azent.errors import PromptError, UsageError
from azent.prompt import PromptSet, files_of, read
from azent.prompt.sets import BLANKS
from azent.prompt.written import SETTINGS_FILE
from azent.tune.evidence import About, evidence, remark, tuned_set
from azent.tune.run import Tuned
from azent.wording import reason_of

EVIDENCE = "evidence.json"


def check_free(folder: str | Path, *, force: bool = False) -> None:
    """Raise UsageError where something stands in a new set's place, unless it may be replaced."""
    if place("folder", folder).exists() and not force:
        hint = "Take another --name, or replace it with --force."
        raise UsageError(f"{folder} is there already", hint)


def write(tuned: Tuned, folder: str | Path, about: About, *, force: bool = False) -> PromptSet:
    """Write the winner into a folder, with the evidence, and read it back.

    Raises UsageError where something is there already, PromptError where it cannot be written.
    """
    folder = place("folder", folder)
    check_free(folder, force=force)
    files = files_of(tuned_set(tuned, about), remark(tuned, about))
    evident = json.dumps(evidence(tuned, about), ensure_ascii=False, indent=2) + "\n"
    last = {SETTINGS_FILE: files.pop(SETTINGS_FILE)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in (SETTINGS_FILE, *(f"{name}.txt" for name in BLANKS)):
            (folder / old).unlink(missing_ok=True)
        for name, text in {**files, EVIDENCE: evident, **last}.items():
            (folder / name).write_text(text, "utf-8", newline="\n")
    except OSError as error:
        said = f"{folder} cannot be written: {reason_of(error)}"
        raise PromptError(said, "Take another --name.") from error
    return read(folder)
