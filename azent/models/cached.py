"""Replies kept by request, in one SQLite file that can be read and carried about.

The same request to the same model (its name and options, whatever server runs it) gets the reply
that it got before, in the same pieces. A reply that broke off, or was not read to its end, is not
kept. The file has one table, `replies`: the request and the pieces of its reply as JSON. The size
of the model is kept there too, so that a replay asks with the same prompt set.

    sqlite3 replies.db "select request ->> '$.model', reply from replies"

One mechanism, three uses: `Cached` saves asking again; `Cached(..., strict=True)`, also called
`Recorded`, asks nothing and fails for what it does not know, so that tests need no model.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azent.arguments import flag, named, place
from azent.errors import NotRecorded, UsageError
from azent.messages import Delta, End, Request, read_as
from azent.wording import reason_of

if TYPE_CHECKING:
    from azent.models import Model

HINT = "Name another file, or put this one away."
WAIT_SECONDS = 30.0  # for another process that writes into the same file
TABLE = """create table if not exists replies (
    key text primary key, request text not null, reply text not null,
    kept text not null default current_timestamp
)"""
OTHERS = """select name from sqlite_master
    where type = 'table' and name <> 'replies' and name not glob 'sqlite_*'"""
INSERT = "insert or replace into replies (key, request, reply) values (?, ?, ?)"


class Cached:
    """A model whose replies are stored in a file, and read from there when they are known.

    A `strict` one asks the model nothing: a request without a stored reply raises NotRecorded.
    `facts` are what else the replies depend on, such as the digest of the model's weights: a reply
    that was stored for other facts is not used.
    """

    def __init__(
        self,
        model: str | Model,
        path: str | Path,
        *,
        strict: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        from azent.models import open_model

        self.model = open_model(model)
        self.path = place("path", path)
        self.strict = flag("strict", strict)
        self.facts = named("facts", facts)
        self.name = self.model.name
        self.num_ctx = self.model.num_ctx
        self.retries: int = getattr(self.model, "retries", 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {str(self.path)!r})"

    def context(self) -> int | None:
        """The tokens that the model's context really holds; as told, where it is asked nothing."""
        from azent.models import context_of

        return self.num_ctx if self.strict else context_of(self.model)

    def parameters(self) -> float | None:
        """The billions of parameters that the model has, kept in the file as its replies are.

        A file that cannot be used tells no size: what is wrong with it, the first request will say.
        """
        from azent.models import parameters_of

        asked = {**_identity(self.model), "asked": "parameters"}
        try:
            if kept := _find(self.path, _key(asked)):
                return float(json.loads(kept))
            found = None if self.strict else parameters_of(self.model)
            if found is not None:
                _keep(self.path, asked, json.dumps(found))
        except (UsageError, ValueError, TypeError, RecursionError):
            return None
        return found

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """The pieces of the kept reply, else those of the model, kept when they are all there.

        Raises NotRecorded, UsageError for a file that is none of replies, and ModelError's kinds.
        """
        asked = {**_asked(self.model, request), **self.facts}
        if kept := _find(self.path, _key(asked)):
            yield from self._known(kept)
            return
        if self.strict:
            raise self._not_recorded(request)
        pieces: list[Delta | End] = []
        for piece in self.model.stream(request):
            pieces.append(piece)
            if isinstance(piece, End):
                _keep(self.path, asked, _packed(pieces))
            yield piece

    def _known(self, kept: str) -> list[Delta | End]:
        try:
            return list(_unpacked(kept))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            said = f"{self.path} has a reply that cannot be read: {error!r}"
            raise UsageError(said, HINT) from error

    def _not_recorded(self, request: Request) -> NotRecorded:
        words = next((m["content"] for m in reversed(request.messages)), "")
        return NotRecorded(
            f"no reply of {self.name} is kept in {self.path} for the request that ends in "
            f"{words[-80:]!r}",
            f"Ask it once with Cached(model, {str(self.path)!r}), azent ask --cache {self.path}, "
            "or pytest --azent-record.",
        )


class Recorded(Cached):
    """A model that gives the replies kept in a file and asks nothing: `Cached` made strict."""

    def __init__(self, model: str | Model, path: str | Path) -> None:
        super().__init__(model, path, strict=True)


def _asked(model: Model, request: Request) -> dict[str, Any]:
    """All that a reply depends on; the model's time limit does not change what it says."""
    asked = {
        **_identity(model),
        "options": {**getattr(model, "options", {}), **request.options},
        "messages": list(request.messages),
        "format": request.format,
    }
    return {**asked, "tools": list(request.tools)} if request.tools else asked


def _identity(model: Model) -> dict[str, str]:
    return {"model": model.name, "kind": type(model).__name__.lower()}


def _key(asked: Mapping[str, Any]) -> str:
    """A name for a request. The order of keys counts: a schema's properties are asked in order."""
    return hashlib.sha256(_json(asked).encode()).hexdigest()


def _json(value: Any) -> str:
    """A value as JSON that can be kept: half a character is escaped, as JSON has it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode()


# ---- the pieces of a reply as JSON ---------------------------------------------------------------


def _packed(pieces: list[Delta | End]) -> str:
    """Pieces as JSON: a text for one that is nothing but text, else an object."""
    return _json([_packed_piece(piece) for piece in pieces])


def _packed_piece(piece: Delta | End) -> str | dict[str, Any]:
    if isinstance(piece, End):
        return asdict(piece)
    if piece == Delta(piece.text):
        return piece.text
    return {key: value for key, value in asdict(piece).items() if value}


def _unpacked(kept: str) -> Iterator[Delta | End]:
    for piece in read_as(list, json.loads(kept)):
        if isinstance(piece, str):
            yield Delta(piece)
        else:
            yield read_as(End if "usage" in piece else Delta, piece)


# ---- the file ------------------------------------------------------------------------------------


def _find(path: Path, key: str) -> str | None:
    if not path.exists():
        return None
    with _opened(path) as file:
        row = file.execute("select reply from replies where key = ?", (key,)).fetchone()
    return row[0] if row else None


def _keep(path: Path, asked: Mapping[str, Any], reply: str) -> None:
    with _opened(path) as file, file:
        file.execute(INSERT, (_key(asked), _json(asked), reply))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file for one use, so that threads and processes can share it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=WAIT_SECONDS)) as file:
            if file.execute(OTHERS).fetchone():
                raise UsageError(f"{path} is a database of another kind", HINT)
            file.execute(TABLE)
            yield file
    except (sqlite3.Error, OSError) as error:
        said = f"{path} cannot be used to keep replies: {reason_of(error)}"
        raise UsageError(said, HINT) from error
