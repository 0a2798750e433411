"""One conversation that is stored while it goes on.

When the user named the session, it has to be stored, and a store that cannot be used ends the run
with an error. When azent stores it unasked, such a store gives one warning, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

from azent.arguments import flag, text
from azent.errors import SessionError, UsageError
from azent.messages import Call, Log
from azent.sessions.store import Held, Store


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
    and `troubles` the warnings about the store that the user should see.
    """

    def __init__(self, required: bool = True) -> None:
        self.troubles: list[str] = []
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
            self.troubles.append(f"{error}: going on without keeping this conversation")


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
