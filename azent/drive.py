"""The two drivers: each carries out what a flow says, and they differ only in how they wait."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
)
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol, TypeAlias, TypeVar

from azent.arguments import called_with_one
from azent.execute import Ran
from azent.execute.threads import background_loop
from azent.flow import Close, Consent, Effect, Encode, Flow, Measure, Open, Pull, Wait
from azent.messages import Answer, Call, Delta, End, Event, Request
from azent.models import AsyncModel, Model, context_of

Verdict: TypeAlias = bool | str | Mapping[str, Any]
Approve: TypeAlias = Callable[[Call], Any]  # a Verdict, or an awaitable of one
Outcome = TypeVar("Outcome")


class RunStep(Protocol):
    """Runs a step of a flow that may take long, in a thread for instance."""

    def __call__(self, work: Callable[[], Outcome], /) -> Awaitable[Outcome]: ...


def nobody(call: Call) -> Verdict:
    """Where nobody can be asked, the answer is no."""
    return False


def asker(approve: Approve | None) -> Approve:
    """Who is asked for consent. Raises UsageError for what cannot be asked."""
    if approve is None:
        return nobody
    asked: Approve = called_with_one("approve", approve, "from a Call to True or False")
    return asked


def drive(flow: Flow, model: Model, approve: Approve = nobody) -> Generator[Event, None, None]:
    """The events of a flow that ends in an answer, waiting in this thread."""
    hand = _Hand(model, approve)
    step = _Step(flow)
    try:
        while (said := step.next()) is not None:
            if not isinstance(said, Effect):
                yield said
                continue
            try:
                step.outcome = hand.carry_out(said)
            except Exception as error:
                step.error = error
    finally:
        hand.close()


async def adrive(
    flow: Flow, model: Model, approve: Approve = nobody, *, run_step: RunStep | None = None
) -> AsyncGenerator[Event, None]:
    """The asynchronous twin of `drive`, waiting on the running loop.

    `run_step` runs each step of the flow, except those that only pass on a piece of a reply.
    """
    hand = _AsyncHand(model, approve)
    step = _Step(flow)
    try:
        while (said := await _next(step, run_step)) is not None:
            if not isinstance(said, Effect):
                yield said
                continue
            try:
                step.outcome = await hand.carry_out(said)
            except Exception as error:
                step.error = error
    finally:
        await hand.close()


async def _next(step: _Step, run_step: RunStep | None) -> Effect | Event | None:
    if run_step is None or step.passes_a_piece:
        return step.next()
    return await run_step(step.next)


class _Step:
    """Moves a flow on with what came of its last effect; its answer is the last event."""

    def __init__(self, flow: Flow) -> None:
        self.outcome: Any = None
        self.error: Exception | None = None
        self._flow = flow
        self._said: Effect | Event | None = None
        self._streaming = False
        self._over = False

    @property
    def passes_a_piece(self) -> bool:
        """Does a reply still stream, so that the next step is short?"""
        ended = isinstance(self._said, Pull) and not isinstance(self.outcome, Delta)
        return self._streaming and not ended

    def next(self) -> Effect | Event | None:
        """What the flow says next, None after its answer."""
        if self._over:
            return None
        self._streaming = self.passes_a_piece
        self._said = self._send()
        self._streaming = self._streaming or isinstance(self._said, Open)
        return self._said

    def _send(self) -> Effect | Event:
        outcome, error, self.outcome, self.error = self.outcome, self.error, None, None
        try:
            return self._flow.send(outcome) if error is None else self._flow.throw(error)
        except StopIteration as end:
            self._over = True
            answer: Answer = end.value
            return answer


# ---- waiting in a thread -------------------------------------------------------------------------


class _Hand:
    def __init__(self, model: Model, approve: Approve) -> None:
        self._model = model
        self._approve = approve
        self._pieces: Iterator[Delta | End] = iter(())

    def carry_out(self, effect: Effect) -> Any:
        match effect:
            case Measure():
                return context_of(self._model)
            case Open(request):
                self._pieces = self._model.stream(request)
            case Pull():
                return next(self._pieces, None)
            case Close():
                self.close()
            case Wait(futures, most):
                return wait(futures, most, FIRST_COMPLETED).done
            case Consent(call):
                return _waited_for(self._approve(call))
            case Encode(encoder, texts, kind):
                return encoder.encode(texts, kind)
        return None

    def close(self) -> None:
        """Stop a reply that is still coming: closing it closes the connection."""
        if isinstance(self._pieces, Generator):
            self._pieces.close()


def _waited_for(verdict: Any) -> Any:
    if not inspect.isawaitable(verdict):
        return verdict

    async def awaited() -> Any:
        return await verdict

    return asyncio.run_coroutine_threadsafe(awaited(), background_loop()).result()


# ---- waiting on a loop ---------------------------------------------------------------------------


class _AsyncHand:
    def __init__(self, model: Model, approve: Approve) -> None:
        self._model = model
        self._approve = approve
        self._pieces: AsyncIterator[Delta | End] | None = None
        self._wrapped: dict[Future[Ran], asyncio.Future[Ran]] = {}

    async def carry_out(self, effect: Effect) -> Any:
        match effect:
            case Measure():
                return await asyncio.to_thread(context_of, self._model)
            case Open(request):
                self._pieces = _stream(self._model, request)
            case Pull(most) if self._pieces is not None:
                async with asyncio.timeout(most):
                    return await anext(self._pieces, None)
            case Close():
                await self._close_pieces()
            case Wait(futures, most):
                return await self._first_of(futures, most)
            case Consent(call):
                verdict = self._approve(call)
                return await verdict if inspect.isawaitable(verdict) else verdict
            case Encode(encoder, texts, kind):
                return await asyncio.to_thread(encoder.encode, texts, kind)
        return None

    async def close(self) -> None:
        """Stop a reply that is still coming, and no longer listen for calls that are out."""
        for wrapped in self._wrapped.values():
            wrapped.cancel()
        await self._close_pieces()

    async def _close_pieces(self) -> None:
        if isinstance(self._pieces, AsyncGenerator):
            await self._pieces.aclose()

    async def _first_of(
        self, futures: frozenset[Future[Ran]], most: float | None
    ) -> frozenset[Future[Ran]]:
        """The futures that are done, once at least one is, or after so many seconds."""
        for future in futures - self._wrapped.keys():
            self._wrapped[future] = asyncio.wrap_future(future)
        waiting = [self._wrapped[future] for future in futures]
        await asyncio.wait(waiting, timeout=most, return_when=asyncio.FIRST_COMPLETED)
        return frozenset(future for future in futures if future.done())


def _stream(model: Model, request: Request) -> AsyncIterator[Delta | End]:
    """The pieces of a reply, from a thread where the model knows no other way."""
    if isinstance(model, AsyncModel):
        return model.astream(request)
    return _pieces(model.stream(request))


async def _pieces(pieces: Iterator[Delta | End]) -> AsyncIterator[Delta | End]:
    """The pieces of an iterator, each waited for in a thread; closed once no thread is in it."""
    step: Future[Delta | End | None] = Future()
    step.set_result(None)
    try:
        while True:
            step = _in_thread(pieces)
            piece = await asyncio.wrap_future(step)
            if piece is None:
                return
            yield piece
    finally:
        step.add_done_callback(lambda _: _close(pieces))


def _close(pieces: Iterator[Delta | End]) -> None:
    if isinstance(pieces, Generator):
        pieces.close()


def _in_thread(pieces: Iterator[Delta | End]) -> Future[Delta | End | None]:
    """The next piece, waited for in a thread that no cancelling and no exit has to wait for."""
    step: Future[Delta | End | None] = Future()
    step.set_running_or_notify_cancel()  # what runs in a thread cannot be cancelled
    context = contextvars.copy_context()

    def perform() -> None:
        try:
            piece = context.run(next, pieces, None)
        except BaseException as error:
            step.set_exception(error)
        else:
            step.set_result(piece)

    threading.Thread(target=perform, name="azent-model", daemon=True).start()
    return step
