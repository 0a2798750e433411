"""What the schema of a ten-parameter function costs, pydantic loaded: CPU time, in microseconds.

    python benchmarks/schema.py [ROUNDS]

"First" is a function that was not seen before; the exit code says whether the goal for it was met.
The fastest round counts, because a busy machine makes everything slower and nothing faster.
"""

from __future__ import annotations

import datetime
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from azent.schema.build import build
from azent.schema.introspect import function_to_json, introspect
from azent.schema.render import render

GOAL = 300.0  # microseconds, for the schema of a function of plain types
CALL = {"city": "Oslo", "days": 3, "unit": "c", "tags": ["sea"], "latitude": 59.9}


@dataclass
class Place:
    """Where it is."""

    city: str
    country: str = "NO"


class Window(BaseModel):
    """From when to when."""

    start: datetime.date
    days: int = Field(1, ge=1, le=14)


def plain(
    city: str,
    days: int = 3,
    unit: Literal["c", "f"] = "c",
    tags: list[str] | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    detailed: bool = False,
    counts: dict[str, int] | None = None,
    note: Annotated[str, "A word on it."] = "",
    limit: int = 10,
) -> str:
    """Tell what the weather will be.

    The forecast is for the centre of the city.

    Args:
        city: The name of the city.
        days: How many days ahead.
        unit: Celsius or Fahrenheit.
        tags: What to look at,
            in words.
        latitude: Where it is, to the north.
        longitude: Where it is, to the east.
        detailed: Hour by hour.
        counts: How often, by name.
        limit: At most so many lines.

    Returns:
        The forecast.
    """
    return city


def rich(
    place: Place,
    window: Window,
    days: Annotated[int, Field(ge=1, le=14)] = 3,
    unit: Literal["c", "f"] = "c",
    others: list[Place] | None = None,
    latitude: Annotated[float, Field(ge=-90, le=90)] = 0.0,
    longitude: Annotated[float, Field(ge=-180, le=180)] = 0.0,
    detailed: bool = False,
    note: str = "",
    limit: int = 10,
) -> Window:
    """Tell what the weather will be."""
    return window


def evaluated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function as if its annotations had not been postponed."""
    made = fresh(function)
    scope = vars(sys.modules[__name__])
    made.__annotations__ = {
        name: eval(each, scope) for name, each in function.__annotations__.items()
    }
    return made


def fresh(function: Callable[..., Any]) -> types.FunctionType:
    """A function that was not seen before, and is otherwise the same."""
    assert isinstance(function, types.FunctionType)
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__)
    made.__defaults__, made.__doc__ = function.__defaults__, function.__doc__
    made.__annotations__, made.__qualname__ = function.__annotations__, function.__qualname__
    return made


def main() -> int:
    """Measure, print a table, and return 1 if the goal was missed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = {
        "first, plain types": evaluated(plain),
        "first, plain types, annotations postponed": plain,
        "first, models and constraints": evaluated(rich),
    }
    times = {name: fastest_first(function, rounds) for name, function in first.items()}
    known = introspect(plain)
    specs = [known.spec]
    times["cached, introspect"] = fastest(lambda: introspect(plain), rounds)
    times["cached, function_to_json"] = fastest(lambda: function_to_json(plain), rounds)
    times["the objects of a call"] = fastest(lambda: build(known, CALL), rounds)
    times["rendered as a signature"] = fastest(lambda: render(specs, "python"), rounds)
    times["for comparison: ten TypeAdapters"] = fastest(ten_adapters, rounds)
    for name, microseconds in times.items():
        print(f"{microseconds:8.1f}  {name}")
    return 1 if times["first, plain types"] > GOAL else 0


def fastest_first(function: Callable[..., Any], rounds: int) -> float:
    unseen = iter([fresh(function) for _ in range(rounds + 1)])
    return fastest(lambda: introspect(next(unseen)), rounds)


def fastest(action: Callable[[], Any], rounds: int) -> float:
    """CPU time of the fastest round in microseconds, one round before it not counted."""
    action()
    return min(timed(action) for _ in range(rounds))


def timed(action: Callable[[], Any]) -> float:
    before = time.process_time_ns()
    action()
    return (time.process_time_ns() - before) / 1000


def ten_adapters() -> list[Any]:
    """What asking pydantic for each parameter alone would cost."""
    kinds = [str, int, Literal["c", "f"], list[str] | None, float | None] * 2
    return [TypeAdapter(kind).json_schema() for kind in kinds]


if __name__ == "__main__":
    sys.exit(main())
