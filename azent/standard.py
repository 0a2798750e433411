"""The tools that `azent ask` offers when none are named: small, safe, and without side effects."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from datetime import date, datetime
from math import isfinite
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from azent.errors import ToolFailed
from azent.tools import tool

__all__ = ["calculate", "days_between", "now"]

Number = int | float
OPERATORS: dict[type, Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
# As models and people write it: 17 % of 2350.
PERCENT_OF = re.compile(r"(\d+(?:\.\d+)?)\s*%\s*of\b")
MOST_CHARACTERS = 500
MOST_DIGITS = 1_000
TOO_LARGE = "the result has too many digits"


@tool(readonly=True)
def calculate(
    # No example in figures: a small model takes it for the question.
    expression: Annotated[str, "Numbers with + - * / ** ( ), or x % of y"],
) -> Number:
    """Work out an arithmetic expression."""
    if len(expression) > MOST_CHARACTERS:
        raise ToolFailed(f"the expression is longer than {MOST_CHARACTERS} characters")
    try:
        plain = PERCENT_OF.sub(r"(\1 / 100) *", expression.strip())
        return _bounded(_value(ast.parse(plain, mode="eval").body))
    except OverflowError as error:
        raise ToolFailed(TOO_LARGE) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ToolFailed(f"{expression!r} is no arithmetic expression") from error
    except ArithmeticError as error:
        raise ToolFailed(str(error)) from error


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


def _value(node: ast.expr) -> Number:
    """The value of an expression of numbers and operators, of bounded size."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return _combined(op, _value(left), _value(right))
    raise ValueError("not arithmetic")


def _bounded(value: Number) -> Number:
    """The value, if it can be told: more digits are no help, and infinity is no number."""
    told = isfinite(value) if isinstance(value, float) else abs(value) < 10**MOST_DIGITS
    if not told:
        raise ToolFailed(TOO_LARGE)
    return value


def _combined(op: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(op, ast.Pow) and _digits(left) * abs(right) > MOST_DIGITS:
        raise ToolFailed(TOO_LARGE)
    value = OPERATORS[type(op)](left, right)
    if isinstance(value, complex):
        raise ToolFailed("the result is not a real number")
    return value


def _digits(number: Number) -> int:
    return len(str(abs(int(number))))
