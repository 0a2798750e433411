"""How a request to the model goes, in words, for the time in which nothing else can be seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from azent.errors import ModelError
from azent.messages import Delta, End, Request

if TYPE_CHECKING:
    from azent.models import Model

Heard = Callable[[Request], None]


class Pace:
    """A request while it lasts: since when, how long its prompt is, how fast the reply comes."""

    def __init__(self) -> None:
        self.loading = False
        self._asked = time.monotonic()
        self._first = self._asked
        self._tokens = 0
        self._pieces = 0

    def ask(self, tokens: int) -> None:
        """A request was made, of about so many tokens."""
        self._asked, self._tokens, self._pieces = time.monotonic(), tokens, 0

    def hear(self) -> None:
        """A piece of the reply came; most servers send one for each token."""
        if not self._pieces:
            self._first = time.monotonic()
        self._pieces += 1
        self.loading = False

    def words(self) -> str:
        """What the model is doing now."""
        seconds = time.monotonic() - self._asked
        if self._pieces:
            return f"writing{self._speed()}  {seconds:.0f} s"
        if not self._tokens:
            return "asking"
        doing = "loading the model, then reading" if self.loading else "reading"
        return f"{doing} about {self._tokens} tokens  {seconds:.0f} s"

    def _speed(self) -> str:
        seconds = time.monotonic() - self._first
        return f", {(self._pieces - 1) / seconds:.0f} tokens/s" if seconds > 0.5 else ""


class Overheard:
    """A model that tells of its requests and pieces to who waits for it."""

    def __init__(self, model: Model, pace: Pace, heard: Heard = lambda request: None) -> None:
        self.model = model
        self.pace = pace
        self.heard = heard
        self.name = model.name
        self.num_ctx = model.num_ctx
        self.retries: int = getattr(model, "retries", 0)

    def context(self) -> int | None:
        """The tokens that the model's context really holds."""
        from azent.models import context_of

        return context_of(self.model)

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The pieces of the model."""
        from azent.budget import estimate

        self.heard(request)
        self.pace.ask(estimate(request.messages))
        for piece in self.model.stream(request):
            self.pace.hear()
            yield piece


def must_load(model: Model) -> bool:
    """Will a model have to be loaded before it can answer, as far as its server tells?"""
    from azent.models.catalogue import loaded

    host: str | None = getattr(model, "host", None)
    if host is None:
        return False
    try:
        return not {model.name, f"{model.name}:latest"} & set(loaded(host))
    except ModelError:
        return False
