"""Several models as one: where one fails, the next is asked.

A model that answered is asked first from then on, so that a conversation does not change hands
without need, and a server that is down is not waited for again at each request. A reply that broke
off after it had begun is not begun again by another model: who listens has seen a part of it.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from azent.errors import ModelError, UsageError
from azent.messages import Delta, End, Request

if TYPE_CHECKING:
    from azent.models import Model

Tell: TypeAlias = Callable[[str], None]


def log_failure(words: str) -> None:
    """Put a failure into the log named "azent"."""
    logging.getLogger("azent").warning(words)


class Fallback:
    """Models that are tried in order. Its name is that of the first.

    Its context is the smallest of theirs. The models ought to be much alike: what one was told the
    next has to make do with. `tell` is given a sentence for each failure.
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
        """The smallest context, or what the model that is asked first really has, if that is less.

        The others are not asked: a server that is down would be waited for at each question.
        """
        from azent.models import context_of

        known = (self.num_ctx, context_of(self.models[self._last]))
        return min((tokens for tokens in known if tokens), default=None)

    def parameters(self) -> float | None:
        """The size of the model that answered last; before one has, of the first that tells it.

        Later on the others are not asked, for the same reason as above.
        """
        from azent.models import parameters_of

        asked = [self.models[self._last]] if self._has_answered else self.models
        return next((size for size in map(parameters_of, asked) if size is not None), None)

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The reply of the first model that gives one. Raises ModelError when none does."""
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
        """The places of the models: the one that answered last, then the rest in their order."""
        last = self._last
        return [last, *(place for place in range(len(self.models)) if place != last)]


def _after(failures: Sequence[str], error: ModelError) -> ModelError:
    """The last failure, told with those before it."""
    if not failures:
        return error
    told = copy.copy(error)
    told.args = ("; ".join([*failures, str(error)]),)
    return told
