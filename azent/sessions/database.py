"""Creating, checking, opening and locking the SQLite file of conversations.

A file that is broken, belongs to another program or was written by a newer azent is left unchanged,
and an error says so.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from azent.errors import SessionError
from azent.wording import reason_of

APPLICATION = 0x617A656E  # "azen": whose file this is, in the place that SQLite has for it
VERSION = 1
HELD = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}  # another connection has the lock
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
BUSY_SECONDS = 5.0  # how long others may take to write their rows
TABLES = (
    "CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL,"
    " created REAL NOT NULL, updated REAL NOT NULL)",
    "CREATE TABLE messages (session INTEGER NOT NULL, position INTEGER NOT NULL,"
    " kind TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, position)) WITHOUT ROWID",
    "CREATE TABLE begun (session INTEGER NOT NULL, call TEXT NOT NULL,"
    " PRIMARY KEY (session, call)) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def opened(path: Path, wait: float) -> sqlite3.Connection:
    """A connection to the store at a path, which is made if there is none. Raises SessionError.

    `wait` is the seconds that others are given to write their rows.
    """
    with in_words(path):
        _make_file(path)
        database = _connect(path, wait)
        try:
            _prepare(database, path)
        except BaseException:
            database.close()
            raise
        return database


def locked(path: Path) -> sqlite3.Connection | None:
    """A lock that lasts until it is closed or its process ends; None where another holds it.

    It is one of SQLite's own, on an empty file, so that it works wherever SQLite does.
    Raises OSError and sqlite3.Error for a place where none can be.
    """
    _make_file(path)
    lock = _connect(path, 0)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if _code(error) in HELD:
            return None
        raise
    return lock


@contextmanager
def in_words(place: Path) -> Iterator[None]:
    """Turn errors of SQLite and the system into SessionError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        said = f"the database of conversations {place} cannot be used: {reason_of(error)}"
        raise SessionError(said, _hint(error)) from error


def _hint(error: Exception) -> str:
    if _code(error) in HELD:
        return "Another program keeps it locked: try again when that is done."
    if _code(error) == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in NO_ROOM:
        return "Make room there, and run the same again: what was kept is still there."
    return "Name another file, or move this one away; it was left as it is."


def _code(error: Exception) -> int:
    """SQLite's primary code for an error, 0 for one that is not of SQLite."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _make_file(path: Path) -> None:
    """Make a file that only its owner can read, unless it is there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, or check that those of an old one are azent's."""
    if _is_empty(database):
        with suppress(sqlite3.OperationalError):  # where the file system cannot, or another does
            database.execute("PRAGMA journal_mode = WAL")
        with transaction(database):
            for statement in TABLES if _is_empty(database) else ():
                database.execute(statement)
    if _pragma(database, "application_id") != APPLICATION:
        raise SessionError(f"{path} is a database of another program", "Name another file.")
    if (version := _pragma(database, "user_version")) > VERSION:
        hint = "Use that azent, or name another file; this one was left as it is."
        raise SessionError(f"the database {path} is of a newer azent (version {version})", hint)
    database.execute("PRAGMA synchronous = FULL")  # a power cut, too, must not undo a commit


def _is_empty(database: sqlite3.Connection) -> bool:
    return not _pragma(database, "schema_version") and not _pragma(database, "application_id")


def _pragma(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commit all that the block writes, or roll all of it back after an error."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:  # some failures, such as a full disk, have ended it themselves
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
