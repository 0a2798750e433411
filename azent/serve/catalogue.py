"""The models that are served: their names, their servers, and how each protocol describes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import azent
from azent.errors import ModelError, RequestRefused
from azent.models import Model
from azent.serve.ollama import OLLAMA
from azent.serve.protocol import Body, Protocol, line
from azent.serve.upstream import Upstream, deadline_in, upstream_of

LATEST = ":latest"
LIST_SECONDS = 10.0  # that a server may take to describe its models
OLDEST_VERSION = "0.9.3"  # of Ollama, whose protocol is spoken where no Ollama stands behind


class Catalogue:
    """Models by the names that clients call them. Enter it to open the ways to their servers."""

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
        """The model of a name, `:latest` said or not. Raises RequestRefused."""
        if not isinstance(name, str) or not name:
            raise RequestRefused("the request names no model")
        for known in (name, name.removesuffix(LATEST), name + LATEST):
            if known in self.models:
                return known, self.models[known]
        there = ", ".join(self.models)
        raise RequestRefused(f"model {name!r} not found", f"Served here: {there}.", status=404)

    def upstream(self, name: str, protocol: Protocol) -> Upstream | None:
        """The server of a model, if it speaks the protocol."""
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
        """The models that are served, as their server lists them.

        A server that is down hides the models of no other; ModelError is raised where none is left.
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
        return _named(await _asked(upstream, "GET", path), upstream.model)

    async def ollama_show(self, name: str, body: Body) -> Body:
        """A model's description, with "tools" among what it can do."""
        upstream = self.upstream(name, OLLAMA)
        shown = self._shown(name)
        if upstream is not None:
            content = line({**body, "model": upstream.model, "name": upstream.model})
            shown = await _asked(upstream, "POST", "/api/show", content)
        can = shown.get("capabilities") or ["completion"]
        return {**shown, "capabilities": list(dict.fromkeys([*can, "tools"]))}

    async def ollama_version(self) -> Body:
        """The version of the Ollama behind, else one whose protocol this is."""
        for upstream in self._upstreams.values():
            if upstream.speaks(OLLAMA):
                return await _asked(upstream, "GET", "/api/version")
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


async def _asked(upstream: Upstream, method: str, path: str, content: bytes | None = None) -> Body:
    """What a server says at a path. Raises ModelError."""
    url, deadline = upstream.address + path, deadline_in(LIST_SECONDS)
    answer = await upstream.send(method, url, content, deadline)
    said = await answer.json()
    if answer.status >= 400 or not isinstance(said, dict):
        raise ModelError(f"the model's server at {upstream.address} answered {answer.status}")
    return said


def _named(listed: Mapping[str, Any], name: str) -> list[Body]:
    """The entry of a model in what its server lists."""
    names = {name, name.removesuffix(LATEST), name + LATEST}
    models = listed.get("models")
    return [m for m in models if m.get("name") in names] if isinstance(models, list) else []
