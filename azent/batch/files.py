"""Read the questions of a batch, and write its answers, one JSON object a line.

Answers are appended as they come, so a run that is killed can damage only the last line. The next
run removes that line and the lines of failed questions, which it asks again: the lines to keep are
saved beside the file and written back, so that its mode, its owner and the links to it stay.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias

from azent.errors import UsageError, reason_of, safe_json
from azent.sessions.database import locked
from azent.values.files import LONGEST_LINE, lines_of, open_regular, open_stream

HINT = "Name a file that azent batch has written, or a new one."
NO_FILE = "Name a plain file, in a folder that has room and can be written to."
# Endings of azent's own files beside the answers, which no file of the user's should have.
SAVED, PART, LOCK = ".azent-saved", ".azent-part", ".azent-lock"
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
        with open_stream(path) as file:
            yield from questions_in(lines_of(file))
    except OSError as error:
        hint = 'Name a file of lines such as {"id": "1", "question": "What is 2 + 3?"}.'
        message = f"the questions in {path} cannot be read: {reason_of(error)}"
        raise UsageError(message, hint) from error


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
        self._real = Path(os.path.realpath(path))
        self._saved = self._beside(SAVED)

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            try:
                self._refuse_devices()
                opened.enter_context(self._locked())
                self._heal()
                self._file = opened.enter_context(self._real.open("ab", buffering=0))
            except (OSError, sqlite3.Error) as error:
                message = f"{self.path} cannot be written: {reason_of(error)}"
                raise UsageError(message, NO_FILE) from error
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the file against other runs; the lock ends with this process in any case."""
        file = self._beside(LOCK)
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
        line = _line(id, record)
        if len(line) > LONGEST_LINE:  # the next run would refuse it
            line = _line(id, {"error": f"its answer takes {len(line):,} bytes", "kind": "TooLong"})
        try:
            if self._file.write(line) < len(line):
                raise OSError("there is no room for the whole line")
        except OSError as error:
            hint = "Make room, and run the same again: it goes on from there."
            raise UsageError(f"{self.path} cannot be written: {reason_of(error)}", hint) from error

    def _beside(self, ending: str) -> Path:
        """Name a file of azent's own in the folder that really holds the answers."""
        return self._real.with_name(f"{self._real.name}{ending}")

    def _refuse_devices(self) -> None:
        """Raise OSError for a pipe or a device, before any file is created beside it."""
        if self._real.exists():
            open_regular(self._real).close()

    def _heal(self) -> None:
        """Read the ids that have an answer, and remove the lines that hold none."""
        if not self._real.exists():
            self._saved.unlink(missing_ok=True)  # it belonged to a file that was deleted
            return
        if _is_own_file(self._saved):
            self._write_back()  # finishes what a killed run began
        clean = self._beside(PART)
        with open_regular(self._real) as file, _new_private_file(clean) as kept:
            kept.writelines(self._lines_to_keep(file))
        if clean.stat().st_size == self._real.stat().st_size:
            clean.unlink()
            return
        os.replace(clean, self._saved)
        self._write_back()

    def _write_back(self) -> None:
        """Replace the contents of the file by the saved lines; its mode and links stay."""
        with self._saved.open("rb") as saved, self._real.open("r+b") as file:
            shutil.copyfileobj(saved, file)
            file.truncate()
            os.fsync(file.fileno())
        self._saved.unlink()

    def _lines_to_keep(self, file: BinaryIO) -> Iterator[bytes]:
        for number, line in enumerate(lines_of(file), 1):
            record = _record(line) if line.endswith(b"\n") else {}
            if record is None:
                raise UsageError(f"{self.path}, line {number} is no answer", HINT)
            if record and "error" not in record:
                self.done.add(record["id"])
                yield line


def _line(id: Id, record: Mapping[str, Any]) -> bytes:
    return safe_json(json.dumps({"id": id, **record}, ensure_ascii=False)).encode() + b"\n"


def _is_own_file(path: Path) -> bool:
    """Tell whether this is a regular file of this user, and no link that others may have made."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == getattr(os, "geteuid", lambda: 0)()


@contextmanager
def _new_private_file(path: Path) -> Iterator[BinaryIO]:
    """Create a file that only its owner can read, in place of any other; delete it on an error."""
    path.unlink(missing_ok=True)
    try:
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            yield file
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _record(line: bytes) -> dict[str, Any] | None:
    """Read the answer or error in a line; None if there is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(record, dict) and is_id(record.get("id"))
    return record if is_ours and ("answer" in record or "error" in record) else None
