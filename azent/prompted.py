"""A prompt as a function: a text with blanks, whose parameters are its blanks.

    summarise = azent.prompt_function("Sum up in $count words: $text", "qwen2.5-coder:1.5b")
    summarise(count=5, text=article)

It is a function like any other, so it is a tool (`Agent(model, [summarise])`) and can be a step of
a chain.
"""

from __future__ import annotations

import inspect
import keyword
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from azent.agent import Agent
from azent.arguments import place
from azent.arguments import text as words
from azent.errors import PromptError
from azent.models import Model
from azent.prompt import NO_FILE, Text, blanks_of, fill, read_text

LONGEST_LINE = 80
FILE_SUFFIXES = (".txt", ".md")


def prompt_function(
    source: str | Path,
    model: str | Model,
    *,
    output: Any = str,
    name: str = "",
    description: str = "",
) -> Callable[..., Any]:
    """A function that fills the blanks of a text and gives what a model answers.

    `source` is the text, or its file: a Path, or a name that ends in .txt or .md. The blanks are
    the parameters, in the order in which they come; values that are no texts are made some. The
    answer is a text, or a value of the type `output`. `name` and `description` are what a model is
    shown where the function is a tool; without them, the file's name and the text's first line.
    Raises PromptError for a file that cannot be read, and for a blank that cannot be a parameter.
    """
    text = _text(source)
    name, description = words("name", name), words("description", description)
    agent = Agent(model, output=None if output is str else output)
    signature = inspect.Signature(_parameters(text), return_annotation=output)

    def ask(*args: object, **kwargs: object) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        answer = agent.ask(fill(text, {blank: str(value) for blank, value in given.items()}))
        return answer.text if output is str else answer.value

    ask.__name__ = ask.__qualname__ = name or _name(text)
    ask.__doc__ = description or _description(text)
    ask.__annotations__ = {**dict.fromkeys(signature.parameters, str), "return": output}
    ask.__signature__ = signature  # type: ignore[attr-defined]  # it is what inspect looks for
    return ask


def _text(source: str | Path) -> Text:
    if not isinstance(source, str):
        return read_text(place("source", source))
    is_name = "\n" not in source and Path(source).suffix in FILE_SUFFIXES
    return read_text(Path(source)) if is_name else Text(source)


def _parameters(text: Text) -> list[inspect.Parameter]:
    names = blanks_of(text)
    if bad := next(filter(keyword.iskeyword, names), None):
        hint = "It is a word of Python's own; name the blank otherwise."
        raise PromptError(f"{text.source}: ${bad} cannot be a parameter", hint)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [inspect.Parameter(name, kind, annotation=str) for name in names]


def _name(text: Text) -> str:
    """A name for a function: that of the file, as far as Python allows it."""
    stem = "" if text.source == NO_FILE else Path(text.source).stem
    made = re.sub(r"\W+", "_", stem).strip("_")
    return made if made.isidentifier() else "ask_prompt"


def _description(text: Text) -> str:
    first = next(filter(None, map(str.strip, text.body.splitlines())), "")
    return f"Answers: {textwrap.shorten(first, LONGEST_LINE, placeholder=' ...')}"
