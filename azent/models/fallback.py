"""Models around other models: one that falls back on the next, and one that is observed.

Of several models, the one that answered is asked first from then on, so that a conversation stays
with it, and a server that is down is not waited for at each request. A reply that broke off after
it had begun is not begun again by another model, because the user has seen a part of it.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from azent.errors import ModelError, UsageError
from azent.messages import Delta, End, Request
from azent.models.model import Model, context_of, parameters_of

Tell: TypeAlias = Callable[[str], None]


def log_failure(words: str) -> None:
    """Write a failure to the log named "azent"."""
    logging.getLogger("azent").warning(words)


class Fallback:
    """Several models that are tried in order; its name is that of the first.

    Its context window is their smallest one. The models ought to be much alike, because one
    continues the conversation of another. `tell` is called with a sentence for each failure.
    """

    retries = 0  # each of the models tries again by itself

    def __init__(self, models: Sequence[Model], *, tell: Tell = log_failure) -> None:
        if not models:
            raise UsageError("there are no models to try", "Name one at least.")
        self.models = tuple(models)
        self.name = self.models[0].name
        self.num_ctx = min((m.num_ctx for m in self.models if m.num_ctx), default=None)
        self._tell = tell
        self._last = 0
        self._has_answered = False

    def __repr__(self) -> str:
        return f"Fallback({list(self.models)!r})"

    def context(self) -> int | None:
        """Return the tokens in the smallest context window.

        Only the model that is asked first can say how large its own really is: a server that is
        down would be waited for at each question.
        """
        known = (self.num_ctx, context_of(self.models[self._last]))
        return min((tokens for tokens in known if tokens), default=None)

    def parameters(self) -> float | None:
        """Return the size of the model that answered last; before that, the first known size.

        Once a model has answered, the others are not asked.
        """
        asked = [self.models[self._last]] if self._has_answered else self.models
        return next((size for size in map(parameters_of, asked) if size is not None), None)

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """Yield the reply of the first model that gives one. Raises ModelError when all fail."""
        failures: list[str] = []
        for place in self._order():
            model, begun = self.models[place], False
            try:
                for piece in model.stream(request):
                    begun, self._last, self._has_answered = True, place, True
                    yield piece
                return
            except ModelError as error:
                if begun or len(failures) == len(self.models) - 1:
                    raise _after(failures, error) from error
                failures.append(str(error))
                self._tell(f"{error}: asking the next model")

    def _order(self) -> list[int]:
        """Return the models' indices: the one that answered last, then the rest in order."""
        last = self._last
        return [last, *(place for place in range(len(self.models)) if place != last)]


def _after(failures: Sequence[str], error: ModelError) -> ModelError:
    """Return the last failure with those before it in its message."""
    if not failures:
        return error
    whole = copy.copy(error)
    whole.args = ("; ".join([*failures, str(error)]),)
    return whole


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
