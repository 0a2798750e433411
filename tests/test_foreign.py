"""Schemas that others wrote: what is mended in them, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import azent
from azent.models import Scripted
from azent.schema.foreign import foreign_parameters, with_choices_in_items
from azent.tools import spec_of

METRICS = {"type": "array", "items": {"type": "string"}, "enum": ["buzz", "trust"]}
MENDED = {"type": "array", "items": {"type": "string", "enum": ["buzz", "trust"]}}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        (METRICS, MENDED),
        ({"type": "array", "enum": ["a"]}, {"type": "array", "items": {"enum": ["a"]}}),
        (of(deep=of(list=METRICS)), of(deep=of(list=MENDED))),
        ({"anyOf": [METRICS, {"type": "null"}]}, {"anyOf": [MENDED, {"type": "null"}]}),
    ],
)
def test_choices_of_a_list_belong_to_its_items(given: Any, mended: Any) -> None:
    assert with_choices_in_items(given) == mended


@pytest.mark.parametrize(
    "given",
    [
        {"type": "array", "items": {"type": "string"}, "enum": [["a"], ["a", "b"]]},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "array", "items": True, "enum": ["a"]},
        of(type={"enum": ["array"]}, enum={"type": "array"}),
        {"default": ["array"], "enum": 3},
        None,
    ],
)
def test_what_needs_no_mending_is_the_same_object(given: Any) -> None:
    assert with_choices_in_items(given) is given


def test_a_call_of_such_a_function_is_legal() -> None:
    tool = {"name": "query", "parameters": of(metrics=METRICS)}
    assert spec_of(tool)["parameters"] == foreign_parameters("query", tool["parameters"])
    call = {"tool": "query", "tool_input": {"metrics": ["buzz"]}}
    reply = azent.select("How is the buzz?", [tool], Scripted(json.dumps({"tools": [call]})))
    assert [each.tool_input for each in reply.calls] == [{"metrics": ["buzz"]}]
