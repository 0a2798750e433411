"""The synchronous and the asynchronous driver, which carry out the effects of a flow."""

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

from azent.messages import Answer, Call, Delta, End, Event, Request
from azent.models import AsyncModel, Model, context_of
from azent.runtime.concurrency import background_loop
from azent.runtime.effects import Close, Consent, Effect, Encode, Flow, Measure, Open, Pull, Wait
from azent.runtime.outcomes import Ran
from azent.values.arguments import called_with_one

Verdict: TypeAlias = bool | str | Mapping[str, Any]
Approve: TypeAlias = Callable[[Call], Any]  # a Verdict, or an awaitable of one
Outcome = TypeVar("Outcome")


class RunStep(Protocol):
    """A function that runs one step of a flow, for instance in a thread."""

    def __call__(self, work: Callable[[], Outcome], /) -> Awaitable[Outcome]: ...


def nobody(call: Call) -> Verdict:
    """Refuse every call, because there is no person to ask."""
    return False


def asker(approve: Approve | None) -> Approve:
    """Return the approval function, by default one that refuses. Raises UsageError."""
    if approve is None:
        return nobody
    checked: Approve = called_with_one("approve", approve, "from a Call to True or False")
    return checked


def drive(flow: Flow, model: Model, approve: Approve = nobody) -> Generator[Event, None, None]:
    """Run a flow in this thread, and yield its events; the last one is the Answer."""
    effects = _Effects(model, approve)
    step = _Step(flow)
    try:
        while (item := step.next()) is not None:
            if not isinstance(item, Effect):
                yield item
                continue
            try:
                step.outcome = effects.carry_out(item)
            except Exception as error:
                step.error = error
    finally:
        effects.close()


async def adrive(
    flow: Flow, model: Model, approve: Approve = nobody, *, run_step: RunStep | None = None
) -> AsyncGenerator[Event, None]:
    """Do what `drive` does, on the running event loop.

    `run_step` runs each step of the flow, except steps that only pass on a piece of a reply.
    """
    effects = _AsyncEffects(model, approve)
    step = _Step(flow)
    try:
        while (item := await _next(step, run_step)) is not None:
            if not isinstance(item, Effect):
                yield item
                continue
            try:
                step.outcome = await effects.carry_out(item)
            except Exception as error:
                step.error = error
    finally:
        await effects.close()


async def _next(step: _Step, run_step: RunStep | None) -> Effect | Event | None:
    if run_step is None or step.is_streaming:
        return step.next()
    return await run_step(step.next)


class _Step:
    """A flow, and the outcome of its last effect, which the next step sends into it."""

    def __init__(self, flow: Flow) -> None:
        self.outcome: Any = None
        self.error: Exception | None = None
        self._flow = flow
        self._last_item: Effect | Event | None = None
        self._streaming = False
        self._is_over = False

    @property
    def is_streaming(self) -> bool:
        """Return whether a reply is still streaming, so that the next step is short."""
        ended = isinstance(self._last_item, Pull) and not isinstance(self.outcome, Delta)
        return self._streaming and not ended

    def next(self) -> Effect | Event | None:
        """Return the next effect or event of the flow; None after its Answer."""
        if self._is_over:
            return None
        self._streaming = self.is_streaming
        self._last_item = self._send()
        self._streaming = self._streaming or isinstance(self._last_item, Open)
        return self._last_item

    def _send(self) -> Effect | Event:
        outcome, error, self.outcome, self.error = self.outcome, self.error, None, None
        try:
            return self._flow.send(outcome) if error is None else self._flow.throw(error)
        except StopIteration as end:
            self._is_over = True
            answer: Answer = end.value
            return answer


# ---- waiting in a thread -------------------------------------------------------------------------


class _Effects:
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
            case Wait(futures, timeout):
                return wait(futures, timeout, FIRST_COMPLETED).done
            case Consent(call):
                return _resolved(self._approve(call))
            case Encode(encoder, texts, kind):
                return encoder.encode(texts, kind)
        return None

    def close(self) -> None:
        """Close the stream of an unfinished reply, and with it the connection."""
        if isinstance(self._pieces, Generator):
            self._pieces.close()


def _resolved(verdict: Any) -> Any:
    if not inspect.isawaitable(verdict):
        return verdict

    async def awaited() -> Any:
        return await verdict

    return asyncio.run_coroutine_threadsafe(awaited(), background_loop()).result()


# ---- waiting on a loop ---------------------------------------------------------------------------


class _AsyncEffects:
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
            case Pull(timeout) if self._pieces is not None:
                async with asyncio.timeout(timeout):
                    return await anext(self._pieces, None)
            case Close():
                await self._close_pieces()
            case Wait(futures, timeout):
                return await self._first_of(futures, timeout)
            case Consent(call):
                verdict = self._approve(call)
                return await verdict if inspect.isawaitable(verdict) else verdict
            case Encode(encoder, texts, kind):
                return await asyncio.to_thread(encoder.encode, texts, kind)
        return None

    async def close(self) -> None:
        """Close the stream of an unfinished reply, and stop waiting for calls."""
        for wrapped in self._wrapped.values():
            wrapped.cancel()
        await self._close_pieces()

    async def _close_pieces(self) -> None:
        if isinstance(self._pieces, AsyncGenerator):
            await self._pieces.aclose()

    async def _first_of(
        self, futures: frozenset[Future[Ran]], timeout: float | None
    ) -> frozenset[Future[Ran]]:
        """Return the finished futures, once there is one or `most` seconds have passed."""
        for future in futures - self._wrapped.keys():
            self._wrapped[future] = asyncio.wrap_future(future)
        waiting = [self._wrapped[future] for future in futures]
        await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return frozenset(future for future in futures if future.done())


def _stream(model: Model, request: Request) -> AsyncIterator[Delta | End]:
    """Return the pieces of a reply; a model without `astream` streams them in a thread."""
    if isinstance(model, AsyncModel):
        return model.astream(request)
    return _pieces(model.stream(request))


async def _pieces(pieces: Iterator[Delta | End]) -> AsyncIterator[Delta | End]:
    """Yield the pieces of an iterator, each read in a thread; close it when no thread reads."""
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
    """Read the next piece in a daemon thread, which neither cancelling nor exit waits for."""
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
