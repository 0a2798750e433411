"""How a chat finds its way to the model.

A chat with tools (or with calls and results in it) is azent's to answer. Any other goes to the
model's own server, or where there is none, is answered by the model directly.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from azent.errors import RequestRefused
from azent.models import Model
from azent.serve.answer import Finish, Piece, answered, whole
from azent.serve.catalogue import Catalogue
from azent.serve.options import Options
from azent.serve.protocol import Body, Heading, Json, Protocol, needs_azent, new_id
from azent.serve.slots import Slots
from azent.serve.translate import Wanted, check_messages, turn_of_request
from azent.serve.upstream import Answered, deadline_in
from azent.serve.watched import Stream

if TYPE_CHECKING:
    from azent.serve.metrics import Metrics

Outcome = TypeVar("Outcome")
THREADS = 2  # that read and check requests beside the event loop; more would only slow it down


@dataclass(frozen=True, slots=True)
class Desk:
    """What all chats share."""

    catalogue: Catalogue
    options: Options
    slots: Slots
    metrics: Metrics
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))

    async def in_thread(self, work: Callable[[], Outcome]) -> Outcome:
        """Do work that may take long where it does not hold up the other clients."""
        return await to_thread.run_sync(work, limiter=self.threads)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came: by which protocol, and its body."""

    protocol: Protocol
    body: Body


class Chat:
    """The answer to one request, as an application."""

    def __init__(self, desk: Desk, asked: Asked) -> None:
        self.desk = desk
        self.asked = asked
        self.name, self.model = desk.catalogue.find(asked.body.get("model"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.desk.slots.taken():
            answer = await self._passed() or await self._answer()
            await answer(scope, receive, send)

    async def _passed(self) -> Answered | None:
        """What the model's own server says, if the request is for it."""
        protocol = self.asked.protocol
        upstream = self.desk.catalogue.upstream(self.name, protocol)
        if upstream is None or needs_azent(self.asked.body):
            return None
        path, deadline = protocol.path, deadline_in(self.desk.options.timeout)
        said = await upstream.ask(protocol, path, self.asked.body, deadline)
        if said.status == 404 and await _lacks(protocol, said):
            return None
        self.desk.metrics.count_passed()
        return said

    async def _answer(self) -> ASGIApp:
        """azent's own reply; one that is not streamed is awaited here."""
        protocol = self.asked.protocol
        check_messages(self.asked.body)
        wanted = await self.desk.in_thread(partial(protocol.wanted, self.asked.body))
        heading = Heading(new_id("chatcmpl-"), wanted.model, time.time())
        pieces = self._pieces(wanted, self.model)
        if wanted.stream:
            stream = protocol.stream(pieces, heading, wanted)
            return Stream(stream, pieces, protocol.media_type)
        return Json(protocol.whole(await whole(pieces), heading))

    async def _pieces(self, wanted: Wanted, model: Model) -> AsyncGenerator[Piece]:
        begin = partial(turn_of_request, wanted, model, self.desk.options)
        turn = await self.desk.in_thread(begin)
        async with aclosing(answered(model, turn, self.desk.in_thread)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Finish):
                    self.desk.metrics.count_reply(piece)
                yield piece


class Passing:
    """Any other request that a model's own server answers, if it has one, as an application."""

    def __init__(self, desk: Desk, asked: Asked, path: str) -> None:
        self.desk = desk
        self.asked = asked
        self.path = path
        self.name, _ = desk.catalogue.find(asked.body.get("model"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        protocol = self.asked.protocol
        upstream = self.desk.catalogue.upstream(self.name, protocol)
        if upstream is None:
            raise RequestRefused(f"{self.name!r} has no server that knows {self.path}", status=404)
        async with self.desk.slots.taken():
            deadline = deadline_in(self.desk.options.timeout)
            said = await upstream.ask(protocol, self.path, self.asked.body, deadline)
            self.desk.metrics.count_passed()
            await said(scope, receive, send)


async def _lacks(protocol: Protocol, said: Answered) -> bool:
    """Does a server not know the protocol at all? One that does says its 404 in its shape.

    This is asked for each request anew: a 404 may also come from a proxy that has just restarted.
    """
    body = await said.json()
    error = body.get("error") if isinstance(body, dict) else None
    return type(error) is not type(protocol.error(404, "")["error"])
