"""The file that answers go to: one JSON object a line, appended as they come.

Whatever kills a run can tear the last line only. So before a file is gone on with, a torn last line
is taken out, and so are the lines of questions that failed: these are asked again. No question has
two lines, and no answer is rewritten.

The file stays the same file: its mode, its owner and the links to it are the user's. The lines that
are kept are written to a file beside it first, so that a kill in the middle loses none.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from azent.batch.questions import Id, is_id
from azent.errors import UsageError
from azent.files import LONGEST_LINE, lines_of, open_regular
from azent.store.database import locked
from azent.wording import reason_of, safe_json

HINT = "Name a file that azent batch has written, or a new one."
NO_FILE = "Name a plain file, in a folder that has room and can be written to."


class Answers:
    """A file of answers, open to be gone on with; `done` are the ids that it has answers for.

    Raises UsageError for a file that holds something else, or that cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: set[Id] = set()
        self._real = Path(os.path.realpath(path))
        self._saved = self._beside(".saved")

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            try:
                self._refuse_devices()
                opened.enter_context(self._locked())
                self._heal()
                self._file = opened.enter_context(self._real.open("ab", buffering=0))
            except (OSError, sqlite3.Error) as error:
                said = f"{self.path} cannot be written: {reason_of(error)}"
                raise UsageError(said, NO_FILE) from error
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps other runs off the file; the lock goes with the process, however that ends."""
        file = self._beside(".lock")
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
        """A file of azent's own in the folder where the answers really are."""
        return self._real.with_name(f"{self._real.name}{ending}")

    def _refuse_devices(self) -> None:
        """Raise OSError for a pipe or a device, before anything is made beside it."""
        if self._real.exists():
            open_regular(self._real).close()

    def _heal(self) -> None:
        """Read the ids that are done, and take out the lines that are not."""
        if not self._real.exists():
            self._saved.unlink(missing_ok=True)  # it is of a file that is gone
            return
        if _is_own_file(self._saved):
            self._write_back()  # what a run that was killed could not do
        clean = self._beside(".part")
        with open_regular(self._real) as file, _new_private_file(clean) as kept:
            kept.writelines(self._lines_to_keep(file))
        if clean.stat().st_size == self._real.stat().st_size:
            clean.unlink()
            return
        os.replace(clean, self._saved)
        self._write_back()

    def _write_back(self) -> None:
        """Replace what is in the file, and nothing else about it, by the lines that were saved."""
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
    """Is it a regular file of this user's? A link that anyone may have put there is none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == getattr(os, "geteuid", lambda: 0)()


@contextmanager
def _new_private_file(path: Path) -> Iterator[BinaryIO]:
    """A file that only its owner can read, in place of any other; it goes where writing fails."""
    path.unlink(missing_ok=True)
    try:
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            yield file
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _record(line: bytes) -> dict[str, Any] | None:
    """The answer in a line, None where there is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(record, dict) and is_id(record.get("id"))
    return record if is_ours and ("answer" in record or "error" in record) else None
