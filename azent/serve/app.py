"""Route the paths of the server to what answers them, and describe them at /openapi.json."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import azent
from azent.errors import AzentError, RequestRefused, UsageError
from azent.models import Model, open_model
from azent.serve.catalogue import Catalogue
from azent.serve.chat import Desk, Metrics, ModelRequest, Passing, Reply, Slots, Watched
from azent.serve.guard import SMALL_BYTES, Guard, Options, body_of, protocol_of, refusal, refused
from azent.serve.ollama import OLLAMA, Chat
from azent.serve.openai import OPENAI, ChatCompletion
from azent.serve.protocol import Body, Json, Protocol
from azent.values.arguments import named

PASSED = (
    "/v1/completions",
    "/v1/embeddings",
    "/api/generate",
    "/api/embed",
    "/api/embeddings",
)
ANY = ["GET", "HEAD", "POST", "DELETE", "PUT"]
GONE = 499  # the status by which clients that left before the answer are counted
REFUSED = ("pull", "create", "copy", "delete", "push", "blobs/{digest}")


def app(models: Mapping[str, Model], options: Options | None = None) -> ASGIApp:
    """Return the ASGI application that serves models by the names that clients use."""
    options = options or Options()
    opened = {name: open_model(model) for name, model in named("models", models).items()}
    if not opened:
        raise UsageError("there are no models to serve", 'Give {"name": azent.open_model(...)}.')
    service = Service(Catalogue(opened), options)
    served = Starlette(
        routes=service.routes(),
        exception_handlers={
            AzentError: _on_azent_error,
            HTTPException: _on_http_error,
            ClientDisconnect: _on_disconnect,
            Exception: _on_any_error,
        },
        lifespan=service.lifespan,
    )
    guarded: ASGIApp = Guard(served, options)
    if options.origins:
        guarded = CORSMiddleware(
            guarded,
            allow_origins=options.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
        )
    return _Counting(guarded, service.metrics)


class Service:
    """The endpoints of the server, and the state that they share."""

    def __init__(self, catalogue: Catalogue, options: Options) -> None:
        self.catalogue = catalogue
        slots = Slots(options.parallel, options.waiting)
        self.metrics = Metrics(slots)
        self.desk = Desk(catalogue, options, slots, self.metrics)

    def routes(self) -> list[Route]:
        """Return the routes of all paths."""
        refusing = [Route(f"/api/{name}", _refuse, methods=ANY) for name in REFUSED]
        return [
            Route(OPENAI.path, self._chat(OPENAI), methods=["POST"]),
            Route(OLLAMA.path, self._chat(OLLAMA), methods=["POST"]),
            Route("/v1/models", self.list_openai),
            Route("/v1/models/{name:path}", self.one_openai),
            Route("/api/tags", self.list_ollama),
            Route("/api/show", self.show_ollama, methods=["POST"]),
            Route("/api/version", self.version_ollama),
            Route("/api/ps", self.running_ollama),
            Route("/health", _health),
            Route("/metrics", self.count),
            Route("/openapi.json", self.describe),
            Route("/", _hello),
            *(Route(path, self.passing, methods=["POST"]) for path in PASSED),
            *refusing,
        ]

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Keep the clients of the models' servers open while the application runs."""
        async with self.catalogue:
            yield

    # ---- chats -----------------------------------------------------------------------------------

    def _chat(self, protocol: Protocol) -> Callable[[Request], Awaitable[ASGIApp]]:
        async def chat(request: Request) -> ASGIApp:
            return Watched(Reply(self.desk, await self._read(protocol, request)))

        return chat

    async def passing(self, request: Request) -> ASGIApp:
        path = request.url.path
        chat = await self._read(protocol_of(path), request)
        return Watched(Passing(self.desk, chat, path))

    async def _read(self, protocol: Protocol, request: Request) -> ModelRequest:
        """Read a request for a model, if there is room for it in the queue."""
        self.desk.slots.check_room()
        return ModelRequest(protocol, await self._body(request))

    async def _body(self, request: Request) -> Body:
        """Parse the JSON object in the body of a request; a large one in a thread."""
        raw = await request.body()
        if len(raw) <= SMALL_BYTES:
            return body_of(raw)
        return await self.desk.in_thread(partial(body_of, raw))

    # ---- the models and the server itself --------------------------------------------------------

    async def list_openai(self, request: Request) -> Response:
        return Json(self.catalogue.openai_list())

    async def one_openai(self, request: Request) -> Response:
        name, _ = self.catalogue.find(request.path_params["name"])
        return Json(self.catalogue.openai_model(name))

    async def list_ollama(self, request: Request) -> Response:
        return Json(await self.catalogue.ollama_tags())

    async def running_ollama(self, request: Request) -> Response:
        return Json(await self.catalogue.ollama_tags("/api/ps"))

    async def show_ollama(self, request: Request) -> Response:
        body = await self._body(request)
        name, _ = self.catalogue.find(body.get("model") or body.get("name"))
        return Json(await self.catalogue.ollama_show(name, body))

    async def version_ollama(self, request: Request) -> Response:
        return Json(await self.catalogue.ollama_version())

    async def count(self, request: Request) -> Response:
        return PlainTextResponse(self.metrics.text(), media_type=self.metrics.media_type)

    async def describe(self, request: Request) -> Response:
        return Json(description(self.catalogue.models))


