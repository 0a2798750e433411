"""A model around another that reports its requests and the pieces of its replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from azent.messages import Delta, End, Request
from azent.models import Model, context_of, parameters_of


class Observed:
    """Calls `on_request` before each request and `on_piece` for each piece of a reply."""

    def __init__(
        self,
        model: Model,
        on_request: Callable[[Request], Any] = lambda request: None,
        on_piece: Callable[[Delta | End], Any] = lambda piece: None,
    ) -> None:
        self.model = model
        self.name = model.name
        self.num_ctx = model.num_ctx
        self.retries: int = getattr(model, "retries", 0)
        self._on_request = on_request
        self._on_piece = on_piece

    def context(self) -> int | None:
        """Return the number of tokens that the model's context really holds."""
        return context_of(self.model)

    def parameters(self) -> float | None:
        """Return the billions of parameters that the model has."""
        return parameters_of(self.model)

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """Stream the model's reply to a request."""
        self._on_request(request)
        for piece in self.model.stream(request):
            self._on_piece(piece)
            yield piece
