"""One server among several: how much it gets to do, and whether it is there at all."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from azent import prompt
from azent.agent import Agent
from azent.answered import answer_json
from azent.batch.pace import Pace
from azent.drive import Approve

FIRST_PAUSE = 1.0  # seconds before a server that went away is tried again, then twice that
LONGEST_PAUSE = 30.0

AskOne: TypeAlias = Callable[[str], Mapping[str, Any]]  # a question in, its record out


def asking(agent: Agent, approve: Approve | None = None) -> AskOne:
    """What asks an agent, with the prompt set as it is now: one batch, one prompt."""
    fixed = copy.copy(agent)
    fixed.prompts = prompt.load(agent.prompts, agent.model.name)
    return lambda question: answer_json(fixed.ask(question, approve=approve))


class Lane:
    """A server with what it is doing; whoever holds the lock of the work may change it.

    `out` is whether it went away: then one question at a time is tried on it, now and then. `gone`
    is whether it will never do.
    """

    def __init__(self, name: str, ask: AskOne, pace: Pace) -> None:
        self.name = name
        self.ask = ask
        self.pace = pace
        self.busy = 0
        self.workers = 0
        self.out = False
        self.gone = False
        self._pause = 0.0
        self._until = 0.0

    def wait_seconds(self) -> float | None:
        """The seconds until it may be asked, 0 for now, None while its only trial is on."""
        if not self.out:
            return 0.0
        return None if self.busy else max(self._until - time.monotonic(), 0.0)

    def take_out(self) -> bool:
        """It did not answer. Is that news?"""
        is_news = not self.out
        self.out = True
        self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._until = time.monotonic() + self._pause
        return is_news

    def bring_back(self) -> bool:
        """It did answer. Is that news?"""
        is_news = self.out
        self.out = False
        self._pause = 0.0
        return is_news