class _Counting:
    """Middleware that counts requests by route and status, also those that the guard refuses."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), GONE

        async def noting(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            if scope["type"] == "http":
                route = getattr(scope.get("route"), "path", "other")
                self.metrics.count_request(route, status, time.perf_counter() - began)


async def _refuse(request: Request) -> Response:
    hint = "Ask the model's own server."
    raise RequestRefused("models are not fetched, made or removed through azent", hint, status=403)


async def _health(request: Request) -> Response:
    return Json({"status": "ok"})


async def _hello(request: Request) -> Response:
    return PlainTextResponse("azent is running")


async def _on_azent_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AzentError)
    return refusal(request.url.path, error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    messages = {404: "there is nothing at this path", 405: "this path takes another method"}
    message = messages.get(error.status_code, error.detail)
    return refused(request.url.path, error.status_code, message)


async def _on_disconnect(request: Request, error: Exception) -> Response:
    """Return the answer to a client that left while it sent its request; nobody reads it."""
    return Response(status_code=GONE)


async def _on_any_error(request: Request, error: Exception) -> Response:
    message = f"azent failed: {type(error).__name__}. Its log says more."
    return refused(request.url.path, 500, message)


# ---- the description of the server, made of the models that validate bodies ----------------------


REFERENCE = "#/components/schemas/{model}"
JSON = "application/json"


class Show(BaseModel):
    """The body of a request to /api/show."""

    model: str


def description(models: Iterable[str]) -> dict[str, Any]:
    """Return the description of the server in OpenAPI 3.1, with the models that it serves."""
    shapes = [(ChatCompletion, "validation"), (Chat, "validation"), (Show, "validation")]
    _, schemas = models_json_schema(shapes, ref_template=REFERENCE)  # type: ignore[arg-type]  # its mode is a Literal
    shown = schemas["$defs"]
    for shape, _ in shapes:
        shown[shape.__name__]["properties"]["model"]["enum"] = list(models)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "azent",
            "version": azent.__version__,
            "description": "Tools for every client and every model.",
        },
        "paths": _paths(),
        "components": {"schemas": shown},
    }


def _paths() -> dict[str, Any]:
    name = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        OPENAI.path: {"post": _chat("ChatCompletion", OPENAI.media_type)},
        "/v1/models": {"get": _get("The models that are served.")},
        "/v1/models/{model}": {"get": _get("One of them.") | {"parameters": [name]}},
        OLLAMA.path: {"post": _chat("Chat", OLLAMA.media_type)},
        "/api/tags": {"get": _get("The models that are served, as Ollama lists them.")},
        "/api/ps": {"get": _get("The models that are loaded.")},
        "/api/show": {"post": {"summary": "What a model is.", **_body("Show"), **_answers(JSON)}},
        "/api/version": {"get": _get("The version of Ollama's protocol.")},
        "/health": {"get": _get("Whether the server is up.")},
        "/metrics": {"get": {"summary": "Counts, for Prometheus.", **_answers("text/plain")}},
        "/openapi.json": {"get": _get("This description.")},
    }


def _get(summary: str) -> dict[str, Any]:
    return {"summary": summary, **_answers(JSON)}


def _chat(shape: str, streamed: str) -> dict[str, Any]:
    return {"summary": "A reply to a conversation.", **_body(shape), **_answers(JSON, streamed)}


def _body(shape: str) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(model=shape)}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def _answers(*media_types: str) -> dict[str, Any]:
    good = {"description": "All is well.", "content": {kind: {} for kind in media_types}}
    bad = {"description": "An error, in the protocol's shape.", "content": {JSON: {}}}
    return {"responses": {"200": good, "default": bad}}
