"""The cases of tests/cases/schema.jsonl: functions, what their schemas hold, what calls give.

A fact names a place `at` in the spec ("parameters/properties/x"; a last `*` gives the keys) and
what `is` there, what it `has` or `lacks` as text, of which it `is one of`, which keys it `is just`.
`of` picks one of several functions. Every spec must besides be JSON without dangling references.
"""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import azent
from azent.schema.render import Style, render

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "schema.jsonl").read_text("utf-8").splitlines()
]
MISSING: Any = object()


@pytest.fixture(params=CASES, ids=lambda case: str(case["id"]))
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


def test_schema(case: dict[str, Any]) -> None:
    specs = [described(function) for function in functions_of(case)]
    for fact in case["facts"]:
        for spec in [specs[fact["of"]]] if "of" in fact else specs:
            assert holds(fact, spec), f"{fact} does not hold for {spec}"


def test_every_schema_is_json_without_dangling_references(case: dict[str, Any]) -> None:
    for spec in map(described, functions_of(case)):
        if isinstance(spec, dict):
            dumped = json.dumps(spec, allow_nan=False)
            for ref in re.findall(r'"(#/[^"]*)"', dumped):
                assert looked_up(spec["parameters"], ref) is not MISSING


def test_calls(case: dict[str, Any]) -> None:
    functions = functions_of(case)
    for call in case["calls"]:
        function = functions[call.get("of", 0)]
        name = azent.function_to_json(function)["name"]
        (result,) = azent.Toolbox([function]).run((azent.Call(name, call["input"]),))
        if "problem" in call:
            kinds = {call["problem"], "invalid_argument"}  # a field further in may be called either
            assert result.problem is not None
            assert result.problem.kind in kinds
        else:
            assert result.problem is None, result.text
            assert as_json(result.text) == call["returns"]


def functions_of(case: dict[str, Any]) -> list[Callable[..., Any]]:
    """The functions of a case, defined in a real module so that annotations can be looked up."""
    module = types.ModuleType(f"case_{case['id']}")
    sys.modules[module.__name__] = module
    exec(compile(case["code"], module.__name__, "exec", dont_inherit=True), vars(module))
    found = eval(case["functions"], vars(module))
    return found if isinstance(found, list) else [found]


def described(function: Callable[..., Any]) -> dict[str, Any] | azent.SchemaError:
    try:
        return azent.function_to_json(function)
    except azent.SchemaError as error:
        return error


def holds(fact: dict[str, Any], spec: Any) -> bool:
    if "refused" in fact:
        return isinstance(spec, azent.SchemaError) and bool(spec.hint)
    if "refused or" in fact:
        return (
            isinstance(spec, azent.SchemaError) or node_at(spec, fact["refused or"]) is not MISSING
        )
    if "prompt has" in fact:
        styles: tuple[Style, ...] = ("json", "typescript", "python")
        return all(fact["prompt has"] in render([spec], style) for style in styles)
    if "at most" in fact:
        return len(json.dumps(spec)) <= int(fact["at most"])
    return node_holds(fact, node_at(spec, fact["at"], fact.get("through references", False)))


def node_holds(fact: dict[str, Any], node: Any) -> bool:
    text = "" if node is MISSING else json.dumps(node, ensure_ascii=False)
    found = None if node is MISSING else node
    return (
        ("is" not in fact or (node is not MISSING and node == fact["is"]))
        and ("is one of" not in fact or found in fact["is one of"])
        and ("is there" not in fact or node is not MISSING)
        and ("has" not in fact or fact["has"] in text)
        and ("lacks" not in fact or fact["lacks"] not in text)
        and ("is just" not in fact or sorted(found or []) == sorted(fact["is just"]))
    )


def node_at(spec: dict[str, Any], path: str, through: bool = False) -> Any:
    node: Any = spec
    for key in filter(None, path.split("/")):
        node = followed(node, key, spec["parameters"]) if through else node
        node = list(node) if key == "*" else child(node, key)
    return node


def followed(node: Any, key: str, root: dict[str, Any]) -> Any:
    """The node, or what it refers to, or its one alternative beside null."""
    while isinstance(node, dict) and key not in node:
        branches = [each for each in node.get("anyOf", ()) if each.get("type") != "null"]
        if "$ref" in node:
            node = looked_up(root, node["$ref"])
        elif len(branches) == 1:
            node = branches[0]
        else:
            break
    return node


def child(node: Any, key: str) -> Any:
    return node.get(key, MISSING) if isinstance(node, dict) else MISSING


def looked_up(root: Any, ref: str) -> Any:
    node = root
    for step in ref.split("/")[1:]:
        node = child(node, step.replace("~1", "/").replace("~0", "~"))
    return node


def as_json(text: str) -> Any:
    """A result's text as a JSON value; words stay words."""
    try:
        return json.loads(text)
    except ValueError:
        return text
