"""Questions, one JSON object a line: {"id": ..., "question": ...}.

A line that cannot be used is said to be bad, by its number, and does not stop the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from azent.errors import UsageError
from azent.files import lines_of, open_stream
from azent.wording import reason_of

Id: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Item:
    """A question to be answered, with the number of its line."""

    id: Id
    question: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that holds no question, and why."""

    line: int
    problem: str


def read_questions(path: Path) -> Iterator[Item | BadLine]:
    """The questions in a file, line by line. Raises UsageError where it cannot be read."""
    try:
        with open_stream(path) as file:
            yield from questions_in(lines_of(file))
    except OSError as error:
        hint = 'Name a file of lines such as {"id": "1", "question": "What is 2 + 3?"}.'
        said = f"the questions in {path} cannot be read: {reason_of(error)}"
        raise UsageError(said, hint) from error


def questions_in(lines: Iterable[bytes]) -> Iterator[Item | BadLine]:
    """The questions in some lines; an id that was used before makes a line bad."""
    first_use: dict[Id, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        item = _parsed(line, number)
        if isinstance(item, Item) and item.id in first_use:
            item = BadLine(number, f"the id {item.id!r} was used in line {first_use[item.id]}")
        if isinstance(item, Item):
            first_use[item.id] = number
        yield item


def _parsed(line: bytes, number: int) -> Item | BadLine:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return BadLine(number, f"it is not JSON: {reason_of(error)}")
    if not isinstance(value, dict):
        return BadLine(number, "it is no object")
    if not is_id(value.get("id")):
        return BadLine(number, 'it has no "id" that is a text or a whole number')
    question = value.get("question")
    if not isinstance(question, str) or not question.strip():
        return BadLine(number, 'it has no "question" that is a text')
    return Item(value["id"], question, number)


def is_id(value: Any) -> bool:
    """Can this be the id of a question?"""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
