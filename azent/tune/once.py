"""A model that is asked the same thing once: many candidates differ only in what needs no model.

Its replies are kept beside the outcomes, so that a search that goes on asks nothing again either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from azent.messages import Delta, End, Request
from azent.models import Model, context_of
from azent.models.cached import Cached

REPLIES = ".replies.db"


@contextmanager
def asked_once(model: Model, digest: str, file: Path | None) -> Iterator[Model]:
    """The model with its replies kept beside a file, or as long as this lasts where there is none.

    A model whose replies are kept already is taken as it is.
    """
    if isinstance(model, Cached):
        yield model
    elif file:
        yield Cached(Weighed(model, digest), file.parent / f"{file.stem}{REPLIES}")
    else:
        with TemporaryDirectory(prefix="azent-tune-") as folder:
            yield Cached(Weighed(model, digest), Path(folder, REPLIES))


class Weighed:
    """A model whose replies are told from those of other weights, and other contexts, of its name.

    What `Cached` goes by are name and options, so they stand among these.
    """

    def __init__(self, model: Model, digest: str) -> None:
        self.name = model.name
        self.num_ctx = model.num_ctx
        self.retries: int = getattr(model, "retries", 0)
        known = getattr(model, "options", {})
        self.options = {**known, "num_ctx": model.num_ctx, "digest": digest}
        self._model = model

    def context(self) -> int | None:
        """The tokens that the model's context really holds."""
        return context_of(self._model)

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The pieces of the model's reply."""
        return self._model.stream(request)
