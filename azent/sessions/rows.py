"""Reading and writing the rows of the store. The caller opens and ends the transactions."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from azent.arguments import sendable, text
from azent.errors import SessionError, UsageError
from azent.messages import Log, Question, Reply, from_json, to_json

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
    """The messages of a conversation. Raises SessionError for one that cannot be read."""
    select = "SELECT body FROM messages WHERE session = ? ORDER BY position"
    bodies = [body for (body,) in database.execute(select, (number,))]
    try:
        return tuple(from_json(json.loads(body)) for body in bodies)
    except UNREADABLE as error:
        said = f"a message of conversation number {number} cannot be read: {error!r}"
        raise SessionError(said, "It was written by another azent, or is broken.") from error


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
    """A row of the list; a damaged one does not keep the others from being listed."""
    return Listed(str(name), _seconds(created), _seconds(updated), count, _question(body))


def _seconds(value: Any) -> float:
    """A time in years that a calendar has; 1970 stands for one that is damaged."""
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
