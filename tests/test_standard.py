"""The tools that are offered when none are named."""

from __future__ import annotations

from datetime import date

import pytest

from azent.errors import ToolFailed
from azent.standard import calculate, days_between, now


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(2123 + 2321) * 312", 1386528),
        (" 7 // 2 ", 3),
        ("-2 ** 2", -4),
        ("17 % 5", 2),
        ("17 % of 2350", 399.5),
        ("3 + 12.5% of 80", 13.0),
    ],
)
def test_expressions(expression: str, value: float) -> None:
    assert calculate(expression) == pytest.approx(value)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("two plus two", "no arithmetic"),
        ("", "no arithmetic"),
        ("__import__('os')", "no arithmetic"),
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "too many digits"),
        ("9**999 * 9**999", "too many digits"),
        ("1e308 * 10", "too many digits"),
        ("1e308 ** 2", "too many digits"),
        ("1e999 - 1e999", "too many digits"),
        ("1 +" * 300 + "1", "longer than 500"),
        ("True + 1", "no arithmetic"),
    ],
)
def test_what_is_no_expression_is_told(expression: str, why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        calculate(expression)


def test_dates() -> None:
    assert days_between(date(2026, 3, 1), date(2026, 12, 24)) == 298
    assert now("Europe/Oslo").endswith(("CET", "CEST"))
    with pytest.raises(ToolFailed, match="no time zone"):
        now("Nowhere/Else")
