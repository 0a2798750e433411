"""The description of the server at /openapi.json, made of the shapes that bodies are read with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import azent
from azent.serve.ollama import OLLAMA
from azent.serve.openai import OPENAI
from azent.serve.shapes import Chat, ChatCompletion

REFERENCE = "#/components/schemas/{model}"
JSON = "application/json"


class Show(BaseModel):
    """The body of a request to /api/show."""

    model: str


def description(models: Iterable[str]) -> dict[str, Any]:
    """The server in OpenAPI 3.1, with the models that it serves."""
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
