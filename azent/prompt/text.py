"""Texts with blanks.

`$name` is a blank. Filling is one pass: a value is never searched for blanks, so user text,
docstrings and results cannot expand. A line with one blank and nothing else is left out where the
value is empty. `$` before anything but a letter is text, and `$$name` is the text `$name`. An
unknown blank is an error with the file and line. (`string.Template` would also read `${name}` and
`$$`, and has no lines: to teach it these rules takes more code than it saves.)
"""

from __future__ import annotations

import inspect
import keyword
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from azent.errors import PromptError, reason_of
from azent.values import files
from azent.values.arguments import place
from azent.values.results import text_of

BLANK = re.compile(r"\$(\$?)([A-Za-z][A-Za-z0-9_]*)")
LONGEST_LINE = 80
NO_FILE = "(text)"
_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD
ONLY_BLANK = re.compile(r"\s*\$([A-Za-z][A-Za-z0-9_]*)\s*")


@dataclass(frozen=True, slots=True)
class Text:
    """A text with blanks, and where it came from."""

    body: str
    source: str = NO_FILE


def read_text(file: Path) -> Text:
    """Return the text in a file. Raises PromptError where it is missing or cannot be read."""
    try:
        body = files.read_text(file)
    except FileNotFoundError as error:
        raise PromptError(f"{file} is missing") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{file} cannot be read: {reason_of(error)}") from error
    return Text(body.replace("\r\n", "\n"), str(file))


@lru_cache(maxsize=1024)
def blanks_of(text: Text) -> tuple[str, ...]:
    """Return the names of a text's blanks, each once, in their order."""
    names = (name for doubled, name in BLANK.findall(text.body) if not doubled)
    return tuple(dict.fromkeys(names))


def fill(text: Text, blanks: Mapping[str, str]) -> str:
    """Return the text with its blanks filled. Raises PromptError for a blank without a value."""
    lines: list[str] = []
    for number, line in enumerate(text.body.split("\n"), start=1):
        filled = _filled(line, blanks, f"{text.source}:{number}") if "$" in line else line
        if filled is not None:
            lines.append(filled)
    return "\n".join(lines).strip("\n")


def _filled(line: str, blanks: Mapping[str, str], place: str) -> str | None:
    """Return a line with its blanks filled; None for a line of one blank that is empty."""
    only = ONLY_BLANK.fullmatch(line)
    if only and blanks.get(only[1]) == "":
        return None

    def value_of(match: re.Match[str]) -> str:
        doubled, name = match.groups()
        if doubled:
            return f"${name}"
        if name not in blanks:
            raise PromptError(f"{place}: there is no blank ${name}", _known(blanks))
        return blanks[name]

    return BLANK.sub(value_of, line)


def _known(blanks: Iterable[str]) -> str:
    names = ", ".join(f"${name}" for name in sorted(blanks))
    return f"Blanks here: {names or 'none'}. To write the text itself, double the dollar sign."


# ---- texts as functions --------------------------------------------------------------------------


class Template:
    """A text with blanks as a function: called with the values, it returns the filled text.

    Raises PromptError for a blank whose name cannot be a parameter's.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self.blanks = blanks_of(text)
        if bad := next(filter(keyword.iskeyword, self.blanks), None):
            hint = "It is a keyword of Python; give the blank another name."
            raise PromptError(f"{text.source}: ${bad} cannot be a parameter", hint)
        self.__name__ = "prompt" if text.source == NO_FILE else Path(text.source).stem
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, _KIND, annotation=str) for name in self.blanks]
        )

    def __call__(self, *values: Any, **named: Any) -> str:
        """Fill blanks with named values and mappings, and the rest with values in their order."""
        filled = {name: value for name, value in named.items() if name in self.blanks}
        for value in values:
            filled |= (
                value if isinstance(value, Mapping) else {self._next_free(filled, value): value}
            )
        if missing := [name for name in self.blanks if name not in filled]:
            hint = f"Give it by name: chain.run(..., {missing[0]}=...)."
            raise PromptError(f"{self.text.source}: nothing fills ${missing[0]}", hint)
        return fill(self.text, {str(name): text_of(value) for name, value in filled.items()})

    @property
    def identifier(self) -> str:
        """Return the name of the file, as far as it can name a Python function."""
        stem = "" if self.text.source == NO_FILE else self.__name__
        name = re.sub(r"\W+", "_", stem).strip("_")
        return name if name.isidentifier() else "ask_prompt"

    @property
    def first_line(self) -> str:
        """Return the first line with words in it, shortened."""
        lines = filter(None, map(str.strip, self.text.body.splitlines()))
        return textwrap.shorten(next(lines, ""), LONGEST_LINE, placeholder=" ...")

    def _next_free(self, filled: Mapping[str, Any], value: Any) -> str:
        if free := [name for name in self.blanks if name not in filled]:
            return free[0]
        hint = "A text is a prompt; a model is an open one: azent.open_model(...)."
        raise PromptError(f"{self.text.source}: no blank is left for {text_of(value, 80)!r}", hint)


def template_from(source: str | Path) -> Template:
    """Make a template of a text, or of a file: a Path, or a name that ends in .txt or .md."""
    if isinstance(source, str):
        is_name = "\n" not in source and source.endswith((".txt", ".md"))
        return Template(read_text(Path(source)) if is_name else Text(source))
    return Template(read_text(place("source", source)))
