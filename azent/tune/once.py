"""A model that is asked the same thing once: many candidates differ only in what needs no model."""

from __future__ import annotations

import json
from collections.abc import Iterator

from azent.messages import Delta, End, Request
from azent.models import Model


class Once:
    """A model whose replies are remembered for as long as this lives; only those that are whole."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.num_ctx = model.num_ctx
        self._model = model
        self._heard: dict[str, tuple[Delta | End, ...]] = {}

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The pieces of the reply, those of before where the same was asked before."""
        said = [request.messages, request.format, request.tools, dict(request.options)]
        key = json.dumps(said, default=str)
        if key in self._heard:
            yield from self._heard[key]
            return
        pieces = []
        for piece in self._model.stream(request):
            pieces.append(piece)
            yield piece
        self._heard[key] = tuple(pieces)
