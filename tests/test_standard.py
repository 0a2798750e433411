"""The tools that are offered when none are named."""

from __future__ import annotations

from datetime import date

import pytest

from azent.errors import ToolFailed
from azent.tools.standard import calculate, days_between, now
from azent.values.results import text_of


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(2123 + 2321) * 312", "1386528"),
        (" 7 // 2 ", "3"),
        ("-2 ** 2", "-4"),
        ("17 % 5", "2"),
        ("2 ** -1", "0.5"),
        ("6 / 2", "3"),
        # a percentage binds tighter than what stands around it
        ("17 % of 2350", "399.5"),
        ("3 + 12.5% of 80", "13"),
        ("100 / 50 % of 10", "20"),
        ("2 ** 50 % of 4", "4"),
        ("100 - 20 % of 50 * 2", "80"),
        ("(10 + 5) % of (150 + 50)", "30"),
        ("10% of 20% of 500", "10"),
        ("-50 % OF 10 ** 2", "-50"),
        ("17 percent of 2350", "399.5"),
        ("7 % 4 % of 50", "1"),
        ("20 % of (30 % of 400)", "24"),
        ("15% of 80 + 20% of 50", "22"),
        ("2 * -5 % of 10", "-1"),
        ("5 per cent of 1e3", "50"),
        ("12.5 % of 12.5", "1.5625"),
        ("33.3 % of 100 - 7 % 4", "30.3"),
        # no noise of floats
        ("1.005 * 1000", "1005"),
        ("19.99 * 3", "59.97"),
        ("4.35 - 4.25", "0.1"),
        ("3.3 / 1.1", "3"),
        ("1e15 + 0.3", "1000000000000000.3"),
        ("123456789 * 987654321.1", "121932631124980947.9"),
        ("0.5 % 0.2", "0.1"),
        ("0.1 + 0.2", "0.3"),
        ("1.1 * 1.1", "1.21"),
        ("4.35 * 100", "435"),
        ("0.1 ** 20", "1e-20"),
        ("1 / 3", "0.333333333333333"),
        ("2 / 3", "0.666666666666667"),
        ("2 ** 0.5", "1.4142135623731"),
        ("(2 ** 0.5) ** 2", "2"),
        ("1.1 ** 50", "117.390852879695"),
        ("8 ** (1/3) - 2", "0"),
        ("10 ** 20 / 3", "33333333333333333333.33"),
        ("12345678901234567890.5 * 2", "24691357802469135781"),
        ("0.12345678901234567891 * 10", "1.2345678901234567891"),
        # large numbers
        ("10 ** 999", "1" + "0" * 999),
        ("10 ** 999 / 10 ** 998", "10"),
        ("1e308 * 10", "1" + "0" * 309),
        ("1e999 - 1e999", "0"),
        ("1 ** 10 ** 900", "1"),
        ("10 ** -999 * 10 ** 999", "1"),
    ],
)
def test_expressions(expression: str, value: str) -> None:
    assert text_of(calculate(expression)) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("two plus two", "no arithmetic"),
        ("", "no arithmetic"),
        ("__import__('os')", "no arithmetic"),
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "too many digits"),
        ("9**999 * 9**999", "too many digits"),
        ("10 ** 1000", "too many digits"),
        ("1e1000 * 10", "too many digits"),
        ("1e99999999999999999999", "too many digits"),
        ("1e-999999999", "too many digits"),
        ("9 ** 99.5", "too many digits"),
        ("(1/7) ** 99999999", "too many digits"),
        ("0 ** -1", "division by zero"),
        ("0 ** -0.5", "division by zero"),
        ("5 % 0", "division by zero"),
        ("(-8) ** 0.5", "not a real number"),
        ("50 % of", "no arithmetic"),
        ("200 + 10%", "no arithmetic"),
        ("1,000 + 1", "no arithmetic"),
        ("2 ^ 3", "no arithmetic"),
        ("10 %of30", "no arithmetic"),
        ("10 ** 999 * 10", "too many digits"),
        ("50 % of of 3", "no arithmetic"),
        ("of ** 2", "no arithmetic"),
        ("2j * 2", "no arithmetic"),
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
