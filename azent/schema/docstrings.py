"""Read from a docstring what a function does, and what each parameter is for.

Four styles are read, also where one docstring mixes them or is laid out carelessly:

    Google                 NumPy                  Sphinx and Epydoc

    Args:                  Parameters             :param city: Its name.
        city: Its name.    ----------             @param city: Its name.
                           city : str
                               Its name.

Sections for programmers (raises, examples, references) are left out: each word costs a model time.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_TITLES = {
    **dict.fromkeys(("args", "arguments", "params", "parameters", "inputs"), "parameters"),
    **dict.fromkeys(("keyword args", "keyword arguments", "other parameters"), "parameters"),
    **dict.fromkeys(("attributes", "fields"), "parameters"),
    **dict.fromkeys(("return", "returns", "yield", "yields"), "returns"),
    **dict.fromkeys(("raise", "raises", "example", "examples", "notes"), "dropped"),
    **dict.fromkeys(("references", "see also", "todo"), "dropped"),
}
_FIELDS = {
    **dict.fromkeys(("param", "parameter", "arg", "argument"), "parameter"),
    **dict.fromkeys(("key", "keyword", "kwarg", "var", "ivar", "cvar"), "parameter"),
    **dict.fromkeys(("return", "returns", "yield", "yields"), "returns"),
    **dict.fromkeys(("type", "rtype", "raise", "raises", "except", "exception"), "dropped"),
}
_FIELD = re.compile(rf"[:@]({'|'.join(_FIELDS)})\b([^:]*):(?!`)(.*)")
_UNDERLINE = re.compile(r"-{3,}\s*")
_BRACKETS = r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]"
_ITEM = re.compile(
    rf"(?:[-*]\s+)?[`*]*(\w+(?:,\s*\*{{0,2}}\w+)*)[`*]*\s*(?:{_BRACKETS})?\s*(?::|\s--?\s|$)\s*(.*)"
)
_TYPE_FIRST = re.compile(r"[\w.]+(?:\[[^:]*\])?(?:\s*\|\s*[\w.]+(?:\[[^:]*\])?)*\s*:\s+(?=\S)")
_LISTED = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Docs:
    """The texts of a docstring: of the whole, of each parameter by name, of the returned value."""

    text: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""


@dataclass(frozen=True, slots=True)
class _Section:
    """A section of a docstring: its kind ("text" by default) and its lines."""

    kind: str
    lines: list[str]
    name: str = ""
    is_numpy: bool = False


def read_docs(function: Any) -> Docs:
    """Return the texts in the docstring of a function, or of the method that it overrides."""
    return parse_docs(inspect.getdoc(function) or "")


def own_docs(documented: Any) -> Docs:
    """Return the texts in an object's own docstring, ignoring inherited ones."""
    docstring = getattr(documented, "__doc__", None)
    return parse_docs(inspect.cleandoc(docstring) if isinstance(docstring, str) else "")


def parse_docs(docstring: str) -> Docs:
    """Return the texts in a docstring without indentation."""
    texts: list[str] = []
    parameters: dict[str, str] = {}
    returns = ""
    for section in _sections(docstring.splitlines()):
        if section.kind == "text":
            texts.extend(section.lines)
        elif section.kind == "parameter":
            parameters[section.name] = _tidy(section.lines)
        elif section.kind == "parameters":
            parameters.update(_items(section))
        elif section.kind == "returns":
            returns = _returned(section)
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(texts)).strip()
    return Docs(whole, {name: text for name, text in parameters.items() if text}, returns)


# ---- sections ------------------------------------------------------------------------------------


def _sections(lines: list[str]) -> Iterator[_Section]:
    at = 0
    while at < len(lines):
        section, after = _section(lines, at)
        yield section
        at = after


def _section(lines: list[str], at: int) -> tuple[_Section, int]:
    """Return the section that begins at a line, and the number of the line after it."""
    line = lines[at]
    if found := _FIELD.match(line):
        end = _end_of_field(lines, at + 1)
        name = (found[2].split() or [""])[-1].lstrip("*")
        return _Section(_FIELDS[found[1]], [found[3], *lines[at + 1 : end]], name), end
    if _is_numpy_title(lines, at):
        end = next((i for i in range(at + 2, len(lines)) if _is_numpy_title(lines, i)), len(lines))
        kind = _TITLES.get(line.strip().lower(), "text")
        return _Section(kind, lines[at + 2 : end], is_numpy=True), end
    title = line.rstrip().removesuffix(":").lower()
    if line.rstrip().endswith(":") and title in _TITLES:
        end = _end_of_google(lines, at + 1)
        return _Section(_TITLES[title], lines[at + 1 : end]), end
    return _Section("text", [line]), at + 1


def _is_numpy_title(lines: list[str], at: int) -> bool:
    return (
        at + 1 < len(lines)
        and _UNDERLINE.fullmatch(lines[at + 1]) is not None
        and lines[at][:1].isalpha()
    )


def _end_of_field(lines: list[str], at: int) -> int:
    """Return the line after a field: the next field, or unindented text after an empty line."""
    while at < len(lines) and not _FIELD.match(lines[at]):
        if lines[at].strip() and not lines[at][0].isspace() and not lines[at - 1].strip():
            break
        at += 1
    return at


def _end_of_google(lines: list[str], at: int) -> int:
    """Return the line after a section: where indentation ends; if not indented, an empty line."""
    first = next((line for line in lines[at:] if line.strip()), "")
    is_indented = first[:1].isspace()
    while at < len(lines):
        if is_indented and lines[at].strip() and not lines[at][0].isspace():
            break
        if not is_indented and not lines[at].strip():
            break
        at += 1
    return at


# ---- what is in a section ------------------------------------------------------------------------


def _items(section: _Section) -> dict[str, str]:
    """Return the text of each parameter that a section lists."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in inspect.cleandoc("\n" + "\n".join(section.lines)).splitlines():
        item = _ITEM.fullmatch(line) if line[:1].strip() else None
        if item is None:
            lines.append(line)
            continue
        lines = ["" if section.is_numpy else item[2]]
        found.update((name.strip(" *"), lines) for name in item[1].split(","))
    return {name: _tidy(lines) for name, lines in found.items()}


def _returned(section: _Section) -> str:
    lines = section.lines
    if section.is_numpy and any(line[:1].isspace() for line in lines):
        lines = [line for line in lines if not line[:1].strip()]
    text = _tidy(lines)
    if " " not in text:
        return ""  # nothing but a type
    named = None if section.is_numpy else _TYPE_FIRST.match(text)
    return text[named.end() :] if named else text


def _tidy(lines: list[str]) -> str:
    """Return a text with its lines joined, unless it has a list or paragraphs."""
    text = "\n".join(lines).strip()
    if "\n" not in text:
        return text
    text = inspect.cleandoc(text)
    return text if _LISTED.search(text) or "\n\n" in text else " ".join(text.split())
