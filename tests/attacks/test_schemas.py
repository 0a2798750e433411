"""Schemas that someone else wrote are bounded before anything walks through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import azent
from azent.schema.drafts import foreign_parameters
from azent.schema.references import FOREIGN_CHARACTERS, FOREIGN_NODES

STRING = {"type": "string"}


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    node: Any = STRING
    for _ in range(depth):
        node = wrap(node)
    return {"type": "object", "properties": {"a": node}}


def wide(**node: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": node}}


ATTACKS: dict[str, Any] = {
    "objects 300 deep": nested(300, lambda inner: {"properties": {"a": inner}}),
    "objects 100,000 deep": nested(100_000, lambda inner: {"properties": {"a": inner}}),
    "lists 300 deep": nested(300, lambda inner: {"items": inner}),
    "unions 300 deep": nested(300, lambda inner: {"anyOf": [inner]}),
    "negations 300 deep": nested(300, lambda inner: {"not": inner}),
    "definitions 300 deep": nested(300, lambda inner: {"$defs": {"a": inner}}),
    "a default 300 deep": wide(default=nested(300, lambda inner: [inner])),
    "a tuple 100,000 deep": wide(default=nested(100_000, lambda inner: (inner,))),
    "an unknown keyword 300 deep": wide(x=nested(300, lambda inner: {"y": inner})),
    "a wide union": wide(anyOf=[STRING] * FOREIGN_NODES),
    "many properties": {"properties": {f"p{n}": STRING for n in range(FOREIGN_NODES)}},
    "a long list of choices": wide(enum=list(range(FOREIGN_CHARACTERS // 4))),
    "a long description": wide(description="x" * FOREIGN_CHARACTERS),
    "a long name": {"properties": {"x" * FOREIGN_CHARACTERS: STRING}},
}
ROADS: dict[str, Callable[[Any], Any]] = {
    "a client, or a server of tools": lambda schema: foreign_parameters("f", schema),
    "read_reply": lambda schema: azent.read_reply("{}", [{"name": "f", "parameters": schema}]),
    "select": lambda schema: azent.select(
        "?", [{"name": "f", "parameters": schema}], azent.Scripted("{}")
    ),
    "Agent": lambda schema: azent.Agent(
        azent.Scripted("{}"), [{"name": "f", "parameters": schema}]
    ),
}


@pytest.mark.parametrize("road", ROADS.values(), ids=ROADS)
@pytest.mark.parametrize("schema", ATTACKS.values(), ids=ATTACKS)
def test_what_is_too_deep_or_too_large_is_refused(schema: Any, road: Callable[[Any], Any]) -> None:
    with pytest.raises(azent.SchemaError):
        road(schema)


@pytest.mark.parametrize(
    "schema",
    [
        nested(45, lambda inner: {"properties": {"a": inner}}),
        wide(anyOf=[{"type": "string", "description": f"choice {n}"} for n in range(500)]),
        {"type": "object", "properties": {f"p{n}": STRING for n in range(500)}},
    ],
    ids=["45 deep", "500 choices", "500 parameters"],
)
def test_what_people_offer_is_taken(schema: Any) -> None:
    assert foreign_parameters("f", schema) == {"type": "object", "properties": {}, **schema}
