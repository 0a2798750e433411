"""Define the default tools of `azent ask`, which are safe and have no side effects."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Context, Decimal, DecimalException, Inexact, Overflow
from fractions import Fraction
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from azent.errors import ToolFailed
from azent.tools.tool import tool

Number = int | float | Decimal
OPERATORS: dict[type, Callable[..., Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
# People and models write "17 % of 2350". It is parsed as "17 **of** 2350", because `**` binds as
# tightly, and a power of this name is computed as the percentage.
PERCENT_OF = re.compile(r"(?:%|\bper ?cent)\s*of\b", re.IGNORECASE)
MOST_CHARACTERS = 500
MOST_DIGITS = 1_000
MOST_BITS = (10**MOST_DIGITS).bit_length()
SHOWN_DIGITS = 15  # of an infinite fraction; as many as a float has
EXACT = Context(prec=40, Emax=MOST_DIGITS, Emin=-MOST_DIGITS, traps=[Inexact, Overflow])
ROOT = Context(prec=50)  # more than an exact result shows, so that roots are rounded when shown
WORKING = Context(prec=60, Emax=40, Emin=-MOST_DIGITS)  # the digits before the point stay exact
TOO_LARGE = "the result has too many digits"


@tool(readonly=True)
def calculate(
    # The description has no example in figures, because a small model takes it for the question.
    expression: Annotated[str, "Numbers with + - * / ** ( ), or x % of y"],
) -> Number:
    """Work out an arithmetic expression."""
    if len(expression) > MOST_CHARACTERS:
        raise ToolFailed(f"the expression is longer than {MOST_CHARACTERS} characters")
    plain = PERCENT_OF.sub("**of**", expression.strip())
    try:
        return _shown(_value(ast.parse(plain, mode="eval").body, plain))
    except ZeroDivisionError as error:
        raise ToolFailed("division by zero") from error
    except (OverflowError, DecimalException) as error:
        raise ToolFailed(TOO_LARGE) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ToolFailed(f"{expression!r} is no arithmetic expression") from error


@tool(readonly=True)
def now(timezone: Annotated[str, "Such as Europe/Oslo; empty for local time"] = "") -> str:
    """Tell the current date, time and day of the week."""
    try:
        zone = ZoneInfo(timezone) if timezone else None
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ToolFailed(f"there is no time zone {timezone!r}") from error
    return datetime.now(zone).strftime("%A, %Y-%m-%d %H:%M:%S %Z").strip()


@tool(readonly=True)
def days_between(start: date, end: date) -> int:
    """Count the days from one date to another, negative when the second is earlier."""
    return (end - start).days


# ---- arithmetic in fractions, which are exact ----------------------------------------------------


def _value(node: ast.expr, source: str) -> Fraction:
    """Return the value of a parsed expression. Raises ValueError for other than arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(_written(value, ast.get_source_segment(source, node) or ""))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return Fraction(OPERATORS[type(op)](_value(operand, source)))
        case ast.BinOp(
            left=left,
            op=ast.Pow(),
            right=ast.BinOp(left=ast.Name(id="of"), op=ast.Pow(), right=right),
        ):
            return _bounded(_value(left, source) / 100 * _value(right, source))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, source), _value(right, source))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            made = OPERATORS[type(op)](_value(left, source), _value(right, source))
            return _bounded(Fraction(made))
    raise ValueError("not arithmetic")


def _written(value: int | float, text: str) -> Fraction:
    """Return a number exactly as it was written: a float has already lost digits."""
    if isinstance(value, int):
        return Fraction(value)
    decimal = Decimal(text)
    if abs(decimal.adjusted()) > MOST_DIGITS:
        raise OverflowError
    return Fraction(decimal)


def _bounded(value: Fraction) -> Fraction:
    """Return the value. Raises OverflowError if it has too many digits."""
    if max(abs(value.numerator), value.denominator) >= 10**MOST_DIGITS:
        raise OverflowError
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        return _root(base, exponent)
    least_bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
    if least_bits * abs(exponent) > MOST_BITS:  # checked before it is computed
        raise OverflowError
    return _bounded(base**exponent.numerator)


def _root(base: Fraction, exponent: Fraction) -> Fraction:
    """Return a power with a fractional exponent. Raises ToolFailed if it is no real number.

    Sixty digits are computed and fifty kept, so that 8 ** (1/3) is exactly 2.
    """
    if base < 0:
        raise ToolFailed("the result is not a real number")
    if base == 0:
        return Fraction(0, int(exponent > 0))
    power = WORKING.power(_divided(base, WORKING), _divided(exponent, WORKING))
    return Fraction(ROOT.plus(power))


def _divided(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _shown(value: Fraction) -> Number:
    """Return the value as a whole number, as an exact decimal, or rounded if it is infinite."""
    if value.denominator == 1:
        return value.numerator
    try:
        decimal = _divided(value, EXACT)
    except Inexact:
        whole_digits = len(str(abs(int(value))))
        decimal = _divided(value, Context(prec=max(SHOWN_DIGITS, whole_digits + 2)))
    if decimal == decimal.to_integral_value():
        return int(decimal)
    near = float(decimal)
    return near if Decimal(repr(near)) == decimal else decimal
