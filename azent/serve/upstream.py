"""Passing a request on to the model's own server, and its answer back, both untouched."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from azent.errors import ModelUnreachable, ReplyBroken
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
CONNECT_SECONDS = 5.0


class Upstream:
    """The server of a model: under which URL it speaks each protocol, and a client for it."""

    def __init__(self, address: str, model: str, bases: Mapping[str, str], client: Any) -> None:
        self.address = address
        self.model = model
        self.bases = dict(bases)
        self.client: httpx.AsyncClient = client

    def speaks(self, protocol: Protocol) -> bool:
        return protocol.name in self.bases

    def forget(self, protocol: Protocol) -> None:
        """The server turned out not to speak a protocol."""
        self.bases.pop(protocol.name, None)

    async def ask(self, protocol: Protocol, path: str, body: Body, raw: bytes) -> Answered:
        """Pass a body on: the client's own bytes, where it calls the model as the server does."""
        content = raw if body.get("model") == self.model else line({**body, "model": self.model})
        url = self.bases[protocol.name] + path.removeprefix(protocol.prefix)
        return await self.send("POST", url, content)

    async def send(self, method: str, url: str, content: bytes | None = None) -> Answered:
        """Send a request. Raises ModelUnreachable, ReplyBroken."""
        import httpx

        request = self.client.build_request(method, url, content=content, headers=HEADERS)
        try:
            return Answered(await self.client.send(request, stream=True), self.address)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise ModelUnreachable(f"cannot reach the model's server at {self.address}") from error
        except httpx.TransportError as error:
            raise ReplyBroken(f"the model's server broke off: {error}") from error

    async def close(self) -> None:
        await self.client.aclose()


class Answered:
    """What a server answered, as an application that gives it to the client as it comes."""

    def __init__(self, response: httpx.Response, address: str) -> None:
        self.response = response
        self.address = address
        self.content: bytes | None = None  # where it was read before it was passed on

    @property
    def status(self) -> int:
        return self.response.status_code

    async def json(self) -> Any:
        """All of it, as JSON; None where it is none."""
        self.content = await self.response.aread()
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        import httpx

        try:
            headers = _kept(self.response.headers.raw)
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            async for piece in self._pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except httpx.TransportError:
            return  # an answer that broke off stays one: it is not given an end here
        finally:
            await self.response.aclose()

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
        return Upstream(model.host, model.name, bases, _client(model.transport()))
    if isinstance(model, OpenAI):
        return Upstream(model.url, model.name, {OPENAI.name: model.url}, _client(model.transport()))
    return None


def _client(transport: Mapping[str, Any]) -> httpx.AsyncClient:
    """A client without limits of its own: how many and how long is for others to say."""
    import httpx

    return httpx.AsyncClient(
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        **transport,
    )
