"""Create, check, open and lock the SQLite file of conversations, and read and write its rows.

A file that is broken, belongs to another program or was written by a newer azent is never changed.
The functions that read and write rows leave transactions to their caller.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azent.errors import SessionError, UsageError, reason_of
from azent.messages import Log, Question, Reply
from azent.messages.json_forms import from_json, to_json
from azent.values.arguments import sendable, text

APPLICATION = 0x617A656E  # "azen", which marks a SQLite file as azent's
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
    """Return a connection to the store at a path, which is created if missing.

    `wait` is how many seconds to wait for other connections that write. Raises SessionError.
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
    """Return a lock, which lasts until it is closed or its process ends; None if it is taken.

    It is SQLite's own lock on an empty file, so that it works wherever SQLite does. Raises OSError
    and sqlite3.Error if the file cannot be created or locked.
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
        message = f"the database of conversations {place} cannot be used: {reason_of(error)}"
        raise SessionError(message, _hint(error)) from error


def _hint(error: Exception) -> str:
    if _code(error) in HELD:
        return "Another program keeps it locked: try again when that is done."
    if _code(error) == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in NO_ROOM:
        return "Make room there, and run the same again: what was kept is still there."
    return "Name another file, or move this one away; it was left as it is."


def _code(error: Exception) -> int:
    """Return SQLite's primary code for an error; 0 for an error that is not SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _make_file(path: Path) -> None:
    """Create a file that only its owner can read, unless it exists."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new file, or check that an existing file is azent's."""
    if _is_empty(database):
        with suppress(sqlite3.OperationalError):  # unsupported by the file system, or busy
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


# ---- rows ----------------------------------------------------------------------------------------


LONGEST_NAME = 200
LAST_SECOND = 253_402_214_400  # the last day of the year 9999
UNREADABLE = (ValueError, KeyError, TypeError, RecursionError)  # what a damaged body raises
LISTED = (
    "SELECT name, created, updated,"
    " (SELECT count(*) FROM messages WHERE session = id AND kind = 'question'),"
    " (SELECT body FROM messages WHERE session = id AND kind = 'question'"
    "  ORDER BY position LIMIT 1)"
    " FROM sessions ORDER BY updated DESC"
)


@dataclass(frozen=True, slots=True)
class Listed:
    """One row in the list of conversations; times are seconds since 1970."""

    name: str
    created: float
    updated: float
    turns: int
    question: str


def listed(database: sqlite3.Connection) -> list[Listed]:
    """List all conversations, the most recently used first."""
    return [_listed(*row) for row in database.execute(LISTED)]


def number_of(database: sqlite3.Connection, name: str) -> int | None:
    """Find the number of a conversation by its name. Raises UsageError for stray bytes."""
    wanted = (sendable("the conversation's name", text("the conversation's name", name)),)
    row = database.execute("SELECT id FROM sessions WHERE name = ?", wanted).fetchone()
    return int(row[0]) if row else None


def make(database: sqlite3.Connection, name: str) -> int:
    """Insert a conversation and return its number. Raises UsageError for a bad name."""
    _check_name(name)
    now = time.time()
    insert = "INSERT INTO sessions (name, created, updated) VALUES (?, ?, ?) RETURNING id"
    return int(database.execute(insert, (name, now, now)).fetchone()[0])


def _check_name(name: str) -> None:
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        hint = f"A name is 1 to {LONGEST_NAME} characters on one line."
        raise UsageError(f"{name!r} is no name for a conversation", hint)


def log_of(database: sqlite3.Connection, number: int) -> Log:
    """Return the messages of a conversation. Raises SessionError if one cannot be read."""
    select = "SELECT body FROM messages WHERE session = ? ORDER BY position"
    bodies = [body for (body,) in database.execute(select, (number,))]
    try:
        return tuple(from_json(json.loads(body)) for body in bodies)
    except UNREADABLE as error:
        message = f"a message of conversation number {number} cannot be read: {error!r}"
        raise SessionError(message, "It was written by another azent, or is broken.") from error


def begun_of(database: sqlite3.Connection, number: int) -> frozenset[str]:
    """Read the ids of the calls that were started in a conversation."""
    rows = database.execute("SELECT call FROM begun WHERE session = ?", (number,))
    return frozenset(call for (call,) in rows)


def add(database: sqlite3.Connection, number: int, messages: Log, start: int) -> None:
    """Insert messages; the first of them gets the position `start`."""
    bodies = [to_json(message) for message in messages]
    rows = [
        (number, position, body["kind"], json.dumps(body))  # escaped, so that any text can be kept
        for position, body in enumerate(bodies, start)
    ]
    database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows)
    database.execute("UPDATE sessions SET updated = ? WHERE id = ?", (time.time(), number))


def add_begun(database: sqlite3.Connection, number: int, calls: Iterable[str]) -> None:
    """Insert the ids of calls that are about to start."""
    rows = [(number, call) for call in calls]
    database.executemany("INSERT OR IGNORE INTO begun VALUES (?, ?)", rows)


def clear(database: sqlite3.Connection, number: int) -> None:
    """Delete the messages and calls of a conversation, but keep its name."""
    database.execute("DELETE FROM messages WHERE session = ?", (number,))
    database.execute("DELETE FROM begun WHERE session = ?", (number,))


def call_ids(log: Log) -> frozenset[str]:
    """Collect the ids of all calls in a log."""
    replies = (message for message in log if isinstance(message, Reply))
    return frozenset(call.id for reply in replies for call in reply.calls)


def _listed(name: Any, created: Any, updated: Any, count: int, body: Any) -> Listed:
    """Return a row of the list; damaged values are replaced, so that the others are listed."""
    return Listed(str(name), _seconds(created), _seconds(updated), count, _question(body))


def _seconds(value: Any) -> float:
    """Return a time within the years 1970 to 9999; 1970 for a damaged one."""
    is_time = isinstance(value, int | float) and 0 <= value < LAST_SECOND
    return float(value) if is_time else 0.0


def _question(body: Any) -> str:
    if body is None:
        return ""
    try:
        message = from_json(json.loads(body))
    except UNREADABLE:
        return "(it cannot be read)"
    return message.text if isinstance(message, Question) else ""
