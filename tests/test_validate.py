"""Is a call legal: names, coercion without loss, and problems that a model can act on."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from azent.messages import Call, Specs
from azent.schema.validate import checked
from azent.values.strict_json import Bare


def spec(**properties: Any) -> Specs:
    parameters = {"type": "object", "properties": properties}
    return {"f": {"name": "f", "parameters": parameters}}


def run(value: Any, schema: Any) -> Any:
    """What comes of a value for an argument of this schema; the kind of problem where none does."""
    call, _ = checked(Call("f", {"x": value}), spec(x=schema))
    return call.problem.kind if call.problem else call.tool_input.get("x", "left out")


INTEGER, NUMBER, STRING = {"type": "integer"}, {"type": "number"}, {"type": "string"}
BOOLEAN = {"type": "boolean"}
STRINGS = {"type": "array", "items": STRING}
COLOURS = {"type": "string", "enum": ["dark red", "blue"]}
EITHER = {"anyOf": [INTEGER, {"type": "null"}]}
POINT = {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}
BAD = "invalid_argument"


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("3", INTEGER, 3),
        (" 3 ", INTEGER, 3),
        ("-3", INTEGER, -3),
        ("3.0", INTEGER, 3),
        (3.0, INTEGER, 3),
        ("1e3", INTEGER, 1000),
        ([3], INTEGER, 3),
        ("9007199254740993", INTEGER, 9007199254740993),
        ("3.5", INTEGER, BAD),
        (3.5, INTEGER, BAD),
        ("20%", INTEGER, BAD),
        ("0x10", INTEGER, BAD),
        ("1,000", INTEGER, BAD),
        ("three", INTEGER, BAD),
        ("", INTEGER, "left out"),
        (True, INTEGER, BAD),
        ("3.5", NUMBER, 3.5),
        ("-1e-3", NUMBER, -0.001),
        ("1e999", NUMBER, BAD),
        ("NaN", NUMBER, BAD),
        ("12 kg", NUMBER, BAD),
        (3, NUMBER, 3),
        (3, STRING, "3"),
        (True, STRING, "true"),
        (["a"], STRING, "a"),
        ({"a": 1}, STRING, BAD),
        (["a", "b"], STRING, BAD),
        ("null", STRING, "null"),
        (None, STRING, "left out"),
        ("true", BOOLEAN, True),
        ("False", BOOLEAN, False),
        (1, BOOLEAN, True),
        ("maybe", BOOLEAN, BAD),
        (2, BOOLEAN, BAD),
        ("a", STRINGS, ["a"]),
        ('["a", "b"]', STRINGS, ["a", "b"]),
        ("['a', 'b']", STRINGS, ["a", "b"]),
        ("a, b", STRINGS, BAD),
        ([1, 2], STRINGS, ["1", "2"]),
        (["a", "a"], {**STRINGS, "uniqueItems": True}, ["a"]),
        ("Blue", COLOURS, "blue"),
        (" DARK-RED", COLOURS, "dark red"),
        ("dark_red", COLOURS, "dark red"),
        ("green", COLOURS, BAD),
        ("", COLOURS, "left out"),
        ("null", COLOURS, "left out"),
        ("2", {"enum": [1, 2]}, 2),
        ("3", EITHER, 3),
        ("null", EITHER, None),
        (None, EITHER, None),
        ("x", EITHER, BAD),
        ("3", {"anyOf": [STRING, INTEGER]}, "3"),
        (Bare("3"), {"type": ["string", "integer"]}, 3),
        (Bare("null"), {"type": ["string", "null"]}, None),
        (Bare("Oslo"), {"type": ["string", "null"]}, "Oslo"),
        (Bare("007"), STRING, "007"),
        ('{"a": "1"}', POINT, {"a": 1}),
        ([{"a": 1}], POINT, {"a": 1}),
        ({"A": 1}, POINT, {"a": 1}),
        ("x", POINT, BAD),
        ({"a": {"b": "1"}}, {"type": "object"}, {"a": {"b": "1"}}),
        ("x", {}, "x"),
    ],
)
def test_an_argument(value: Any, schema: Any, expected: Any) -> None:
    made = run(value, schema)
    assert (made, type(made)) == (expected, type(expected))


TOOLS: Specs = {
    name: {"name": name, "parameters": {"type": "object", "properties": {}}}
    for name in ("get_weather", "files.read", "mail.read", "suche_größe", "server__list")
}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("get_weather", "get_weather"),
        ("getWeather", "get_weather"),
        ("Get-Weather", "get_weather"),
        ("get weather", "get_weather"),
        ("GET_WEATHER()", "get_weather"),
        ("`get_weather`", "get_weather"),
        ("get\\_weather", "get_weather"),
        ("functions.get_weather", "get_weather"),
        ("functions.get_weather:0", "get_weather"),
        ("default_api:get_weather", "get_weather"),
        ("default_api_get_weather", "get_weather"),
        ("tools/get_weather", "get_weather"),
        ("get_weather<|channel|>commentary", "get_weather"),
        ("suche_gro\u0308ße", "suche_größe"),
        ("files_read", "files.read"),
        ("list", "server__list"),
        ("read", None),
        ("get_wether", None),
        ("weather", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_a_name(said: str, meant: str | None) -> None:
    call, bent = checked(Call(said, {}), TOOLS)
    if meant is None:
        assert call.problem is not None
        assert (call.tool, call.problem.kind) == (said, "unknown_tool")
    else:
        assert (call.tool, call.problem) == (meant, None)
        assert bool(bent) == (said != meant)


WEATHER: Specs = {
    "get_weather": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": STRING, "days": {**INTEGER, "minimum": 1, "maximum": 9}},
            "required": ["city"],
        },
    }
}


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({}, "missing_argument", "'city' is missing at $"),
        ({"city": None}, "missing_argument", "'city' is missing at $"),
        ({"city": "Oslo", "x": 1}, "unexpected_argument", "there is no argument 'x'"),
        ({"town": "Oslo"}, "missing_argument", "it takes 'city', 'days'"),
        ({"city": "Oslo", "days": "x"}, BAD, "'x' is not an integer at $.days"),
        ({"city": "Oslo", "days": 0}, BAD, "0 is less than 1 at $.days"),
        ({"city": {"a": 1}}, BAD, '{"a": 1} is not a string at $.city'),
        (["Oslo", "Bergen"], BAD, "must be an object of named arguments"),
    ],
)
def test_a_problem_says_what_and_where(given: Any, kind: str, said: str) -> None:
    call, _ = checked(Call("get_weather", given), WEATHER)
    assert call.problem is not None
    assert call.problem.kind == kind
    assert said in call.problem.message
    assert call.problem.message.startswith("get_weather: ")


def test_an_unknown_tool_is_answered_with_the_nearest_and_all() -> None:
    call, _ = checked(Call("get_wether", {}), WEATHER)
    assert call.problem is not None
    assert "did you mean 'get_weather'?" in call.problem.message


def test_what_was_bent_is_told() -> None:
    call, bent = checked(Call("GetWeather", {"City": 3, "days": "2"}), WEATHER)
    assert call.tool_input == {"city": "3", "days": 2}
    assert len(bent) == 4
    assert all(told for told in bent)


def test_a_call_with_a_problem_is_left_alone() -> None:
    call, _ = checked(Call("fly", {}), WEATHER)
    assert checked(call, WEATHER) == (call, ())


def test_remote_references_are_refused() -> None:
    call, _ = checked(Call("f", {"x": 1}), spec(x={"$ref": "http://example.com/schema.json"}))
    assert call.problem is not None
    assert call.problem.kind == BAD


def test_foreign_patterns_are_not_evaluated() -> None:
    tools = spec(x={"type": "string", "pattern": "^(a+)+$"}, pattern={"type": "string"})
    hostile = Call("f", {"x": "a" * 50 + "!", "pattern": "kept"})
    call, _ = checked(hostile, tools, trusted=False)
    assert (call.problem, call.tool_input) == (None, hostile.tool_input)
    refused, _ = checked(Call("f", {"x": "b"}), spec(x={"type": "string", "pattern": "^a$"}))
    assert refused.problem is not None


def test_local_references_are_followed() -> None:
    tree = {"type": "object", "properties": {"n": INTEGER, "next": {"$ref": "#/$defs/tree"}}}
    parameters = {"type": "object", "properties": {"t": {"$ref": "#/$defs/tree"}}}
    tools: Specs = {"f": {"name": "f", "parameters": {**parameters, "$defs": {"tree": tree}}}}
    call, _ = checked(Call("f", {"t": {"n": "1", "next": {"n": "2"}}}), tools)
    assert call.tool_input == {"t": {"n": 1, "next": {"n": 2}}}


def test_deep_input_is_a_problem() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    call, _ = checked(Call("f", {"x": deep}), spec(x={}))
    assert call.problem is not None
    assert call.problem.kind == "too_deep"


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "int"},
        {"type": int},
        {"type": "integer", "multipleOf": 0},
        {"type": "integer", "minimum": "0"},
        {"anyOf": {"type": "integer"}},
        {"type": "object", "properties": ["a"]},
        {"type": "array", "items": "integer"},
    ],
)
def test_what_is_no_schema_lets_nothing_through_and_raises_nothing(schema: Any) -> None:
    for value in (1, [1], {"a": 1}):
        call, _ = checked(Call("f", {"x": value}), spec(x=schema))
        assert call.problem is None or call.problem.kind == BAD
    assert call.problem is not None


@pytest.mark.parametrize("properties", [["x"], "x", 5])
def test_properties_that_are_none_raise_nothing(properties: Any) -> None:
    parameters = {"type": "object", "properties": properties}
    call, _ = checked(Call("f", {"x": 1}), {"f": {"name": "f", "parameters": parameters}})
    assert call.problem is not None


def test_names_of_arguments_are_texts() -> None:
    given: Any = {1: 2}
    call, _ = checked(Call("f", given), spec(x=INTEGER))
    assert call.problem is not None
    assert "must be texts" in call.problem.message


class Watched(dict[str, Any]):
    """A schema of which it can be told whether anybody still holds it."""


def test_few_schemas_of_others_are_kept() -> None:
    held = []
    for _ in range(60):
        schema = Watched(type="object", properties={"a": {"type": "integer"}})
        call, _ = checked(
            Call("f", {"a": "1"}), {"f": {"name": "f", "parameters": schema}}, trusted=False
        )
        assert call.tool_input == {"a": 1}
        held.append(weakref.ref(schema))
        del schema
    gc.collect()
    assert sum(each() is not None for each in held) <= 20
