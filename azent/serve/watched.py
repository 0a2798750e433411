"""Replies that end when their client leaves.

A client that hangs up is only seen by whoever listens for it. So listening goes on beside the work,
and the work is cancelled when the client is gone: the model is stopped, the slot is free again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from anyio import CancelScope, create_task_group
from starlette.types import ASGIApp, Receive, Scope, Send

from azent.errors import AzentError
from azent.serve.refusal import protocol_of, refusal, status_of, words_of


class Watched:
    """An application whose work is cancelled when the client hangs up."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        failure: Exception | None = None
        async with create_task_group() as group:
            group.start_soon(_cancel_at_disconnect, receive, group.cancel_scope)
            try:
                await self.app(scope, receive, send)
            except Exception as error:  # kept, since the group would wrap it in another
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure


async def _cancel_at_disconnect(receive: Receive, work: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()


class Stream:
    """An application that streams pieces.

    It begins with the first, so that what fails before has a status of its own; what fails later is
    told in the stream. However it ends, the `source` that the pieces are made of is closed.
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
        begun = False
        try:
            async for piece in self.pieces:
                if not begun:
                    await send(_start(self.media_type))
                    begun = True
                await _send_piece(send, piece)
        except AzentError as error:
            if not begun:
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
