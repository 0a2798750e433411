"""Ask servers the questions of a batch in worker threads, with concurrency limits and retries.

A server has as many workers as its concurrency limit allows, and a free worker takes the next
question, so a fast server answers more of them. A server that is down is retried with backoff while
its questions go to the others.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from azent.agent import Agent
from azent.batch.files import BadLine, Item
from azent.conversation.answers import answer_json
from azent.errors import (
    AzentError,
    ModelError,
    ModelNotFound,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    ReplyBroken,
)
from azent.models import parameters_of
from azent.prompt.choice import prompts_for
from azent.runtime.driver import Approve

FIRST_LIMIT = 2
MIN_SPEEDUP = 1.15  # doubling the limit must raise the rate by this factor to be kept
MIN_ANSWERS = 8  # to measure a rate by
COOLDOWN = 20  # measurements without a trial, after one that was no faster
FIRST_BACKOFF = 1.0  # seconds before a server that is down is tried again; it doubles each time
MAX_BACKOFF = 30.0
OVERLOADED = {429, 503}
MAX_EVENTS = 1000  # that wait for the caller to read them
WAKE_SECONDS = 0.5  # a wait is never longer, so that Ctrl-C is noticed on every system
TRIES = 3
PATIENCE = 60.0  # seconds for which all servers may be down at once

Ask: TypeAlias = Callable[[str], Mapping[str, Any]]  # from a question to the record of its answer


# ---- servers -------------------------------------------------------------------------------------


def asking(agent: Agent, approve: Approve | None = None) -> Ask:
    """Make the function that asks an agent, with its prompt set as it is now for all questions.

    Where the model's size is not known yet, because its server is down, the set is chosen for good
    when the first answer has come. Raises PromptError.
    """
    fixed = copy.copy(agent)
    suited = prompts_for(agent.model, agent.prompts)
    if agent.prompts is not None or parameters_of(agent.model) is not None:
        fixed.prompts = suited

    def ask(question: str) -> Mapping[str, Any]:
        answer = fixed.ask(question, approve=approve)
        fixed.prompts = fixed.prompts or prompts_for(agent.model)
        return answer_json(answer)

    return ask


class ConcurrencyLimit:
    """How many questions a server is asked at once: found by measuring, from 1 to `most`.

    The limit is doubled as long as that raises the rate of answers, and halved when the server says
    that it is overloaded. Every so often one more doubling is tried, because servers change. A
    `fixed` limit stays as it is. Times are given by the caller, so nothing here waits.
    """

    def __init__(self, most: int, fixed: int | None = None) -> None:
        self.most = most
        self.fixed = fixed
        self.limit = fixed or min(FIRST_LIMIT, most)
        self._rate_before = 0.0  # the rate at half the limit; 0 if no doubling is on trial
        self._answers = 0
        self._started: float | None = None
        self._cooldown = 0

    def answered(self, now: float) -> None:
        """Count an answer, which came at this time in seconds."""
        if self.fixed:
            return
        if self._started is None:
            self._started = now
            return
        self._answers += 1
        if self._answers >= max(MIN_ANSWERS, 2 * self.limit) and now > self._started:
            self._adjust(self._answers / (now - self._started))

    def overloaded(self) -> None:
        """Halve the limit, because the server refused a question as one too many."""
        if not self.fixed:
            self._set(max(self.limit // 2, 1))

    def _adjust(self, rate: float) -> None:
        if self._rate_before and rate < MIN_SPEEDUP * self._rate_before:
            self._set(self.limit // 2)
        elif self._cooldown:
            self._cooldown -= 1
            self._measure()
        else:
            self._double(rate)

    def _double(self, rate: float) -> None:
        more = min(2 * self.limit, self.most)
        self._rate_before = rate if more == 2 * self.limit else 0.0
        self.limit = more
        self._measure()

    def _set(self, limit: int) -> None:
        self.limit = limit
        self._rate_before = 0.0
        self._cooldown = COOLDOWN
        self._measure()

    def _measure(self) -> None:
        """Start another measurement of the rate."""
        self._answers = 0
        self._started = None


class Server:
    """A model server, or a cluster in place of one, and what it is doing.

    Its fields are guarded by the lock of the worker pool. While it `is_down`, it is tried with one
    question at a time after a backoff; once it `is_removed`, it is never asked again.
    """

    def __init__(self, name: str, ask: Ask, concurrency: ConcurrencyLimit) -> None:
        self.name = name
        self.ask = ask
        self.concurrency = concurrency
        self.active = 0  # questions that it is being asked
        self.workers = 0
        self.is_down = False
        self.is_removed = False
        self._backoff = 0.0
        self._retry_at = 0.0

    def wait_seconds(self) -> float | None:
        """Return the seconds until the next question; None while its trial question runs."""
        if not self.is_down:
            return 0.0
        return None if self.active else max(self._retry_at - time.monotonic(), 0.0)

    def mark_down(self) -> bool:
        """Wait for a backoff before the next question. Returns whether it was up before."""
        was_up = not self.is_down
        self.is_down = True
        self._backoff = min(max(2 * self._backoff, FIRST_BACKOFF), MAX_BACKOFF)
        self._retry_at = time.monotonic() + self._backoff
        return was_up

    def mark_up(self) -> bool:
        """End the backoff. Returns whether it was down before."""
        was_down = self.is_down
        self.is_down = False
        self._backoff = 0.0
        return was_down


# ---- workers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The record of the answer to a question, or the error with which it failed."""

    item: Item
    record: Mapping[str, Any]
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """News of the servers that the user should see."""

    text: str


@dataclass(frozen=True, slots=True)
class _Job:
    item: Item
    tries: int = 0


