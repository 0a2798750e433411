"""One conversation, kept in a store while it goes on.

Where its name was given, it must be kept: a store that cannot be used stops the run, in words.
Where it is kept without having been asked for, that warns once, and the run goes on without.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

from azent.arguments import flag, text
from azent.errors import SessionError, UsageError
from azent.messages import Call, Log
from azent.store import Held, Store


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation by its name in a store, which is made when it is first used.

    `required` is whether a run must end where the store cannot be used.
    """

    name: str
    store: Store = field(default_factory=Store)
    required: bool = True


class Keeper:
    """Keeps a conversation as it grows, or does nothing where it is kept nowhere.

    `log` is what was kept before, `begun` are the ids of the calls that were begun, and `troubles`
    what a person should know of the store.
    """

    def __init__(self, required: bool = True) -> None:
        self.troubles: list[str] = []
        self._held: Held | None = None
        self._required = required

    def hold(self, holding: AbstractContextManager[Held], stack: ExitStack) -> None:
        """Get hold of the conversation until the stack is left. Raises SessionError."""
        with self._tolerant():
            self._held = stack.enter_context(holding)

    @property
    def log(self) -> Log:
        return self._held.log if self._held else ()

    @property
    def begun(self) -> frozenset[str]:
        return self._held.begun if self._held else frozenset()

    def keep(self, log: Log) -> None:
        """Keep a log that has grown. Raises SessionError."""
        if held := self._held:
            with self._tolerant():
                held.keep(log)

    def begin(self, call: Call) -> None:
        """Keep that a call is about to begin. Raises SessionError."""
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
    """The keeper of a conversation, which nobody else can go on with meanwhile.

    Raises SessionError where a store that is required cannot be used.
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
