"""The state of a turn while it runs, and the effects that a driver carries out for it.

    Measure()               ask for the size of the context window  tokens, None if unknown
    Open(request)           start streaming a reply of the model    None
    Pull(timeout)           wait for the next piece of the reply    the piece, None after the last
    Close()                 stop the stream                         None
    Wait(futures, timeout)  wait until some calls have finished     the finished futures
    Consent(call)           ask a person to approve a call          the verdict
    Encode(encoder, ...)    turn texts into vectors                 the vectors

The last column is what the driver sends back. Every `timeout` is in seconds. If an effect fails,
the driver throws the exception into the flow.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from azent.conversation.position import Terms
from azent.messages import Answer, Call, Event, Log, Request, Warning
from azent.models.encoder import Encoder, Kind
from azent.runtime.calls import Execution
from azent.runtime.outcomes import Ran

_logger = logging.getLogger("azent")
_logger.addHandler(logging.NullHandler())  # a program that wants warnings adds its own


@dataclass(frozen=True, slots=True)
class Measure:
    pass


@dataclass(frozen=True, slots=True)
class Open:
    request: Request


@dataclass(frozen=True, slots=True)
class Pull:
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Close:
    pass


@dataclass(frozen=True, slots=True)
class Wait:
    futures: frozenset[Future[Ran]]
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Consent:
    call: Call


@dataclass(frozen=True, slots=True)
class Encode:
    encoder: Encoder
    texts: tuple[str, ...]
    kind: Kind


Effect: TypeAlias = Measure | Open | Pull | Close | Wait | Consent | Encode
Flow: TypeAlias = Generator[Effect | Event, Any, Answer]
Moves: TypeAlias = Generator[Effect | Event, Any, None]


class TimeUp(Exception):
    """The turn has reached its time limit; never leaves this package."""


@dataclass(slots=True)
class Turn:
    """The state of one run of an agent on one question.

    - `log`: the transcript so far.
    - `terms`: what stays fixed for the question.
    - `execution`: runs the tool calls.
    - `keep`: stores the log after each message, before the next step starts.
    - `troubles`: what went wrong with storing, to be given as warnings.
    - `deadline`: the end of the turn by `time.monotonic`, in seconds; time for approval extends it.
    - `retries`: how many times a reply is requested again after its stream broke.
    - `warnings`: the warnings given so far.
    - `started_early`: the calls, by id, that started before their reply ended, and their futures.
    - `result_prefixes`: a text, by call id, that is put before the result.
    - `asked`: the number of requests sent so far.
    - `encoder`: ranks the tools by their similarity to the question.
    """

    log: Log
    terms: Terms
    execution: Execution
    keep: Callable[[Log], None] = lambda log: None
    troubles: list[str] = field(default_factory=list)
    deadline: float | None = None
    retries: int = 0
    warnings: list[str] = field(default_factory=list)
    started_early: dict[str, tuple[Call, Future[Ran]]] = field(default_factory=dict)
    result_prefixes: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    encoder: Encoder | None = None

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, None without one. Raises TimeUp past it."""
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeUp
        return left

    def grow(self, log: Log) -> None:
        """Replace the log by one with more messages, and store it."""
        self.log = log
        self.keep(log)

    def warn(self, text: str) -> Warning:
        """Log a warning, and return it as an event."""
        self.warnings.append(text)
        _logger.warning(text)
        return Warning(text)