BatchEvent: TypeAlias = QuestionOutcome | Notice | BadLine


def ask_all(
    questions: Iterator[Item | BadLine],
    servers: Sequence[Server],
    *,
    tries: int = TRIES,
    patience: float = PATIENCE,
) -> Generator[BatchEvent, None, None]:
    """Ask the questions of the servers and yield each outcome as it comes; closing this ends it.

    Raises the error of the last server if none was ever up, or if all are down for more than
    `patience` seconds; and the errors of reading the questions.
    """
    pool = _WorkerPool(questions, servers, tries, patience)
    pool.start()
    try:
        yield from pool.events()
    finally:
        pool.stop()


class _WorkerPool:
    """The worker threads and what they share under one lock."""

    def __init__(
        self,
        questions: Iterator[Item | BadLine],
        servers: Sequence[Server],
        tries: int,
        patience: float,
    ) -> None:
        self._questions = questions
        self._servers = servers
        self._tries = tries
        self._patience = patience
        self._retries: deque[_Job] = deque()
        self._events: deque[BatchEvent] = deque()
        self._active = 0  # questions that are being asked
        self._stopped = False
        self._error: AzentError | None = None
        self._last_answer: float | None = None  # when any server last answered
        self._changed = threading.Condition()

    def start(self) -> None:
        with self._changed:
            for server in self._servers:
                self._start_workers(server)

    def events(self) -> Iterator[BatchEvent]:
        """Yield what happens until all questions are done."""
        while True:
            with self._changed:
                while not (self._events or self._stopped):
                    self._changed.wait(WAKE_SECONDS)
                if not self._events:
                    break
                event = self._events.popleft()
                self._changed.notify_all()
            yield event
        if self._error:
            raise self._error

    def stop(self, error: AzentError | None = None) -> None:
        with self._changed:
            self._error = self._error or error
            self._stopped = True
            self._changed.notify_all()

    def _start_workers(self, server: Server) -> None:
        """Start workers until the server has as many as its concurrency limit."""
        while server.workers < server.concurrency.limit and not self._stopped:
            server.workers += 1
            threading.Thread(target=self._work, args=(server,), daemon=True).start()

    def _work(self, server: Server) -> None:
        """Ask a server one question after another: this is what a worker thread runs."""
        while (job := self._next_job(server)) is not None:
            try:
                outcome = QuestionOutcome(job.item, server.ask(job.item.question))
            except Exception as error:  # any error is the outcome of this question alone
                outcome = QuestionOutcome(job.item, {}, error)
            with self._changed:
                server.active -= 1
                self._active -= 1
                self._handle(server, job, outcome)
                self._start_workers(server)
                self._changed.notify_all()

    def _next_job(self, server: Server) -> _Job | None:
        """Wait for the next question to ask a server; None tells the worker to end."""
        with self._changed:
            while not self._is_done_with(server):
                wait = server.wait_seconds()
                if wait == 0 and len(self._events) < MAX_EVENTS and (job := self._take()):
                    server.active += 1
                    self._active += 1
                    return job
                if not (self._active or self._events or self._retries) and self._is_read():
                    self.stop()
                    break
                self._changed.wait(wait or None)
            server.workers -= 1
            return None

    def _is_done_with(self, server: Server) -> bool:
        """Tell whether a worker of this server has to end."""
        is_too_many = server.workers > server.concurrency.limit
        return self._stopped or server.is_removed or is_too_many

    def _take(self) -> _Job | None:
        """Take a question to retry, or else the next one of the file."""
        if self._retries:
            return self._retries.popleft()
        try:
            while isinstance(item := next(self._questions, None), BadLine):
                self._events.append(item)
        except AzentError as error:
            self.stop(error)
            return None
        return None if item is None else _Job(item)

    def _is_read(self) -> bool:
        """Tell whether the file has no more questions."""
        job = self._take()
        if job is not None:
            self._retries.appendleft(job)
        return job is None

    # ---- outcomes --------------------------------------------------------------------------------

    def _handle(self, server: Server, job: _Job, outcome: QuestionOutcome) -> None:
        """Report an outcome, or retry its question: on another server, later, or once more."""
        match outcome.error:
            case ModelUnreachable() as error:
                self._server_down(server, job, error)
            case ModelRefused(status=status) as error if status in OVERLOADED:
                self._last_answer = self._last_answer or time.monotonic()  # it is there, but busy
                if not server.is_down:
                    server.concurrency.overloaded()
                self._server_down(server, job, error)
            case ModelNotFound() as error:
                self._remove(server, job, error)
            case ReplyBroken() | ModelTimeout() if job.tries + 1 < self._tries:
                self._retries.append(_Job(job.item, job.tries + 1))
            case _:
                self._answered(server, outcome)

    def _answered(self, server: Server, outcome: QuestionOutcome) -> None:
        self._last_answer = time.monotonic()
        server.concurrency.answered(self._last_answer)
        if server.mark_up():
            self._events.append(Notice(f"{server.name} is back"))
        self._events.append(outcome)

    def _server_down(self, server: Server, job: _Job, error: ModelError) -> None:
        self._retries.appendleft(job)
        if server.mark_down():
            text = f"{server.name} is taken out, and tried again later: {error}"
            self._events.append(Notice(text))
        last = self._last_answer
        is_long = last is None or time.monotonic() - last > self._patience
        if is_long and all(each.is_down or each.is_removed for each in self._servers):
            self.stop(error)

    def _remove(self, server: Server, job: _Job, error: ModelError) -> None:
        self._retries.appendleft(job)
        if not server.is_removed:
            server.is_removed = True
            self._events.append(Notice(f"{server.name} is left out: {error}"))
        if all(each.is_removed for each in self._servers):
            self.stop(error)
