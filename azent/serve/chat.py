"""Answer requests for models, one queue before all of them, and count requests and replies.

azent answers a chat with tools, or with calls and results in it. Any other goes to the model's own
server, or to the model if it has none. Work is cancelled when its client disconnects.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from azent.errors import AzentError, RequestRefused, counted
from azent.models import Model
from azent.serve.catalogue import Answered, Catalogue, deadline_in
from azent.serve.guard import Options, protocol_of, refusal, status_of, words_of
from azent.serve.protocol import (
    Body,
    Finish,
    Heading,
    Json,
    Piece,
    Protocol,
    answered,
    needs_azent,
    new_id,
    whole,
)
from azent.serve.translate import Wanted, check_messages, turn_of_request

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge


Outcome = TypeVar("Outcome")
THREADS = 2  # that parse and check requests; more would slow down the event loop


@dataclass(frozen=True, slots=True)
class Desk:
    """The state that all requests for models share."""

    catalogue: Catalogue
    options: Options
    slots: Slots
    metrics: Metrics
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))

    async def in_thread(self, work: Callable[[], Outcome]) -> Outcome:
        """Do long work in a thread, so that it does not block other clients."""
        return await to_thread.run_sync(work, limiter=self.threads)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for a model: its protocol and its body."""

    protocol: Protocol
    body: Body


