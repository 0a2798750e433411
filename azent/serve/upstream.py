"""Passing a request on to the model's own server, and its answer back.

What is passed on is written anew from what was checked: other servers read JSON in other ways
(the first of two keys, keys in any case), and could see another model in a client's own bytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from azent.errors import ModelError, ModelTimeout, ModelUnreachable, ReplyBroken
from azent.models import Model
from azent.models.ollama import Ollama
from azent.models.openai import OpenAI
from azent.serve.ollama import OLLAMA
from azent.serve.openai import OPENAI
from azent.serve.protocol import Body, Protocol, line

if TYPE_CHECKING:
    import httpx

# Headers that belong to one connection, or that this server writes itself.
OWN = {
    b"connection",
    b"keep-alive",
    b"transfer-encoding",
    b"upgrade",
    b"trailer",
    b"date",
    b"server",
}
HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}
LOGIN_HINT = "Who runs azent has to give it a key or a login for that server."
LOGIN_STATUSES = (401, 403, 407)  # of a server that does not know azent; the client is not meant
MOST_READ = 16 * 1024 * 1024  # bytes of an answer that is read whole


def deadline_in(seconds: float | None) -> float | None:
    """The time on the loop's clock after so many seconds; None for no limit."""
    return None if seconds is None else asyncio.get_running_loop().time() + seconds


class Upstream:
    """The server of a model: under which URL it speaks each protocol, and a client for it."""

    def __init__(self, address: str, model: str, bases: Mapping[str, str], client: Any) -> None:
        self.address = address
        self.model = model
        self.bases = dict(bases)
        self.client: httpx.AsyncClient = client

    def speaks(self, protocol: Protocol) -> bool:
        return protocol.name in self.bases

    async def ask(
        self, protocol: Protocol, path: str, body: Body, deadline: float | None
    ) -> Answered:
        """Pass a body on, with the model by the name that its server knows."""
        url = self.bases[protocol.name] + path.removeprefix(protocol.prefix)
        return await self.send("POST", url, line({**body, "model": self.model}), deadline)

    async def send(
        self, method: str, url: str, content: bytes | None, deadline: float | None
    ) -> Answered:
        """Send a request, and wait for the beginning of the answer. Raises ModelError's kinds."""
        import httpx

        request = self.client.build_request(method, url, content=content, headers=HEADERS)
        try:
            async with asyncio.timeout_at(deadline):
                response = await self.client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise ModelUnreachable(f"cannot reach the model's server at {self.address}") from error
        except (httpx.TimeoutException, TimeoutError) as error:
            message = f"the model's server at {self.address} did not answer in time"
            raise ModelTimeout(message) from error
        except httpx.TransportError as error:
            raise ReplyBroken(f"the model's server broke off: {error}") from error
        try:
            self._check_status(response.status_code)
        except ModelError:
            await response.aclose()
            raise
        return Answered(response, self.address, deadline)

    def _check_status(self, status: int) -> None:
        """Raise ModelError for a status that is not meant for the client, or means nothing to it.

        A client that followed a redirect would leave azent, with its conversation.
        """
        if status in LOGIN_STATUSES:
            message = f"the model's server at {self.address} refused azent ({status})"
            raise ModelError(message, LOGIN_HINT)
        if not (200 <= status < 300 or 400 <= status < 600):
            message = f"the model's server at {self.address} answered {status}"
            raise ModelError(message, "It has to answer at the address that azent was given.")

    async def close(self) -> None:
        await self.client.aclose()


class Answered:
    """What a server answered, as an application that gives it to the client as it comes."""

    def __init__(self, response: httpx.Response, address: str, deadline: float | None) -> None:
        self.response = response
        self.address = address
        self.deadline = deadline
        self.content: bytes | None = None  # where it was read before it was passed on

    @property
    def status(self) -> int:
        return self.response.status_code

    async def json(self) -> Any:
        """All of it, as JSON; None where it is none. Raises ModelTimeout, ReplyBroken."""
        self.content = await self._whole()
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None

    async def _whole(self) -> bytes:
        import httpx

        content = bytearray()
        try:
            async with asyncio.timeout_at(self.deadline):
                async for piece in self.response.aiter_raw():
                    content += piece
                    if len(content) > MOST_READ:
                        raise ReplyBroken(f"the model's server sent more than {MOST_READ:,} bytes")
        except (httpx.TimeoutException, TimeoutError) as error:
            raise ModelTimeout("the model's server did not end its answer in time") from error
        except httpx.TransportError as error:
            raise ReplyBroken(f"the model's server broke off: {error}") from error
        finally:
            await self.response.aclose()
        return bytes(content)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        import httpx

        try:
            async with asyncio.timeout_at(self.deadline):
                await self._send_all(send)
        except (httpx.TransportError, TimeoutError):
            return  # an answer that broke off, or took too long, is not given an end here
        finally:
            await self.response.aclose()

    async def _send_all(self, send: Send) -> None:
        headers = _kept(self.response.headers.raw)
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        async for piece in self._pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self.content is not None:
            yield self.content
            return
        async for piece in self.response.aiter_raw():
            yield piece


def _kept(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value) for name, value in headers if name.lower() not in OWN]


def upstream_of(model: Model) -> Upstream | None:
    """The server of a model that has one."""
    if isinstance(model, Ollama):
        bases = {protocol.name: model.host + protocol.prefix for protocol in (OPENAI, OLLAMA)}
        return Upstream(model.host, model.name, bases, _client(model))
    if isinstance(model, OpenAI):
        return Upstream(model.url, model.name, {OPENAI.name: model.url}, _client(model))
    return None


def _client(model: Ollama | OpenAI) -> httpx.AsyncClient:
    """A client with the model's limits of silence; how many connections, is for others to say."""
    import httpx

    return httpx.AsyncClient(
        timeout=httpx.Timeout(model.first_token, connect=model.connect_timeout, pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        **model.transport(),
    )
