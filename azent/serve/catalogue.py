"""Find models by name, describe them in each protocol, and pass requests on to their servers.

A body is passed on as new JSON of the checked values: servers parse JSON differently (the first of
two equal keys, keys in any case), and could find another model in a client's own bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from starlette.types import Receive, Scope, Send

import azent
from azent.errors import ModelError, ModelTimeout, ModelUnreachable, ReplyBroken, RequestRefused
from azent.models import Model
from azent.models.ollama import Ollama
from azent.models.openai import OpenAI
from azent.serve.ollama import OLLAMA
from azent.serve.openai import OPENAI
from azent.serve.protocol import Body, Protocol, line

if TYPE_CHECKING:
    import httpx


LATEST = ":latest"
LIST_SECONDS = 10.0  # the time limit for a server to describe its models
OLDEST_VERSION = "0.9.3"  # the version of Ollama to name if no model is on an Ollama server


class Catalogue:
    """The models by the names that clients use; as a context, it keeps their clients open."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = dict(models)
        self.since = datetime.now(UTC)
        self._upstreams: dict[str, Upstream] = {}

    async def __aenter__(self) -> Self:
        found = {name: upstream_of(model) for name, model in self.models.items()}
        self._upstreams = {name: server for name, server in found.items() if server}
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for upstream in self._upstreams.values():
            await upstream.close()

    def find(self, name: object) -> tuple[str, Model]:
        """Return the model of a name, with or without `:latest`. Raises RequestRefused."""
        if not isinstance(name, str) or not name:
            raise RequestRefused("the request names no model")
        for known in (name, name.removesuffix(LATEST), name + LATEST):
            if known in self.models:
                return known, self.models[known]
        there = ", ".join(self.models)
        raise RequestRefused(f"model {name!r} not found", f"Served here: {there}.", status=404)

    def upstream(self, name: str, protocol: Protocol) -> Upstream | None:
        """Return the server of a model, if it speaks the protocol."""
        server = self._upstreams.get(name)
        return server if server is not None and server.speaks(protocol) else None

    # ---- OpenAI ----------------------------------------------------------------------------------

    def openai_list(self) -> Body:
        return {"object": "list", "data": [self.openai_model(name) for name in self.models]}

    def openai_model(self, name: str) -> Body:
        created = int(self.since.timestamp())
        return {"id": name, "object": "model", "created": created, "owned_by": "azent"}

    # ---- Ollama ----------------------------------------------------------------------------------

    async def ollama_tags(self, path: str = "/api/tags") -> Body:
        """Return the served models, as their servers list them.

        Servers that are down are left out. Raises ModelError if all are.
        """
        listed: list[Body] = []
        down: list[ModelError] = []
        for name in self.models:
            try:
                listed += await self._listed(name, path)
            except ModelError as error:
                down.append(error)
        if down and not listed:
            raise down[0]
        return {"models": listed}

    async def _listed(self, name: str, path: str) -> list[Body]:
        upstream = self.upstream(name, OLLAMA)
        if upstream is None:
            return [self._tag(name)]
        return _named(await _fetch(upstream, "GET", path), upstream.model)

    async def ollama_show(self, name: str, body: Body) -> Body:
        """Return a model's description, with "tools" among its capabilities."""
        upstream = self.upstream(name, OLLAMA)
        shown = self._shown(name)
        if upstream is not None:
            content = line({**body, "model": upstream.model, "name": upstream.model})
            shown = await _fetch(upstream, "POST", "/api/show", content)
        can = shown.get("capabilities") or ["completion"]
        return {**shown, "capabilities": list(dict.fromkeys([*can, "tools"]))}

    async def ollama_version(self) -> Body:
        """Return the version of the models' Ollama server, else one with the same protocol."""
        for upstream in self._upstreams.values():
            if upstream.speaks(OLLAMA):
                return await _fetch(upstream, "GET", "/api/version")
        return {"version": OLDEST_VERSION, "azent": azent.__version__}

    def _tag(self, name: str) -> Body:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
        modified = self.since.isoformat()
        tag = {"name": name, "model": name, "modified_at": modified, "size": 0, "digest": digest}
        return {**tag, "details": _DETAILS}

    def _shown(self, name: str) -> Body:
        context = self.models[name].num_ctx
        info: Body = {"general.architecture": "azent"}
        if context:
            info["azent.context_length"] = context
        about = {"modelfile": "", "parameters": "", "template": "", "model_info": info}
        return {**about, "details": _DETAILS, "modified_at": self.since.isoformat()}


