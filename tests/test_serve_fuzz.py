"""Whatever a client sends, the server has an answer for it, and it is never that azent failed."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azent.serve import app
from tests.asking import NONE, PATHS, USER
from tests.serving import Telling, calls_text

TEXT = st.text(max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
KEYWORDS = ["enum", "const", "default", "minimum", "maxLength", "pattern", "format", "required"]
REFERENCES = ["#", "#/$defs/a", "#/properties/a", "http://127.0.0.1:9/x", "a b", ""]
NAMES = st.sampled_from(["a", "b", "c d", "ü", ""])
COMBINED = st.sampled_from(["anyOf", "oneOf", "allOf"])


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas made of schemas."""
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.dictionaries(NAMES, inner).map(lambda of: {"type": "object", "properties": of}),
        inner.map(lambda one: {"type": "array", "items": one}),
        st.builds(lambda kind, each: {kind: each}, COMBINED, several),
        inner.map(lambda one: {"$defs": {"a": one}, "$ref": "#/$defs/a"}),
        inner.map(lambda one: {"additionalProperties": one, "patternProperties": {"^a": one}}),
    )


SCHEMAS = st.recursive(
    st.builds(lambda kind: {"type": kind}, TYPES)
    | st.sampled_from(REFERENCES).map(lambda to: {"$ref": to})
    | st.dictionaries(st.sampled_from(KEYWORDS), JSON, max_size=2)
    | JSON,
    combined,
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parameters=SCHEMAS, tool_input=JSON, path=st.sampled_from(PATHS))
def test_any_schema_of_a_client_has_an_answer(parameters: Any, tool_input: Any, path: str) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    made = calls_text(("f", tool_input)) if isinstance(tool_input, dict) else NONE
    body = {"model": "m", "messages": [USER], "tools": [tool], "stream": False}
    assert asked(path, body, made) in (200, 400, 502)


@settings(max_examples=60, deadline=None)
@given(body=JSON, messages=st.lists(JSON, max_size=3), path=st.sampled_from(PATHS))
def test_any_body_has_an_answer(body: Any, messages: Any, path: str) -> None:
    more = body if isinstance(body, dict) else {"tools": body}
    assert asked(path, {"model": "m", "messages": messages, **more}, NONE) in (200, 400, 404)


def asked(path: str, body: Any, said: str) -> int:
    """The status of the answer of an application in this process."""
    model = Telling(lambda request: said if request.format else "Hello.")

    async def post() -> int:
        transport = httpx.ASGITransport(app({"m": model}))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post(path, json=body)).status_code

    return asyncio.run(post())