class Reply:
    """An application that answers one chat."""

    def __init__(self, desk: Desk, request: ModelRequest) -> None:
        self.desk = desk
        self.request = request
        self.name, self.model = desk.catalogue.find(request.body.get("model"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.desk.slots.taken():
            answer = await self._passed() or await self._answer()
            await answer(scope, receive, send)

    async def _passed(self) -> Answered | None:
        """Return the answer of the model's own server; None if azent has to answer."""
        protocol = self.request.protocol
        upstream = self.desk.catalogue.upstream(self.name, protocol)
        if upstream is None or needs_azent(self.request.body):
            return None
        path, deadline = protocol.path, deadline_in(self.desk.options.timeout)
        answer = await upstream.ask(protocol, path, self.request.body, deadline)
        if answer.status == 404 and await _lacks(protocol, answer):
            return None
        self.desk.metrics.count_passed()
        return answer

    async def _answer(self) -> ASGIApp:
        """Return azent's own reply: a stream, or JSON once the reply is complete."""
        protocol = self.request.protocol
        check_messages(self.request.body)
        wanted = await self.desk.in_thread(partial(protocol.wanted, self.request.body))
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
    """An application that passes a request other than a chat on to the model's own server."""

    def __init__(self, desk: Desk, request: ModelRequest, path: str) -> None:
        self.desk = desk
        self.request = request
        self.path = path
        self.name, _ = desk.catalogue.find(request.body.get("model"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        protocol = self.request.protocol
        upstream = self.desk.catalogue.upstream(self.name, protocol)
        if upstream is None:
            raise RequestRefused(f"{self.name!r} has no server that knows {self.path}", status=404)
        async with self.desk.slots.taken():
            deadline = deadline_in(self.desk.options.timeout)
            answer = await upstream.ask(protocol, self.path, self.request.body, deadline)
            self.desk.metrics.count_passed()
            await answer(scope, receive, send)


async def _lacks(protocol: Protocol, answer: Answered) -> bool:
    """Return whether a 404 means that a server lacks the protocol: it is not in its error format.

    The result is not stored, because a 404 may also come from a proxy that has just restarted.
    """
    body = await answer.json()
    error = body.get("error") if isinstance(body, dict) else None
    return type(error) is not type(protocol.error(404, "")["error"])


# ---- the queue before the models -----------------------------------------------------------------


LONGEST_WAIT = 60  # the most seconds in a Retry-After header
WEIGHT = 0.2  # of the newest reply in the moving average of the seconds that a reply takes


class Slots:
    """A queue: `parallel` requests run at once, and at most `waiting` more wait."""

    def __init__(self, parallel: int, waiting: int) -> None:
        self.parallel = parallel
        self.most_waiting = waiting
        self._limiter = CapacityLimiter(parallel)
        self._average = 1.0  # seconds that a reply takes

    @property
    def at_work(self) -> int:
        return int(self._limiter.borrowed_tokens)

    @property
    def waiting(self) -> int:
        return self._limiter.statistics().tasks_waiting

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a slot and take it for the context. Raises RequestRefused (429) when full."""
        self.check_room()
        async with self._limiter:
            began = time.monotonic()
            try:
                yield
            finally:
                self._average += WEIGHT * (time.monotonic() - began - self._average)

    def check_room(self) -> None:
        """Refuse a request that would find the queue full. Raises RequestRefused (429)."""
        if self.at_work < self.parallel or self.waiting < self.most_waiting:
            return
        raise RequestRefused(
            f"{counted(self.at_work, 'request')} at work, {self.waiting} waiting",
            "Come back later.",
            status=429,
            retry_after=self.retry_after(),
        )

    def retry_after(self) -> int:
        """Estimate the seconds after which a slot will be free."""
        rounds = (self.waiting + 1) / self.parallel
        return min(max(math.ceil(rounds * self._average), 1), LONGEST_WAIT)


# ---- replies that end when their client leaves ---------------------------------------------------


class Watched:
    """An application whose work is cancelled when the client disconnects."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        failure: Exception | None = None
        async with create_task_group() as group:
            group.start_soon(_cancel_at_disconnect, receive, group.cancel_scope)
            try:
                await self.app(scope, receive, send)
            except Exception as error:  # raised below, because the group would wrap it in another
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure


async def _cancel_at_disconnect(receive: Receive, work: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()


class Stream:
    """An application that streams pieces, and closes their `source` at the end.

    The response starts with the first piece, so that an earlier error has an HTTP status; a later
    error is written into the stream.
    """

    def __init__(
        self, pieces: AsyncIterator[bytes], source: AsyncGenerator[Any], media_type: str
    ) -> None:
        self.pieces = pieces
        self.source = source
        self.media_type = media_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self.source):
            await self._send_all(scope, receive, send)

    async def _send_all(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_started = False
        try:
            async for piece in self.pieces:
                if not is_started:
                    await send(_start(self.media_type))
                    is_started = True
                await _send_piece(send, piece)
        except AzentError as error:
            if not is_started:
                await refusal(scope["path"], error)(scope, receive, send)
                return
            protocol = protocol_of(scope["path"])
            await _send_piece(send, protocol.broken(status_of(error), words_of(error)))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _start(media_type: str) -> dict[str, Any]:
    headers = [(b"content-type", media_type.encode()), (b"cache-control", b"no-cache")]
    return {"type": "http.response.start", "status": 200, "headers": headers}


async def _send_piece(send: Send, piece: bytes) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": True})


# ---- counts, in the text form that Prometheus reads ----------------------------------------------


BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)  # seconds
TOTALS = {
    "tool_calls": "Calls that models made.",
    "corrections": "Replies that could not be used and were asked for again.",
    "prompt_tokens": "Tokens that models read for azent's replies.",
    "reply_tokens": "Tokens that models wrote for azent's replies.",
}


class Metrics:
    """Prometheus' metrics of requests and replies."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, slots: Slots) -> None:
        # Imported here: `azent mcp` uses this package too, and does not have the library.
        from prometheus_client import CollectorRegistry, Histogram

        self.registry = CollectorRegistry()
        self.requests = self._counter("requests", "Requests that are over.", "route", "status")
        self.replies = self._counter("replies", "Chats, by who answered them.", "by")
        self.totals = {name: self._counter(name, help) for name, help in TOTALS.items()}
        self.seconds = Histogram(
            "azent_request_seconds",
            "How long requests took.",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._gauge("at_work", "Requests at work now.").set_function(lambda: slots.at_work)
        self._gauge("waiting", "Requests that wait now.").set_function(lambda: slots.waiting)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a finished request; `route` is one of a few, never a path that a client made up."""
        self.requests.labels(route, status).inc()
        self.seconds.observe(seconds)

    def count_passed(self) -> None:
        """Count a request that was passed on."""
        self.replies.labels("passed_on").inc()

    def count_reply(self, finish: Finish) -> None:
        """Count a reply that azent gave."""
        self.replies.labels("azent").inc()
        self.totals["tool_calls"].inc(len(finish.calls))
        self.totals["corrections"].inc(finish.corrections)
        self.totals["prompt_tokens"].inc(finish.usage.prompt_tokens)
        self.totals["reply_tokens"].inc(finish.usage.reply_tokens)

    def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry).decode()

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        from prometheus_client import Counter

        return Counter(f"azent_{name}", help, labels, registry=self.registry)

    def _gauge(self, name: str, help: str) -> Gauge:
        from prometheus_client import Gauge

        return Gauge(f"azent_requests_{name}", help, registry=self.registry)
