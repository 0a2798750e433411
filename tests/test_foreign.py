"""Schemas that others wrote: what is mended in them, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import azent
from azent.messages import Call
from azent.models import Scripted
from azent.schema.drafts import foreign_parameters, modern
from azent.schema.validate import checked
from azent.tools.tool import spec_of

METRICS = {"type": "array", "items": {"type": "string"}, "enum": ["buzz", "trust"]}
MENDED = {"type": "array", "items": {"type": "string", "enum": ["buzz", "trust"]}}
STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
REF = {"$ref": "#/$defs/a"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("given", "modern_form"),
    [
        # choices of a list
        (METRICS, MENDED),
        ({"type": "array", "enum": ["a"]}, {"type": "array", "items": {"enum": ["a"]}}),
        (of(deep=of(list=METRICS)), of(deep=of(list=MENDED))),
        ({"anyOf": [METRICS, NULL]}, {"anyOf": [MENDED, NULL]}),
        ({"enum": []}, {}),
        # bounds that draft 4 excludes
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": True}, {"exclusiveMaximum": 9}),
        ({"minimum": 0, "exclusiveMinimum": False}, {"minimum": 0}),
        ({"exclusiveMaximum": True}, {}),
        (
            of(a={"items": {"minimum": 1, "exclusiveMinimum": True}}),
            of(a={"items": {"exclusiveMinimum": 1}}),
        ),
        ({"minLength": "3", "maxItems": 4}, {"minLength": 3, "maxItems": 4}),
        (
            {"minimum": "-0.5", "exclusiveMinimum": "true", "maxContains": " 2 "},
            {"exclusiveMinimum": -0.5, "maxContains": 2},
        ),
        ({"uniqueItems": "True", "pattern": 5}, {"uniqueItems": True}),
        # what is required
        ({"properties": {"a": STRING}, "required": None}, {"properties": {"a": STRING}}),
        (
            {"properties": {"a": STRING}, "required": "a"},
            {"properties": {"a": STRING}, "required": ["a"]},
        ),
        (
            {"properties": {"a": {**STRING, "required": True}}},
            {"properties": {"a": STRING}, "required": ["a"]},
        ),
        ({"properties": {"a": {**STRING, "required": False}}}, {"properties": {"a": STRING}}),
        ({"required": {}}, {}),
        ({"required": [None]}, {}),
        (
            {"properties": {"a": STRING, "b": STRING}, "required": {"a": True, "b": False}},
            {"properties": {"a": STRING, "b": STRING}, "required": ["a"]},
        ),
        (
            {"properties": {"a": {**STRING, "required": "true"}}, "required": [None]},
            {"properties": {"a": STRING}, "required": ["a"]},
        ),
        ({"properties": {"a": {**STRING, "required": "false"}}}, {"properties": {"a": STRING}}),
        ({"required": ["a", "a"]}, {"required": ["a"]}),
        (
            {"properties": {"a": INTEGER}, "required": ["b"]},
            {"properties": {"a": INTEGER, "b": {}}, "required": ["b"]},
        ),
        # names of types
        ({"type": "str"}, STRING),
        ({"type": ""}, {}),
        ({"type": "Date"}, {**STRING, "format": "date"}),
        ({"type": "datetime", "format": "time"}, {**STRING, "format": "time"}),
        ({"enum": "a"}, {"enum": ["a"]}),
        ({"type": "INTEGER"}, INTEGER),
        ({"type": "any"}, {}),
        ({"type": ["string", None]}, {"type": ["string", "null"]}),
        ({"type": "string|null"}, {"type": ["string", "null"]}),
        (
            {"type": "dict", "properties": {"a": {"type": "float"}}},
            {"type": "object", "properties": {"a": {"type": "number"}}},
        ),
        ({"type": None, "description": "x"}, {"description": "x"}),
        # what PHP and others write for nothing
        ({"type": "object", "properties": []}, {"type": "object", "properties": {}}),
        ({"type": "array", "items": []}, {"type": "array", "items": {}}),
        ({"properties": {"a": None}}, {"properties": {"a": {}}}),
        ({"description": None, "format": None, "enum": None, "items": None}, {}),
        (
            {"anyOf": [], "title": 3, "additionalProperties": "false"},
            {"additionalProperties": False},
        ),
        ({"$id": "#a", "properties": {"$id": STRING}}, {"properties": {"$id": STRING}}),
        # lists by place, dependencies
        (
            {"items": [STRING, INTEGER], "additionalItems": False},
            {"prefixItems": [STRING, INTEGER], "items": False},
        ),
        (
            {"dependencies": {"a": ["b"], "c": {"type": "int"}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": INTEGER}},
        ),
        ({"oneOf": {"type": "str"}}, {"oneOf": [STRING]}),
        # what may be null
        ({**STRING, "nullable": True}, {"type": ["string", "null"]}),
        ({"enum": ["a"], "nullable": True}, {"enum": ["a", None]}),
        ({**REF, "nullable": True, "description": "x"}, {"anyOf": [REF, NULL], "description": "x"}),
        (
            {"anyOf": [STRING, INTEGER], "nullable": True},
            {"anyOf": [{"anyOf": [STRING, INTEGER]}, NULL]},
        ),
        ({"type": ["string", "null"], "nullable": True}, {"type": ["string", "null"]}),
        (of(a=of(b={**INTEGER, "nullable": True})), of(a=of(b={"type": ["integer", "null"]}))),
    ],
)
def test_older_and_sloppy_forms_are_brought_to_the_modern_one(given: Any, modern_form: Any) -> None:
    assert modern(given) == modern_form


@pytest.mark.parametrize(
    "given",
    [
        {"type": "array", "items": {"type": "string"}, "enum": [["a"], ["a", "b"]]},
        {"type": "string", "enum": ["a", "b"], "default": None, "nullable": False},
        {"type": "array", "items": True, "enum": ["a"]},
        of(type={"enum": ["array"]}, enum={"type": "array"}, required=STRING, nullable=STRING),
        {"default": ["array"], "enum": 3},
        {"enum": ["str", None, {"type": "str", "required": True}], "const": {"required": None}},
        None,
    ],
)
def test_what_needs_no_mending_is_the_same_object(given: Any) -> None:
    assert modern(given) is given


NOTHING = {"type": "object", "properties": {}}
ARGUMENTS = {"a": STRING}


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        (None, NOTHING),
        ([], NOTHING),
        (True, NOTHING),
        ({"type": ""}, NOTHING),
        ({}, NOTHING),
        ({"type": "null"}, NOTHING),
        ({"type": "object"}, NOTHING),
        ({"properties": ARGUMENTS}, {"type": "object", "properties": ARGUMENTS}),
        ({"type": "string", "properties": ARGUMENTS}, {"type": "object", "properties": ARGUMENTS}),
        (
            {"type": ["object", "null"], "properties": ARGUMENTS},
            {"type": "object", "properties": ARGUMENTS},
        ),
        ({"type": "OBJECT", "properties": ARGUMENTS}, {"type": "object", "properties": ARGUMENTS}),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": ARGUMENTS}}},
            {"type": "object", "properties": ARGUMENTS},
        ),
    ],
)
def test_parameters_that_are_plain_are_taken(given: Any, parameters: Any) -> None:
    assert foreign_parameters("f", given) == parameters


@pytest.mark.parametrize(
    "keywords",
    [
        {"pattern": r"^\p{L}+$"},
        {"pattern": r"(?<year>\d{4})-\k<year>"},
        {"pattern": r"^\u{1F600}\cJ[^]$"},
        {"pattern": r"^(?=.*[\p{Sc}--[$]]).+$", "format": "regex"},
        {"patternProperties": {r"^\p{Lu}": STRING}},
        {"propertyNames": {"pattern": r"\p{Script=Greek}"}},
        {"pattern": r"^(?<a>\p{L})(?<a2>\P{Nd})\k<a>$", "type": "string"},
        {"items": {"pattern": r"[\u{1F600}-\u{1F64F}]+"}},
        {"anyOf": [{"pattern": r"(?i:a)\q"}, {"pattern": "["}]},
        {"not": {"pattern": r"(?<=\p{Lu})$"}},
        {"additionalProperties": {"pattern": "*"}},
    ],
)
def test_patterns_of_others_need_not_be_pythons(keywords: dict[str, Any]) -> None:
    parameters = foreign_parameters("f", of(a=keywords))
    assert parameters == of(a=keywords)
    call, _ = checked(Call("f", {"a": "x"}), {"f": {"parameters": parameters}}, trusted=False)
    assert call.problem is None


LETTER, DIGIT = {**STRING, "pattern": r"^\p{L}"}, {**STRING, "pattern": r"^\p{Nd}"}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"not": LETTER}, "1"),
        ({"not": {"$ref": "#/$defs/letter"}}, "1"),
        ({"not": {"not": LETTER}}, "a"),
        ({"oneOf": [LETTER, DIGIT]}, "a"),
        ({"oneOf": [LETTER, DIGIT], "anyOf": [LETTER, INTEGER]}, "a"),
        ({"if": LETTER, "then": {"maxLength": 1}, "else": {"minLength": 3}}, "123"),
        ({"type": "array", "contains": DIGIT, "maxContains": 1}, ["a", "b", "1"]),
        (
            {
                "type": "object",
                "patternProperties": {r"^\p{Lu}": INTEGER},
                "additionalProperties": False,
            },
            {"A": 1},
        ),
        ({"type": "object", "properties": {"pattern": STRING, "not": STRING}}, {"not": "a"}),
    ],
)
def test_a_pattern_that_is_not_evaluated_forbids_nothing(part: Any, value: Any) -> None:
    parameters = foreign_parameters("f", {**of(a=part), "$defs": {"letter": LETTER}})
    call, _ = checked(Call("f", {"a": value}), {"f": {"parameters": parameters}}, trusted=False)
    assert call.problem is None


@pytest.mark.parametrize("key", ["x-form", "errorMessage", "discriminator", "ui"])
@pytest.mark.parametrize("ref", ["#/elsewhere", "#", "", 5, ["a"], "https://example.com/a.json"])
def test_what_is_no_keyword_may_refer_to_anything(key: str, ref: Any) -> None:
    inside = {"oneOf": [{"$ref": ref}, {"properties": {"a": {"$ref": ref}}}], "not": {"$ref": ref}}
    parameters = foreign_parameters("f", of(a={**STRING, key: inside}))
    call, _ = checked(Call("f", {"a": "x"}), {"f": {"parameters": parameters}}, trusted=False)
    assert call.problem is None


@pytest.mark.parametrize("far", [LETTER, STRING])
def test_patterns_are_looked_for_along_any_number_of_references(far: Any) -> None:
    ring = {f"d{at}": of(n={"$ref": f"#/$defs/d{(at + 1) % 300}"}) for at in range(300)}
    ring["d299"]["properties"]["p"] = {"not": far}
    given = {**of(a={"$ref": "#/$defs/d0"}, b={"not": {"$ref": "#/$defs/d0"}}), "$defs": ring}
    parameters = foreign_parameters("f", given)
    call, _ = checked(Call("f", {"b": 1}), {"f": {"parameters": parameters}}, trusted=False)
    assert call.problem is not None
    assert call.problem.message == "f: 'a' is missing at $"


def deep(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return of(a=schema)


@pytest.mark.parametrize(
    "given",
    [
        "object",
        [{"type": "object"}],
        {"type": "string"},
        {"type": "array", "items": STRING},
        of(a={"type": "blob"}),
        of(a={"minLength": -1}),
        of(a="string"),
        of(a={"$ref": "https://example.com/a.json"}),
        of(a={"$ref": "#/$defs/nowhere"}),
        of(a={"$dynamicRef": "#a"}),
        of(a={"not": {"$ref": "#/properties/a"}}),
        {**of(a={"$ref": "#/$defs/a"}), "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, NULL]}}},
        {"allOf": [{"$ref": "#"}]},
        {"properties": ["a"]},
        {"type": "object", "required": "a"},
        {**of(a=STRING), "required": [5]},
        deep(5_000),
    ],
)
def test_parameters_that_are_not_are_refused_by_name(given: Any) -> None:
    with pytest.raises(azent.SchemaError, match="'f'"):
        foreign_parameters("f", given)


def test_a_call_of_such_a_function_is_legal() -> None:
    tool = {"name": "query", "parameters": of(metrics=METRICS)}
    assert spec_of(tool)["parameters"] == foreign_parameters("query", tool["parameters"])
    call = {"tool": "query", "tool_input": {"metrics": ["buzz"]}}
    reply = azent.select("How is the buzz?", [tool], Scripted(json.dumps({"tools": [call]})))
    assert [each.tool_input for each in reply.calls] == [{"metrics": ["buzz"]}]
