"""Schemas without references: what is inlined, what stays, what is refused, how large it gets."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.errors import SchemaError
from azent.schema.lint import lint
from azent.schema.references import inlined
from azent.schema.render import render

Json = dict[str, Any]
INTEGER = {"type": "integer"}
TREE = {
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
}


@pytest.mark.parametrize(
    ("schema", "without"),
    [
        ({"$ref": "#/$defs/A", "$defs": {"A": INTEGER}}, INTEGER),
        (
            {"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": INTEGER}},
            {"properties": {"x": INTEGER}},
        ),
        ({"items": {"$ref": "#/definitions/A"}, "definitions": {"A": INTEGER}}, {"items": INTEGER}),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": INTEGER}},
            INTEGER,
        ),
        (
            {"$ref": "#/$defs/A", "description": "mine", "$defs": {"A": {"description": "its"}}},
            {"description": "mine"},
        ),
        (
            {"$ref": "#/$defs/A", "minimum": 3, "$defs": {"A": {"minimum": 1}}},
            {"allOf": [{"minimum": 1}], "minimum": 3},
        ),
        (
            {"allOf": [{"$ref": "#/$defs/A"}], "default": 1, "$defs": {"A": INTEGER}},
            {"type": "integer", "default": 1},
        ),
        ({"$ref": "#/$defs/a~1b%20c~0d", "$defs": {"a/b c~d": INTEGER}}, INTEGER),
        (
            {"properties": {"x": INTEGER, "y": {"$ref": "#/properties/x"}}},
            {"properties": {"x": INTEGER, "y": INTEGER}},
        ),
        ({"anyOf": [INTEGER, {"$ref": "#/anyOf/0"}]}, {"anyOf": [INTEGER, INTEGER]}),
        ({"title": "T", "$schema": "s", "$id": "i", "type": "integer"}, INTEGER),
        ({"properties": {"title": {"title": "T"}}}, {"properties": {"title": {}}}),
        ({"const": 1}, {"enum": [1]}),
        ({"default": {"$ref": "x", "title": "T"}}, {"default": {"$ref": "x", "title": "T"}}),
        ({"enum": [{"title": "T"}]}, {"enum": [{"title": "T"}]}),
        ({"properties": {"$ref": INTEGER}}, {"properties": {"$ref": INTEGER}}),
        ({"properties": {"$defs": INTEGER}}, {"properties": {"$defs": INTEGER}}),
        (
            {"oneOf": [], "discriminator": {"propertyName": "k", "mapping": {"a": "#/$defs/A"}}},
            {"oneOf": [], "discriminator": {"propertyName": "k"}},
        ),
        (
            {"additionalProperties": False, "items": True},
            {"additionalProperties": False, "items": True},
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": True}}, {}),
        ({"$ref": "#/$defs/A", "$defs": {"A": False}}, {"not": {}}),
        ({"$ref": "#/$defs/Tree", "$defs": {"Tree": TREE}},) * 2,
        (
            {"type": "object", "properties": {"me": {"$ref": "#"}}},
            {
                "type": "object",
                "properties": {"me": {"$ref": "#/$defs/whole"}},
                "$defs": {
                    "whole": {"type": "object", "properties": {"me": {"$ref": "#/$defs/whole"}}}
                },
            },
        ),
    ],
    ids=str,
)
def test_inlined(schema: Json, without: Json) -> None:
    before = copy.deepcopy(schema)
    assert inlined(schema) == without
    assert schema == before


def test_the_two_halves_of_a_recursion_both_stay() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A"}, "c": {"$ref": "#/$defs/C"}},
        "$defs": {
            "A": {"items": {"$ref": "#/$defs/B"}},
            "B": {"items": {"$ref": "#/$defs/A"}},
            "C": INTEGER,
        },
    }
    assert inlined(schema) == {
        "properties": {"a": {"$ref": "#/$defs/A"}, "c": INTEGER},
        "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"items": {"$ref": "#/$defs/A"}}},
    }


def test_definitions_of_one_name_stay_apart() -> None:
    schema = {
        "items": {"$ref": "#/$defs/A"},
        "contains": {"$ref": "#/definitions/A"},
        "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}},
        "definitions": {"A": {"not": {"$ref": "#/definitions/A"}}},
    }
    found = inlined(schema)
    assert sorted(map(str, found["$defs"].values())) == sorted(
        [f"{{'items': {found['items']}}}", f"{{'not': {found['contains']}}}"]
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json#/$defs/A"},
        {"$ref": "#anchor"},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "#/required/7", "required": ["a"]},
        {"$ref": "#/type", "type": "object"},
        {"$ref": 5},
        {"$ref": ["#"]},
        {"$dynamicRef": "#x"},
        {"items": {"anyOf": [{"$ref": "#/nowhere"}]}},
        {"properties": []},
        {"properties": {"x": 5}},
        {"properties": {"x": {"anyOf": {"type": "integer"}}}},
        {"enum": "a"},
        {"type": {"type": "object"}},
        {"items": "string"},
        {"$defs": {"A": {"required": True}}},
        {"description": None},
        [],
        "object",
        None,
    ],
    ids=str,
)
def test_refused(schema: Any) -> None:
    with pytest.raises(SchemaError):
        inlined(schema)


def test_a_reference_that_nobody_uses_does_not_matter() -> None:
    assert inlined({"type": "integer", "$defs": {"A": {"$ref": "http://x"}}}) == INTEGER


def test_copies_that_would_grow_without_bound_stay_references() -> None:
    levels = {f"L{n}": {"items": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 9}} for n in range(60)}
    schema = {"$ref": "#/$defs/L0", "$defs": {**levels, "L60": INTEGER}}
    found = inlined(schema)
    assert len(json.dumps(found)) < 3 * len(json.dumps(schema))
    for ref in set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(found))):
        assert ref in found["$defs"]


@pytest.mark.parametrize("depth", [101, 10_000])
def test_what_is_nested_too_deeply_is_refused(depth: int) -> None:
    schema: Json = INTEGER
    for _ in range(depth):
        schema = {"items": schema}
    with pytest.raises(SchemaError, match="deep"):
        inlined(schema)


@pytest.mark.parametrize("length", [500, 900, 5000])
def test_a_long_chain_of_references_is_refused(length: int) -> None:
    chain = {f"D{n}": {"items": {"$ref": f"#/$defs/D{n + 1}"}} for n in range(length)}
    with pytest.raises(SchemaError, match="deep"):
        inlined({"$ref": "#/$defs/D0", "$defs": {**chain, f"D{length}": INTEGER}})


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(SchemaError, match="large"):
        inlined({"anyOf": [INTEGER] * 60_000})


REFERENCES = st.sampled_from("ABCD").map(lambda name: {"$ref": f"#/$defs/{name}"})
BESIDE = st.sampled_from(
    [
        {},
        {"description": "beside"},
        {"maxItems": 1},
        {"type": "array"},
        {"properties": {"p": {"type": "string"}}, "additionalProperties": False},
        {"additionalProperties": {"type": "integer"}},
        {"items": {"type": "integer"}},
    ]
)
SCHEMAS = st.recursive(
    st.sampled_from([{"type": "integer"}, {"type": "string"}, {"const": 1}, {"enum": [1, "a"]}])
    | st.builds(lambda ref, beside: {**ref, **beside}, REFERENCES, BESIDE)
    | st.builds(lambda ref, beside: {"allOf": [ref], **beside}, REFERENCES, BESIDE),
    lambda inner: st.one_of(
        st.builds(lambda each: {"type": "array", "items": each}, inner),
        st.builds(lambda each: {"type": "object", "properties": {"p": each}}, inner),
        st.builds(lambda each: {"anyOf": each}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)
HELD = st.fixed_dictionaries(
    {
        name: st.builds(
            lambda key, each: {key: each}, st.sampled_from(["items", "contains"]), SCHEMAS
        )
        for name in "ABCD"
    }
)
VALUES = st.recursive(
    st.integers() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.builds(lambda each: {"p": each}, inner),
    max_leaves=6,
)


@given(SCHEMAS, HELD, VALUES)
def test_inlining_changes_nothing_about_what_is_valid(schema: Json, held: Json, value: Any) -> None:
    whole = {**schema, "$defs": held}
    before = jsonschema.Draft202012Validator(whole).is_valid(value)
    assert jsonschema.Draft202012Validator(inlined(whole)).is_valid(value) == before


KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "items", "anyOf", "allOf", "oneOf", "enum", "const", "required"),
        *("additionalProperties", "prefixItems", "description", "default", "minimum", "format"),
        *("$ref", "$defs", "title", "not", "pattern", "discriminator"),
    ]
)
LOOSE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "object", "array", "#", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYWORDS, LOOSE, max_size=5))
def test_whatever_is_let_through_can_be_rendered_and_checked(schema: Json) -> None:
    try:
        parameters = inlined({**schema, "properties": {"x": schema}})
    except SchemaError:
        return
    spec = {"name": "f", "description": "F.", "parameters": parameters}
    for style in ("json", "typescript", "python"):
        assert render([spec], style).count("f") >= 1
    lint([spec])
