"""Schemas as text: what a model reads, in each of the styles."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from azent.errors import UsageError
from azent.messages import Spec
from azent.schema.introspect import function_to_json
from azent.schema.render import Style, render

STYLES: tuple[Style, ...] = ("json", "typescript", "python")
CurrencySymbol = Literal["USD", "EUR"]


class Currency(BaseModel):
    currency: Annotated[CurrencySymbol, Field(..., description="Currency symbol")]
    amount: Annotated[float, Field(0, description="Amount of currency", ge=0)]


class Node(BaseModel):
    """A branch."""

    value: str
    children: list[Node] = []


def simple(
    base_amount: Annotated[float, "Amount of currency in base_currency"],
    base_currency: Annotated[CurrencySymbol, "Base currency"] = "USD",
    quote_currency: Annotated[CurrencySymbol, "Quote currency"] = "EUR",
) -> str:
    return f"{base_amount} {base_currency} {quote_currency}"


def nested(
    base: Annotated[Currency, "Base currency: amount and currency symbol"],
    quote_currency: Annotated[CurrencySymbol, "Quote currency symbol"] = "USD",
) -> Currency:
    return base


def described(function: Any) -> dict[str, Any]:
    return function_to_json(
        function, name="currency_calculator", description="Currency exchange calculator."
    )


def test_the_schema_of_a_currency_calculator() -> None:
    symbol = {"type": "string", "enum": ["USD", "EUR"]}
    assert described(simple) == {
        "name": "currency_calculator",
        "description": "Currency exchange calculator.",
        "parameters": {
            "type": "object",
            "properties": {
                "base_amount": {
                    "type": "number",
                    "description": "Amount of currency in base_currency",
                },
                "base_currency": {**symbol, "default": "USD", "description": "Base currency"},
                "quote_currency": {**symbol, "default": "EUR", "description": "Quote currency"},
            },
            "required": ["base_amount"],
        },
        "returns": {"type": "string"},
    }


def test_the_schema_of_one_that_takes_a_model() -> None:
    symbol = {"type": "string", "enum": ["USD", "EUR"]}
    assert described(nested)["parameters"] == {
        "type": "object",
        "properties": {
            "base": {
                "type": "object",
                "properties": {
                    "currency": {**symbol, "description": "Currency symbol"},
                    "amount": {
                        "type": "number",
                        "minimum": 0.0,
                        "default": 0,
                        "description": "Amount of currency",
                    },
                },
                "required": ["currency"],
                "description": "Base currency: amount and currency symbol",
            },
            "quote_currency": {**symbol, "default": "USD", "description": "Quote currency symbol"},
        },
        "required": ["base"],
    }


def test_python() -> None:
    assert render([described(simple)], "python") == (
        "currency_calculator(base_amount: float, "
        'base_currency: "USD" | "EUR" = "USD", quote_currency: "USD" | "EUR" = "EUR")\n'
        "  # Currency exchange calculator.\n"
        "  # base_amount: Amount of currency in base_currency\n"
        "  # base_currency: Base currency\n"
        "  # quote_currency: Quote currency"
    )


def test_typescript() -> None:
    assert render([described(nested)], "typescript") == (
        "// Currency exchange calculator.\n"
        "type currency_calculator = {\n"
        '  base: {currency: "USD" | "EUR", amount?: number}; '
        "// Base currency: amount and currency symbol\n"
        "    // base.currency: Currency symbol\n"
        "    // base.amount: Amount of currency (at least 0)\n"
        '  quote_currency?: "USD" | "EUR"; // Quote currency symbol (default "USD")\n'
        "};"
    )


def test_json_shows_what_a_model_needs() -> None:
    spec = described(simple)
    assert json.loads(render([spec], "json")) == {
        key: spec[key] for key in ("name", "description", "parameters")
    }


def grow(tree: Node, größe: int | None = None, **more: float) -> None:
    """Grow it

    by a little.
    """


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (
            "python",
            "grow(tree: Node, größe: int | null = null, **more: float)\n"
            "  # Grow it by a little.\n"
            "  # Node = {value: str, children?: list[Node]}\n"
            "  # Node: A branch.",
        ),
        (
            "typescript",
            "// Grow it by a little.\n"
            "type grow = {\n"
            "  tree: Node;\n"
            "  größe?: integer | null; // (default null)\n"
            "  [name: string]: number;\n"
            "};\n"
            "type Node = {value: string, children?: Array<Node>};\n"
            "  // Node: A branch.",
        ),
    ],
)
def test_recursion_further_keywords_and_letters_of_all_kinds(style: Style, text: str) -> None:
    assert render([function_to_json(grow)], style) == text


@pytest.mark.parametrize(
    ("schema", "python", "typescript"),
    [
        ({}, "x: any", "x: any;"),
        (True, "x: any", "x: any;"),
        ({"type": "array"}, "x: list[any]", "x: Array<any>;"),
        ({"type": "object"}, "x: dict[str, any]", "x: Record<string, any>;"),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
            "x: tuple[int, str]",
            "x: [integer, string];",
        ),
        ({"type": ["integer", "null"]}, "x: int | null", "x: integer | null;"),
        ({"oneOf": [{"type": "integer"}, {"const": "a"}]}, 'x: int | "a"', 'x: integer | "a";'),
        (
            {"type": "object", "properties": {"a-b": {"type": "string"}}, "required": ["a-b"]},
            'x: {"a-b": str}',
            'x: {"a-b": string};',
        ),
        ({"enum": ["ü", None, 1]}, 'x: "ü" | null | 1', 'x: "ü" | null | 1;'),
        ({"type": "weird"}, "x: weird", "x: weird;"),
    ],
    ids=str,
)
def test_types(schema: Any, python: str, typescript: str) -> None:
    spec: Spec = {"name": "f", "parameters": {"properties": {"x": schema}, "required": ["x"]}}
    assert render([spec], "python").startswith(f"f({python})")
    assert f"  {typescript}\n" in render([spec], "typescript")


@pytest.mark.parametrize("style", STYLES)
def test_nothing_that_is_shown_breaks_a_line(style: Style) -> None:
    spec: Spec = {
        "name": "f",
        "description": "one\n\n// two\r\n# three",
        "parameters": {"properties": {"x": {"type": "string", "default": "a\nb", "enum": ["\n"]}}},
    }
    lines = render([spec], style).splitlines()
    assert len(lines) == {"json": 1, "typescript": 4, "python": 2}[style]


@pytest.mark.parametrize("style", STYLES)
def test_a_tool_without_parameters_or_texts(style: Style) -> None:
    assert "f" in render({"f": {"name": "f"}}, style)


def test_a_style_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="yaml"):
        render([], "yaml")  # type: ignore[arg-type]  # the point of it


def test_the_same_text_in_every_run() -> None:
    code = """
from azent.schema.introspect import function_to_json
from azent.schema.render import render
def pick(names: set[str] = {"b", "a", "c", "d", "e"}, kinds=frozenset("xyz")): "Pick."
print(*(render([function_to_json(pick)], style) for style in ("json", "typescript", "python")))
"""
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1
    assert '["a", "b", "c", "d", "e"]' in texts.pop()
