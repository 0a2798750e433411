"""Models whose replies are known beforehand: from a script, or kept in a file.

`Scripted` gives the replies of a script, for tests and examples. `Cached` keeps the replies of a
model by request: the same request to the same model (its name and options, whatever server runs it)
gets the same reply again, in the same pieces. A reply that broke off, or was not read to its end,
is not kept. `Recorded` only gives replies that are kept, and fails for other requests.

The file is an SQLite database that can be read and carried about. Its table `replies` has each
request and the pieces of its reply as JSON. The size of the model is kept there too, so that a
replay asks with the same prompt set.

    sqlite3 replies.db "select request ->> '$.model', reply from replies"
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from azent.errors import ModelError, ModelTimeout, NotRecorded, UsageError, reason_of
from azent.messages import Delta, End, Request, Usage
from azent.messages.json_forms import read_as
from azent.models.model import Model, context_of, open_model, parameters_of
from azent.values.arguments import at_least, flag, named, place, seconds, text, whole

HINT = "Name another file, or put this one away."
WAIT_SECONDS = 30.0  # for another process that writes into the same file
TABLE = """create table if not exists replies (
    key text primary key, request text not null, reply text not null,
    kept text not null default current_timestamp
)"""
OTHERS = """select name from sqlite_master
    where type = 'table' and name <> 'replies' and name not glob 'sqlite_*'"""
INSERT = "insert or replace into replies (key, request, reply) values (?, ?, ?)"


class Scripted:
    """A model that answers each request with the next reply of a script, whole or in pieces.

    A reply is a text, an exception to raise, or a list of pieces (texts, `Delta`s, an `End`).
    `heard` has the requests. `pause` is the time before each reply, in seconds. `billions` is its
    size, in billions of parameters. A request past the end of the script raises ModelError, so that
    a test notices a request too many.
    """

    def __init__(
        self,
        *replies: str | Exception | Iterable[str | Delta | End],
        name: str = "scripted",
        num_ctx: int | None = None,
        pause: float = 0.0,
        billions: float | None = None,
    ) -> None:
        for reply in replies:
            if isinstance(reply, Mapping) or not isinstance(reply, Iterable | Exception):
                hint = "Give a text, an exception, or a list of pieces."
                raise UsageError(f"{reply!r} is no reply of a script", hint)
        self.name = text("name", name)
        self.num_ctx = None if num_ctx is None else whole("num_ctx", num_ctx, 1)
        self.pause = seconds("pause", pause)
        self.billions = None if billions is None else at_least("billions", billions, 0)
        self.heard: list[Request] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    def parameters(self) -> float | None:
        """Return its size, in billions of parameters."""
        return self.billions

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """Yield the next reply of the script, piece by piece."""
        with self._lock:
            self.heard.append(request)
            if len(self.heard) > len(self._replies):
                hint = "Give the script a reply for each request."
                raise ModelError(f"the script has no reply for request {len(self.heard)}", hint)
            reply = self._replies[len(self.heard) - 1]
        self._wait(request.timeout)
        if isinstance(reply, Exception):
            raise reply
        yield from _deltas([reply] if isinstance(reply, str) else reply)

    def _wait(self, timeout: float | None) -> None:
        if timeout is not None and self.pause > timeout:
            time.sleep(timeout)
            raise ModelTimeout("the pause is longer than the time for the reply")
        if self.pause:
            time.sleep(self.pause)


def _deltas(pieces: Iterable[str | Delta | End]) -> Iterator[Delta | End]:
    """Yield the pieces as deltas, with an end if they lack one."""
    count = 0
    for piece in pieces:
        count += 1
        if not isinstance(piece, str | Delta | End):
            raise ModelError(f"{piece!r} is no piece of a reply", "Give a text, a Delta or an End.")
        yield Delta(piece) if isinstance(piece, str) else piece
        if isinstance(piece, End):
            return
    yield End(usage=Usage(reply_tokens=count, requests=1))


# ---- replies in a file ---------------------------------------------------------------------------


class Cached:
    """A model whose replies are kept in a file, and read from there when a request comes again.

    A `strict` one never asks the model: a request without a reply in the file raises NotRecorded.
    `facts` are other things that the replies depend on, such as the digest of the model's weights:
    a reply that was kept with other facts is not used.
    """

    def __init__(
        self,
        model: str | Model,
        path: str | Path,
        *,
        strict: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
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
        """Return the tokens in the model's context window; a strict one returns its `num_ctx`."""
        return self.num_ctx if self.strict else context_of(self.model)

    def parameters(self) -> float | None:
        """Return the billions of parameters that the model has, kept in the file as replies are.

        The size is None where the file cannot be used; the first request reports why.
        """
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
        """Yield the pieces of the kept reply, else those of the model, which are then kept.

        Raises NotRecorded, UsageError for a file that has no replies in it, and ModelError.
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
            message = f"{self.path} has a reply that cannot be read: {error!r}"
            raise UsageError(message, HINT) from error

    def _not_recorded(self, request: Request) -> NotRecorded:
        words = next((m["content"] for m in reversed(request.messages)), "")
        return NotRecorded(
            f"no reply of {self.name} is kept in {self.path} for the request that ends in "
            f"{words[-80:]!r}",
            f"Ask it once with Cached(model, {str(self.path)!r}), azent ask --cache {self.path}, "
            "or pytest --azent-record.",
        )


class Recorded(Cached):
    """A model that gives the replies kept in a file and asks no other: a strict `Cached`."""

    def __init__(self, model: str | Model, path: str | Path) -> None:
        super().__init__(model, path, strict=True)


def _asked(model: Model, request: Request) -> dict[str, Any]:
    """Return all that a reply depends on, which the request's time limit is not."""
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
    """Return the key of a request. The order of names counts: a model sees properties in order."""
    return hashlib.sha256(_json(asked).encode()).hexdigest()


def _json(value: Any) -> str:
    """Return a value as JSON in which halves of surrogate pairs are escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode()


# ---- the pieces of a reply as JSON ---------------------------------------------------------------


def _packed(pieces: list[Delta | End]) -> str:
    """Return pieces as JSON: a text for a piece that is only text, else an object."""
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
    """Open the file for one use, so that threads and processes can share it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=WAIT_SECONDS)) as file:
            if file.execute(OTHERS).fetchone():
                raise UsageError(f"{path} is a database of another kind", HINT)
            file.execute(TABLE)
            yield file
    except (sqlite3.Error, OSError) as error:
        message = f"{path} cannot be used to keep replies: {reason_of(error)}"
        raise UsageError(message, HINT) from error
