"""What a docstring tells a model: what a function does, and what each parameter is for.

The styles of Google, NumPy, Sphinx and Epydoc are read. Sections that are for programmers (raises,
examples, notes) are left out: each word costs a model time.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import docstring_parser
from docstring_parser import DocstringStyle, ParseError

_FIELD = re.compile(r"^\s*[:@](param|parameter|arg|argument|keyword|returns?|rtype|type)\b", re.M)
_SECTION = re.compile(r"^\s*[A-Z]\w+( \w+)?:\s*$", re.M)
_UNDERLINE = re.compile(r"^\s*-{3,}\s*$", re.M)


@dataclass(frozen=True, slots=True)
class Docs:
    """The texts of a docstring: of the whole, of each parameter by name, of the returned value."""

    text: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""


def read_docs(documented: Any) -> Docs:
    """The texts in the docstring of a function or a class; empty where it has none."""
    docstring = inspect.getdoc(documented)
    return parse_docs(docstring) if docstring else Docs()


def parse_docs(docstring: str) -> Docs:
    """The texts in a docstring whose indentation was already taken off."""
    style = _style_of(docstring)
    if style is None:
        return Docs(docstring.strip())
    try:
        parsed = docstring_parser.parse(docstring, style)
    except ParseError:
        return Docs(docstring.strip())
    whole = "\n\n".join(filter(None, (parsed.short_description, parsed.long_description)))
    returns = parsed.returns.description if parsed.returns else None
    return Docs(whole, _parameter_texts(parsed), _tidy(returns or ""))


def _style_of(docstring: str) -> DocstringStyle | None:
    """Which style has sections or fields in this docstring; asking all four is slow."""
    if found := _FIELD.search(docstring):
        return DocstringStyle.EPYDOC if "@" in found.group() else DocstringStyle.REST
    if _UNDERLINE.search(docstring):
        return DocstringStyle.NUMPYDOC
    return DocstringStyle.GOOGLE if _SECTION.search(docstring) else None


def _parameter_texts(parsed: docstring_parser.Docstring) -> dict[str, str]:
    return {
        name.strip().lstrip("*"): _tidy(parameter.description)
        for parameter in parsed.params
        if parameter.description
        for name in parameter.arg_name.split(",")
    }


def _tidy(text: str) -> str:
    """A text without the line breaks of its source, unless it is a list or has paragraphs."""
    text = inspect.cleandoc(text)
    is_list = re.search(r"^\s*([-*+]|\d+[.)])\s", text, re.M)
    return text if is_list or "\n\n" in text else " ".join(text.split())