_DETAILS = {
    "parent_model": "",
    "format": "",
    "family": "azent",
    "families": ["azent"],
    "parameter_size": "",
    "quantization_level": "",
}


async def _fetch(upstream: Upstream, method: str, path: str, content: bytes | None = None) -> Body:
    """Return the JSON object that a server answers at a path. Raises ModelError."""
    url, deadline = upstream.address + path, deadline_in(LIST_SECONDS)
    answer = await upstream.send(method, url, content, deadline)
    body = await answer.json()
    if answer.status >= 400 or not isinstance(body, dict):
        raise ModelError(f"the model's server at {upstream.address} answered {answer.status}")
    return body


def _named(listed: Mapping[str, Any], name: str) -> list[Body]:
    """Return the entries of a model in its server's list."""
    names = {name, name.removesuffix(LATEST), name + LATEST}
    models = listed.get("models")
    return [m for m in models if m.get("name") in names] if isinstance(models, list) else []


# ---- the models' own servers ---------------------------------------------------------------------


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
LOGIN_STATUSES = (401, 403, 407)  # azent itself is refused by the server, not the client
MOST_READ = 16 * 1024 * 1024  # the most bytes of an answer that is read whole


def deadline_in(seconds: float | None) -> float | None:
    """Return the time on the event loop's clock after so many seconds; None for no limit."""
    return None if seconds is None else asyncio.get_running_loop().time() + seconds


class Upstream:
    """The server of a model: its URL for each protocol, and an HTTP client for it."""

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
        """Pass a body on, with the model's name on that server in it."""
        url = self.bases[protocol.name] + path.removeprefix(protocol.prefix)
        return await self.send("POST", url, line({**body, "model": self.model}), deadline)

    async def send(
        self, method: str, url: str, content: bytes | None, deadline: float | None
    ) -> Answered:
        """Send a request and wait for the headers of the answer. Raises ModelError's kinds."""
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
        """Raise ModelError for a status that a client must not get: logins and redirects.

        A client that followed a redirect would send its conversation past azent.
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
    """The answer of a server, as an application that streams it to the client."""

    def __init__(self, response: httpx.Response, address: str, deadline: float | None) -> None:
        self.response = response
        self.address = address
        self.deadline = deadline
        self.content: bytes | None = None  # once it was read as a whole

    @property
    def status(self) -> int:
        return self.response.status_code

    async def json(self) -> Any:
        """Return all of it as JSON; None if it is none. Raises ModelTimeout, ReplyBroken."""
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
            return  # without the end of the body, so that the client sees that it is incomplete
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
    """Return the server of a model; None for one without a server."""
    if isinstance(model, Ollama):
        bases = {protocol.name: model.host + protocol.prefix for protocol in (OPENAI, OLLAMA)}
        return Upstream(model.host, model.name, bases, _client(model))
    if isinstance(model, OpenAI):
        return Upstream(model.url, model.name, {OPENAI.name: model.url}, _client(model))
    return None


def _client(model: Ollama | OpenAI) -> httpx.AsyncClient:
    """Return an HTTP client with the model's timeouts; `Slots` limits its connections."""
    import httpx

    return httpx.AsyncClient(
        timeout=httpx.Timeout(model.first_token, connect=model.connect_timeout, pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        **model.transport(),
    )
