"""What was said in a chat: in memory until it has a name, and in the store from then on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from azent.errors import SessionError, UsageError
from azent.log import turn_of, turns
from azent.messages import Answer, Call, Event, Log, Question

if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.sessions import Session, Store


class Conversation:
    """A conversation that can be asked, undone, saved and begun anew."""

    def __init__(self, session: Session | None, store: Store) -> None:
        self.session = session
        self.store = store
        self._log: Log = ()
        self._before = 0

    @property
    def log(self) -> Log:
        """All that was said so far."""
        if self.session is None:
            return self._log
        try:
            return self.store.log(self.session.name)
        except SessionError:
            return ()  # nothing was said in it yet

    def ask(
        self, agent: Agent, question: str, approve: Callable[[Call], Any]
    ) -> Generator[Event, None, None]:
        """The events of a question."""
        self._before = len(turns(self.log))
        if self.session:
            return agent.stream(question, session=self.session, approve=approve)
        return self._remembered(agent.stream(question, self._log, approve=approve))

    def _remembered(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        with closing(events):
            for event in events:
                if isinstance(event, Answer):
                    self._log = event.log
                yield event

    def forget_unfinished(self) -> None:
        """Take back the question that was stopped, where anything of it was kept."""
        if self.session and len(turns(self.log)) > self._before:
            self.store.undo(self.session.name)

    def undo(self) -> str:
        """Take back the last question and all that came of it. Raises UsageError: there is none."""
        log = self.log
        if not turns(log):
            raise UsageError("there is nothing to take back", "Ask something first.")
        if self.session:
            self.store.undo(self.session.name)
        last = turn_of(log)
        self._log = log[: len(log) - len(last)]
        return next(m.text for m in last if isinstance(m, Question))

    def save(self, name: str) -> None:
        """Keep it by a name, and go on with what is kept. Raises UsageError, SessionError."""
        from azent.sessions import Session

        if not name:
            raise UsageError("a name is missing", "Such as: /save holidays")
        if any(each.name == name for each in self.store.sessions()):
            hint = "Take another name, or delete that one: azent sessions delete."
            raise SessionError(f"there is a conversation {name!r} already", hint)
        log = self.log
        with self.store.hold(name) as held:
            held.keep(log)
        self.session = replace(self.session or Session(name, self.store), name=name)

    def begin_anew(self) -> None:
        """Forget what was said; what is kept stays in the store."""
        self.session, self._log = None, ()
