"""What is found in schemas that small models stumble over, and what is left in peace."""

from __future__ import annotations

from typing import Any

import pytest

from azent.messages import Spec
from azent.schema.lint import Finding, lint

TEXT = {"type": "string", "description": "what"}


def spec(name: str = "find", description: str = "Find it.", **properties: Any) -> Spec:
    parameters = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "parameters": parameters}


def found(*specs: Spec) -> set[tuple[str, str, str]]:
    return {(each.tool, each.parameter, each.rule) for each in lint(specs)}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = TEXT
    for _ in range(levels):
        schema = {"type": "object", "description": "an object", "properties": {"in": schema}}
    return schema


@pytest.mark.parametrize(
    ("properties", "place", "rule"),
    [
        ({"x": {"type": "string"}}, "x", "parameter-without-text"),
        ({"x": {"description": "anything"}}, "x", "no-type"),
        ({"x": {**TEXT, "enum": [str(n) for n in range(21)]}}, "x", "huge-enum"),
        ({"x": {**TEXT, "format": "duration"}}, "x", "hard-type"),
        ({"x": {**TEXT, "format": "binary"}}, "x", "hard-type"),
        ({"x": {"$ref": "#/$defs/Node", "description": "a node"}}, "x", "recursive-type"),
        (
            {"x": {"type": "array", "description": "both", "prefixItems": [TEXT]}},
            "x",
            "tuple-type",
        ),
        (
            {"x": {"description": "it", "anyOf": [{"type": "integer"}, {"type": "string"}]}},
            "x",
            "union-type",
        ),
        ({"x": deep(4)}, "x.in.in.in", "deep-nesting"),
        (
            {"x": {"type": "array", "description": "times", "items": {"format": "duration"}}},
            "x[]",
            "hard-type",
        ),
        (
            {
                "x": {
                    "type": "object",
                    "description": "by name",
                    "additionalProperties": {"enum": list("a" * 30)},
                }
            },
            "x.*",
            "huge-enum",
        ),
        ({f"x{n}": TEXT for n in range(11)}, "", "many-parameters"),
        ({"user_id": TEXT, "userId": TEXT}, "", "look-alike-names"),
    ],
    ids=str,
)
def test_found_in_parameters(properties: dict[str, Any], place: str, rule: str) -> None:
    assert found(spec(**properties)) == {("find", place, rule)}


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"x": TEXT},
        {"x": {"anyOf": [{"type": "integer", "description": "how many"}, {"type": "null"}]}},
        {"x": {**TEXT, "enum": ["a", "b"]}},
        {"x": deep(3)},
        {"x": {**TEXT, "format": "date"}},
        {"x": {"type": "object", "description": "what", "additionalProperties": True}},
        {f"x{n}": TEXT for n in range(10)},
    ],
    ids=str,
)
def test_left_in_peace(properties: dict[str, Any]) -> None:
    assert found(spec(**properties)) == set()


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("getUser", "get_user", "error"),
        ("get-user", "get_user", "error"),
        ("get_user", "get_users", "warning"),
        ("user_get", "get_user", "warning"),
        ("list_file", "lost_file", "warning"),
        ("abcde", "aabcde", "warning"),
        ("search_web", "search_news", None),
        ("step10", "step11", None),
        ("page1", "page", None),
        ("add", "and", None),
        ("read", "readonly", None),
    ],
)
def test_names_that_are_easily_mixed_up(one: str, other: str, severity: str | None) -> None:
    findings = lint([spec(one, "Do one thing."), spec(other, "Do another.")])
    assert [each.severity for each in findings] == ([severity] if severity else [])


def test_what_concerns_the_whole() -> None:
    assert found(spec("find", "")) == {("find", "", "no-description")}
    assert found(spec("find", "x" * 1001)) == {("find", "", "long-description")}
    assert found(spec("f" * 65)) == {("f" * 65, "", "long-name")}
    assert found(spec("find"), spec("seek")) == {("seek", "", "same-description")}
    assert found({"name": "bare"}) == {("bare", "", "no-description")}


def test_a_hidden_signature_is_hinted_at() -> None:
    (finding,) = lint([spec("inner", "")])
    assert finding.severity == "error"
    assert "functools.wraps" in finding.message


def test_specs_by_name_are_taken_too_and_each_finding_says_what_to_do() -> None:
    (finding,) = lint({"find": spec(x={"type": "string"})})
    assert finding == Finding(
        "find",
        "x",
        "parameter-without-text",
        "warning",
        'Say what it is for: in the docstring, or with Annotated[type, "text"].',
    )
