"""The file that answers go to: one JSON object a line, appended as they come.

Whatever kills a run can tear the last line only. So before a file is gone on with, a torn last line
is taken out, and so are the lines of questions that failed: these are asked again. No question has
two lines, and no answer is rewritten.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Self

from azent.batch.questions import Id, is_id
from azent.errors import UsageError
from azent.sessions.database import locked
from azent.wording import reason_of

HINT = "Name a file that azent batch has written, or a new one."


class Answers:
    """A file of answers, open to be gone on with; `done` are the ids that it has answers for.

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
        """Keeps other runs off the file; the lock goes with the process, however that ends."""
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
        """Add a line; once this returns, only a crash of the whole machine can lose it."""
        text = json.dumps({"id": id, **record}, ensure_ascii=False)
        line = text.encode("utf-8", "backslashreplace") + b"\n"  # half a character as JSON has it
        try:
            if self._file.write(line) < len(line):
                raise OSError("there is no room for the whole line")
        except OSError as error:
            hint = "Make room, and run the same again: it goes on from there."
            raise UsageError(f"{self.path} cannot be written: {reason_of(error)}", hint) from error

    def _heal(self) -> None:
        """Read the ids that are done, and take out the lines that are not."""
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
    """The answer in a line, None where there is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(record, dict) and is_id(record.get("id"))
    return record if is_ours and ("answer" in record or "error" in record) else None
