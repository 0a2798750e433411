"""Tells of prompt sets that lie in the current folder, where anyone may have put them."""

from __future__ import annotations

import filecmp
import logging
from functools import lru_cache
from pathlib import Path

from azent import settings
from azent.prompt.value import PromptSet

HERE = {Path(), Path("prompts")}  # where a set is found that was named by its name alone

_logger = logging.getLogger("azent")
_logger.addHandler(logging.NullHandler())  # who wants to see warnings has handlers of their own


def folder_here(prompt_set: PromptSet) -> Path | None:
    """The folder of a set that was found in the current folder or in ./prompts, else None.

    A copy of one of azent's own sets, as in a checkout of azent, is as good as the original.
    """
    folder = prompt_set.folder
    if folder is None or folder.parent not in HERE or _is_own(folder):
        return None
    return folder


def words_on(prompt_set: PromptSet) -> tuple[str, ...]:
    """What the user should be told of where a set was found."""
    folder = folder_here(prompt_set)
    return (f"using the prompt set in {folder}",) if folder else ()


def log_where_found(prompt_set: PromptSet) -> None:
    """Log, once for each folder, that a set was found in the current folder."""
    for words in words_on(prompt_set):
        _log_once(Path.cwd(), words)


@lru_cache(maxsize=256)
def _log_once(here: Path, words: str) -> None:
    _logger.warning(words)


def _is_own(folder: Path) -> bool:
    own = settings.own_prompts() / folder.name
    names = _names(folder)
    return names == _names(own) and all(
        filecmp.cmp(folder / name, own / name, shallow=False) for name in names
    )


def _names(folder: Path) -> set[str]:
    return {file.name for file in folder.glob("*.*") if file.is_file()}
