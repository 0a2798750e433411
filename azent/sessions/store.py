"""Store conversations in one SQLite file, to which each message is committed as it comes.

A run locks the conversation that it continues, so that two runs cannot mix their turns. The lock
is released when its process ends for any reason, and it does not affect other conversations. A
transaction lasts only as long as its rows take to write.

When the user named the session, it has to be stored, and a store that cannot be used ends the run
with an error. When azent stores it unasked, such a store gives one warning, and the run goes on.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from azent import config
from azent.errors import SessionError, UsageError
from azent.messages import Call, Log
from azent.messages.log import turns
from azent.sessions.database import (
    BUSY_SECONDS,
    Listed,
    add,
    add_begun,
    begun_of,
    call_ids,
    clear,
    in_words,
    listed,
    locked,
    log_of,
    make,
    number_of,
    opened,
    transaction,
)
from azent.values.arguments import flag, place, seconds, text, whole


class Held:
    """A locked conversation: what is stored of it, and methods that store more.

    `begun` are the ids of the calls that were started, finished or not.
    """

    def __init__(self, database: sqlite3.Connection, number: int, place: Path) -> None:
        self.log = log_of(database, number)
        self.begun = begun_of(database, number)
        self._database = database
        self._number = number
        self._place = place
        self._stored = len(self.log)
        self._lock = threading.Lock()

    def keep(self, log: Log) -> None:
        """Commit the messages that are new in the log. Raises SessionError."""
        with self._lock, in_words(self._place), transaction(self._database):
            add(self._database, self._number, log[self._stored :], self._stored)
        self._stored = len(log)

    def begin(self, calls: Sequence[Call]) -> None:
        """Commit that these calls are about to start. Raises SessionError."""
        with self._lock, in_words(self._place), transaction(self._database):
            add_begun(self._database, self._number, [call.id for call in calls])


class Store:
    """A file of conversations: `path`, or `sessions.db` in the user's data folder.

    `wait` is how many seconds to wait for another process that writes to the file. The file is
    created and opened only when a method needs it. Every method raises SessionError if the file
    cannot be used, if it has no such conversation, or if another run has locked the conversation.
    """

    def __init__(self, path: str | Path | None = None, *, wait: float = BUSY_SECONDS) -> None:
        self.wait = seconds("wait", wait)
        own = config.data_folder() / "sessions.db"
        self.path = own if path is None else place("path", path)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def sessions(self) -> list[Listed]:
        """List all conversations, the most recently used first."""
        if not self.path.exists():
            return []
        with self._using() as database:
            return listed(database)

    def log(self, name: str) -> Log:
        """Read the messages of a conversation."""
        with self._using() as database:
            return log_of(database, self._number(database, name))

    @contextmanager
    def hold(self, name: str) -> Iterator[Held]:
        """Lock a conversation and continue it, or create it. Raises UsageError for a bad name."""
        with closing(opened(self.path, self.wait)) as database:
            with in_words(self.path), transaction(database):
                number = number_of(database, name) or make(database, name)
            with closing(self._lock(number, name)):
                with in_words(self.path):
                    self._number(database, name)  # it may have been deleted just now
                    held = Held(database, number, self.path)
                yield held

    def branch(self, name: str, new: str, turn_count: int | None = None) -> Log:
        """Copy a conversation, or its first turns, into a new one with the name `new`."""
        with self._using() as database, transaction(database):
            number = self._number(database, name)
            if number_of(database, new) is not None:
                hint = "Take another name, or delete that one first."
                raise SessionError(f"there is a conversation {new!r} already", hint)
            most = None if turn_count is None else whole("turn_count", turn_count, 0)
            kept = _first(log_of(database, number), most)
            _write(database, make(database, new), kept, begun_of(database, number))
        return kept

    def undo(self, name: str, turn_count: int = 1) -> Log:
        """Remove the last turns of a conversation and return the messages that are left."""
        with self._changing(name) as (database, number):
            log, begun = log_of(database, number), begun_of(database, number)
            kept = _first(log, max(0, len(turns(log)) - whole("turn_count", turn_count, 0)))
            clear(database, number)
            _write(database, number, kept, begun)
        return kept

    def delete(self, name: str) -> None:
        """Delete a conversation."""
        with self._changing(name) as (database, number):
            clear(database, number)
            database.execute("DELETE FROM sessions WHERE id = ?", (number,))
        self._lock_file(number).unlink(missing_ok=True)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with closing(opened(self.path, self.wait)) as database, in_words(self.path):
            yield database

    @contextmanager
    def _changing(self, name: str) -> Iterator[tuple[sqlite3.Connection, int]]:
        """Lock a conversation and open a transaction on it."""
        with self._using() as database:
            number = self._number(database, name)
            with closing(self._lock(number, name)), transaction(database):
                yield database, number

    def _number(self, database: sqlite3.Connection, name: str) -> int:
        number = number_of(database, name)
        if number is None:
            hint = "`azent sessions list` shows those there are."
            raise SessionError(f"there is no conversation {name!r} in {self.path}", hint)
        return number

    def _lock(self, number: int, name: str) -> sqlite3.Connection:
        file = self._lock_file(number)
        with in_words(file):
            lock = locked(file)
        if lock is None:
            hint = "Wait until it is done, or go on in a branch of it."
            raise SessionError(f"another run is going on with the conversation {name!r}", hint)
        return lock

    def _lock_file(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}-locks") / str(number)


def _write(database: sqlite3.Connection, number: int, log: Log, begun: frozenset[str]) -> None:
    add(database, number, log, 0)
    add_begun(database, number, begun & call_ids(log))


def _first(log: Log, turn_count: int | None) -> Log:
    return log if turn_count is None else tuple(chain.from_iterable(turns(log)[:turn_count]))


# ---- one conversation of a run -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Session:
    """The name of a conversation and the store that it is in; the first use creates it.

    A run whose store cannot be used raises an error if `required`, and otherwise only warns.
    """

    name: str
    store: Store = field(default_factory=Store)
    required: bool = True


class Keeper:
    """Stores a conversation as it grows; without a session it stores nothing.

    `log` holds the messages stored before this run, `begun` the ids of the calls that were started,
    and `warnings` what the user should know about the store.
    """

    def __init__(self, required: bool = True) -> None:
        self.warnings: list[str] = []
        self._held: Held | None = None
        self._required = required

    def hold(self, holding: AbstractContextManager[Held], stack: ExitStack) -> None:
        """Lock the conversation until the stack is closed. Raises SessionError."""
        with self._tolerant():
            self._held = stack.enter_context(holding)

    @property
    def log(self) -> Log:
        return self._held.log if self._held else ()

    @property
    def begun(self) -> frozenset[str]:
        return self._held.begun if self._held else frozenset()

    def keep(self, log: Log) -> None:
        """Store the messages that are new in the log. Raises SessionError."""
        if held := self._held:
            with self._tolerant():
                held.keep(log)

    def begin(self, call: Call) -> None:
        """Store that a call is about to start. Raises SessionError."""
        if held := self._held:
            with self._tolerant():
                held.begin([call])

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except SessionError as error:
            if self._required:
                raise
            self._held = None
            self.warnings.append(f"{error}: going on without keeping this conversation")


def _check_session(session: object) -> None:
    if not isinstance(session, Session):
        raise UsageError(f"session is {session!r}", "Give a name, or an azent.Session.")
    if not isinstance(session.store, Store):
        raise UsageError(f"the session's store is {session.store!r}", "Give azent.Store(path).")
    text("the session's name", session.name)
    flag("the session's `required`", session.required)


@contextmanager
def kept(session: Session | str | None) -> Iterator[Keeper]:
    """Lock a session for one run and give the object that stores its conversation.

    Raises SessionError if the session is required and its store cannot be used.
    """
    if isinstance(session, str):
        session = Session(session)
    if session is not None:
        _check_session(session)
    with ExitStack() as stack:
        keeper = Keeper(session is None or session.required)
        if session is not None:
            keeper.hold(session.store.hold(session.name), stack)
        yield keeper
