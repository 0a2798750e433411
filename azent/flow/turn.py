"""What a turn is made of while it lasts, and the effects that its driver carries out.

    Measure()              ask how large the context is           tokens, None where unknown
    Open(request)          begin a reply of the model             nothing comes back
    Pull(most)             wait for its next piece                the piece, None after the last
    Close()                stop it                                nothing
    Wait(futures, most)    wait for the first of some calls       those that are done
    Consent(call)          ask a person whether a call may run    the verdict
    Encode(encoder, ...)   turn texts into vectors                the vectors

`most` is in seconds. A driver that carries out an effect in vain throws the error into the flow.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from azent.execute import Execution, Ran
from azent.messages import Answer, Call, Event, Log, Request, Warning
from azent.models.encoder import Encoder, Kind
from azent.request import Terms

_logger = logging.getLogger("azent")
_logger.addHandler(logging.NullHandler())  # who wants to see warnings has handlers of their own


@dataclass(frozen=True, slots=True)
class Measure:
    pass


@dataclass(frozen=True, slots=True)
class Open:
    request: Request


@dataclass(frozen=True, slots=True)
class Pull:
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Close:
    pass


@dataclass(frozen=True, slots=True)
class Wait:
    futures: frozenset[Future[Ran]]
    most: float | None


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
    """The run has used up its time; caught within this package."""


@dataclass(slots=True)
class Turn:
    """One run of an agent on one question: its log as it grows, and what it runs with.

    `keep` is given the log after each message, before the next step begins; what goes wrong with
    that and stops nothing is put into `troubles`. `deadline` is on the
    clock of `time.monotonic`; it waits while a person is asked. `retries` is how often a reply that
    broke off is asked for again. `early` are the calls, by id, that began before their reply ended;
    `asides`, what the model is told beside their results. `encoder` tells how near the functions
    are to the question.
    """

    log: Log
    terms: Terms
    execution: Execution
    keep: Callable[[Log], None] = lambda log: None
    troubles: list[str] = field(default_factory=list)
    deadline: float | None = None
    retries: int = 0
    warnings: list[str] = field(default_factory=list)
    early: dict[str, tuple[Call, Future[Ran]]] = field(default_factory=dict)
    asides: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    encoder: Encoder | None = None

    def left(self) -> float | None:
        """The seconds that are left. Raises TimeUp when there are none."""
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeUp
        return left

    def grow(self, log: Log) -> None:
        self.log = log
        self.keep(log)

    def warn(self, text: str) -> Warning:
        self.warnings.append(text)
        _logger.warning(text)
        return Warning(text)
