"""The files of a batch: questions and answers, one JSON object a line.

A line of {"id": ..., "question": ...} is a question. A line that holds none is reported by its
number and left out. Answers are appended as they come, so a run that is killed can damage only the
last line. The next run removes that line, and the lines of questions that failed, which are asked
again. So no question has two lines, and no answer is rewritten.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

from azent.errors import UsageError
from azent.sessions.database import locked
from azent.wording import reason_of

HINT = "Name a file that azent batch has written, or a new one."
Id: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Item:
    """A question and the number of its line."""

    id: Id
    question: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that holds no question, and the reason."""

    line: int
    problem: str


def read_questions(path: Path) -> Iterator[Item | BadLine]:
    """Read the questions of a file, line by line. Raises UsageError for an unreadable file."""
    try:
        with path.open("rb") as file:
            yield from questions_in(file)
    except OSError as error:
        hint = 'Name a file of lines such as {"id": "1", "question": "What is 2 + 3?"}.'
        said = f"the questions in {path} cannot be read: {reason_of(error)}"
        raise UsageError(said, hint) from error


def questions_in(lines: Iterable[bytes]) -> Iterator[Item | BadLine]:
    """Read the questions in some lines; a second line with the same id is a BadLine."""
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
    """Tell whether a value can be the id of a question."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


class Answers:
    """A file of answers, opened to append to; `done` holds the ids that have an answer in it.

    Raises UsageError for a file that holds something else, or that cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: set[Id] = set()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            try:
                opened.enter_context(self._locked())
                self._heal()
                self._file = opened.enter_context(self.path.open("ab", buffering=0))
            except (OSError, sqlite3.Error) as error:
                raise UsageError(f"{self.path} cannot be written: {reason_of(error)}") from error
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the file against other runs; the lock ends with this process in any case."""
        file = self.path.with_name(f"{self.path.name}.lock")
        lock = locked(file)
        if lock is None:
            raise UsageError(f"another run is writing to {self.path}", "Let it end, or end it.")
        with closing(lock):
            try:
                yield
            finally:
                file.unlink(missing_ok=True)

    def write(self, id: Id, record: Mapping[str, Any]) -> None:
        """Append a line. After that, only a crash of the whole machine can lose it."""
        text = json.dumps({"id": id, **record}, ensure_ascii=False)
        line = text.encode("utf-8", "backslashreplace") + b"\n"  # half a character as JSON has it
        try:
            if self._file.write(line) < len(line):
                raise OSError("there is no room for the whole line")
        except OSError as error:
            hint = "Make room, and run the same again: it goes on from there."
            raise UsageError(f"{self.path} cannot be written: {reason_of(error)}", hint) from error

    def _heal(self) -> None:
        """Read the ids that have an answer, and remove the lines that hold none."""
        if not self.path.exists():
            return
        clean = self.path.with_name(f"{self.path.name}.part")
        try:
            with clean.open("wb") as file:
                file.writelines(self._lines_to_keep())
            if clean.stat().st_size < self.path.stat().st_size:
                os.replace(clean, self.path)
        finally:
            clean.unlink(missing_ok=True)

    def _lines_to_keep(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                record = _record(line) if line.endswith(b"\n") else {}
                if record is None:
                    raise UsageError(f"{self.path}, line {number} is no answer", HINT)
                if record and "error" not in record:
                    self.done.add(record["id"])
                    yield line


def _record(line: bytes) -> dict[str, Any] | None:
    """Read the answer or error in a line; None if there is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(record, dict) and is_id(record.get("id"))
    return record if is_ours and ("answer" in record or "error" in record) else None
