"""Many questions, several servers: each takes the next question when it has room for one.

So a fast server gets more to do than a slow one, and no more questions are held than are being
asked. A server that does not answer is taken out and tried again later; its questions go to the
others. A question is given up after some tries on which the reply broke off or took too long.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from azent.batch.lane import Lane
from azent.batch.questions import BadLine, Item
from azent.errors import (
    AzentError,
    ModelError,
    ModelNotFound,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ReplyBroken,
)

BUSY = {429, 503}
MOST_UNSAID = 1000  # outcomes that wait for whoever writes them down
WAKE_SECONDS = 0.5  # so that Ctrl-C is noticed everywhere
TRIES = 3
PATIENCE = 60.0  # seconds for which all servers may be away at once


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question: its record, and the error where it failed."""

    item: Item
    record: Mapping[str, Any]
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the user should know of the servers."""

    text: str


@dataclass(slots=True)
class _Job:
    item: Item
    tries: int = 0


Said: TypeAlias = Outcome | Notice | BadLine


def ask_all(
    questions: Iterator[Item | BadLine],
    lanes: Sequence[Lane],
    *,
    tries: int = TRIES,
    patience: float = PATIENCE,
) -> Generator[Said, None, None]:
    """What comes of the questions, as it comes; lines without one among it. Leaving it ends it.

    Raises what the last server failed with, where none was ever there, or none is for so long as
    `patience` says; and what reading the questions raises.
    """
    work = _Work(questions, lanes, tries, patience)
    work.begin()
    try:
        yield from work.said()
    finally:
        work.stop()


class _Work:
    """What the workers share, under one lock; each of them is a thread that asks one at a time."""

    def __init__(
        self,
        questions: Iterator[Item | BadLine],
        lanes: Sequence[Lane],
        tries: int,
        patience: float,
    ) -> None:
        self._questions = questions
        self._lanes = lanes
        self._tries = tries
        self._patience = patience
        self._returned: deque[_Job] = deque()
        self._said: deque[Said] = deque()
        self._asking = 0  # questions that are out
        self._stopped = False
        self._error: AzentError | None = None
        self._seen: float | None = None  # when a server last answered
        self._changed = threading.Condition()

    def begin(self) -> None:
        with self._changed:
            for lane in self._lanes:
                self._fill(lane)

    def said(self) -> Iterator[Said]:
        """What there is to say, until all is done."""
        while True:
            with self._changed:
                while not (self._said or self._stopped):
                    self._changed.wait(WAKE_SECONDS)
                if not self._said:
                    break
                said = self._said.popleft()
                self._changed.notify_all()
            yield said
        if self._error:
            raise self._error

    def stop(self, error: AzentError | None = None) -> None:
        with self._changed:
            self._error = self._error or error
            self._stopped = True
            self._changed.notify_all()

    # ---- workers ---------------------------------------------------------------------------------

    def _fill(self, lane: Lane) -> None:
        """Have as many workers on a lane as it may be asked at once."""
        while lane.workers < lane.pace.limit and not self._stopped:
            lane.workers += 1
            threading.Thread(target=self._work, args=(lane,), daemon=True).start()

    def _work(self, lane: Lane) -> None:
        while (job := self._next(lane)) is not None:
            try:
                outcome = Outcome(job.item, lane.ask(job.item.question))
            except Exception as error:  # whatever it is, it is one question's
                outcome = Outcome(job.item, {}, error)
            with self._changed:
                lane.busy -= 1
                self._asking -= 1
                self._judge(lane, job, outcome)
                self._fill(lane)
                self._changed.notify_all()

    def _next(self, lane: Lane) -> _Job | None:
        """The next question for a worker of a lane, None where it is to end."""
        with self._changed:
            while not (self._stopped or lane.gone or lane.workers > lane.pace.limit):
                wait = lane.wait_seconds()
                if wait == 0 and len(self._said) < MOST_UNSAID and (job := self._take()):
                    lane.busy += 1
                    self._asking += 1
                    return job
                if not (self._asking or self._said or self._returned) and self._is_read():
                    self.stop()
                    break
                self._changed.wait(wait or None)
            lane.workers -= 1
            return None

    def _take(self) -> _Job | None:
        """A question that came back, else the next one of the file."""
        if self._returned:
            return self._returned.popleft()
        try:
            while isinstance(item := next(self._questions, None), BadLine):
                self._said.append(item)
        except AzentError as error:
            self.stop(error)
            return None
        return None if item is None else _Job(item)

    def _is_read(self) -> bool:
        """Has the file no further question?"""
        job = self._take()
        if job is not None:
            self._returned.appendleft(job)
        return job is None

    # ---- what an outcome means -------------------------------------------------------------------

    def _judge(self, lane: Lane, job: _Job, outcome: Outcome) -> None:
        match outcome.error:
            case ModelUnreachable() as error:
                self._away(lane, job, error)
            case ModelRefused(status=status) as error if status in BUSY:
                self._seen = self._seen or time.monotonic()  # it is there, if busy
                if not lane.out:
                    lane.pace.busy()
                self._away(lane, job, error)
            case ModelNotFound() as error:
                self._never(lane, job, error)
            case ReplyBroken() | ModelTimeout() if job.tries + 1 < self._tries:
                self._returned.append(_Job(job.item, job.tries + 1))
            case _:
                self._answered(lane, outcome)

    def _answered(self, lane: Lane, outcome: Outcome) -> None:
        self._seen = time.monotonic()
        lane.pace.answered(self._seen)
        if lane.bring_back():
            self._said.append(Notice(f"{lane.name} is back"))
        self._said.append(outcome)

    def _away(self, lane: Lane, job: _Job, error: ModelError) -> None:
        self._returned.appendleft(job)
        if lane.take_out():
            self._said.append(Notice(f"{lane.name} is taken out, and tried again later: {error}"))
        is_long = self._seen is None or time.monotonic() - self._seen > self._patience
        if is_long and all(each.out or each.gone for each in self._lanes):
            self.stop(error)

    def _never(self, lane: Lane, job: _Job, error: ModelError) -> None:
        self._returned.appendleft(job)
        if not lane.gone:
            lane.gone = True
            self._said.append(Notice(f"{lane.name} is left out: {error}"))
        if all(each.gone for each in self._lanes):
            self.stop(error)
