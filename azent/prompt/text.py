"""Texts with blanks.

`$name` is a blank. Filling is one pass: what is put into a blank is never looked at again, so user
text, docstrings and results cannot expand. A line whose only blank fills to nothing is left out.
`$` before anything but a letter is text, and `$$name` is the text `$name`. A blank that there is
not is an error that names file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from azent import files
from azent.errors import PromptError
from azent.wording import reason_of

BLANK = re.compile(r"\$(\$?)([A-Za-z][A-Za-z0-9_]*)")
NO_FILE = "(text)"
ONLY_BLANK = re.compile(r"\s*\$([A-Za-z][A-Za-z0-9_]*)\s*")


@dataclass(frozen=True, slots=True)
class Text:
    """A text with blanks, and where it came from."""

    body: str
    source: str = NO_FILE


def read_text(file: Path) -> Text:
    """The text in a file. Raises PromptError where it is missing or cannot be read."""
    try:
        body = files.read_text(file)
    except FileNotFoundError as error:
        raise PromptError(f"{file} is missing") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{file} cannot be read: {reason_of(error)}") from error
    return Text(body.replace("\r\n", "\n"), str(file))


def blanks_of(text: Text) -> tuple[str, ...]:
    """The names of a text's blanks, each once, in the order in which they first come."""
    names = (name for doubled, name in BLANK.findall(text.body) if not doubled)
    return tuple(dict.fromkeys(names))


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
