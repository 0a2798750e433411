"""What the model is told when no objects can be built of its arguments."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from azent.messages import Problem
from azent.schema.build import InvalidArguments, build
from azent.schema.introspect import introspect
from tests.naming import name_of


class Corner(enum.Enum):
    ORIGIN = (0, 0)
    FAR = (9, 9)


class Address(BaseModel):
    zip: str = Field(pattern="^[0-9]{4}$")


class Person(BaseModel):
    name: str
    home: Address | None = None
    others: list[Address] = []


@dataclasses.dataclass
class Span:
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise KeyError("last before first")


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]


def even(number: int) -> int:
    if number % 2:
        raise ValueError("should be even")
    return number


def fails(number: int) -> int:
    raise RuntimeError("out of order")


def see(
    person: Person | None = None,
    day: datetime.date | None = None,
    moment: datetime.datetime | None = None,
    hour: datetime.time | None = None,
    length: datetime.timedelta | None = None,
    key: uuid.UUID | None = None,
    corner: Corner | None = None,
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None,
    span: Span | None = None,
    number: Annotated[int, AfterValidator(even)] = 2,
    broken: Annotated[int, AfterValidator(fails)] = 2,
    names: list[str] = [],  # noqa: B006  # never changed
) -> None:
    """Visit somebody."""


class Bus(BaseModel):
    kind: Literal["bus"]
    seats: Annotated[int, AfterValidator(even)]


class Car(BaseModel):
    kind: Literal["car"]
    seats: Annotated[int, AfterValidator(even)]


class Kitten(BaseModel):
    name: Annotated[str, Field(max_length=3)]
    days: Annotated[int, AfterValidator(even)]


class Puppy(BaseModel):
    name: Annotated[str, AfterValidator(str.upper)]
    weeks: Annotated[int, AfterValidator(even)]


def ride(
    by: Bus | Car | None = None,
    each: list[Bus | Car] = [],  # noqa: B006  # never changed
    pet: Kitten | Puppy | None = None,
) -> None:
    """Ride somewhere."""


def need(x: int) -> int:
    """Need it."""
    return x


@pytest.mark.parametrize(
    ("function", "tool_input", "problem"),
    [
        (need, {}, Problem("missing_argument", "need: 'x' is missing at $")),
        (
            need,
            {"x": 1, "y": 2},
            Problem("unexpected_argument", "need: there is no argument 'y' (it takes 'x') at $"),
        ),
        (
            need,
            {"x": "1"},
            Problem("invalid_argument", 'need: "1" should be a valid integer at $.x'),
        ),
        (
            see,
            {"person": {"home": {"zip": "0150"}}},
            Problem("missing_argument", "see: 'name' is missing at $.person"),
        ),
        (
            see,
            {"person": {"name": "Kim", "home": {}}},
            Problem("missing_argument", "see: 'zip' is missing at $.person.home"),
        ),
        (
            see,
            {"person": {"name": "Kim", "others": [{"zip": "0150"}, {"zip": "x"}]}},
            Problem(
                "invalid_argument",
                "see: \"x\" should match pattern '^[0-9]{4}$' at $.person.others[1].zip",
            ),
        ),
        (
            see,
            {"day": "yesterday"},
            Problem("invalid_argument", 'see: "yesterday" should be a date as YYYY-MM-DD at $.day'),
        ),
        (
            see,
            {"moment": "2025-01-31"},
            Problem(
                "invalid_argument",
                'see: "2025-01-31" should be a date and a time as YYYY-MM-DDThh:mm:ss at $.moment',
            ),
        ),
        (
            see,
            {"hour": 8},
            Problem("invalid_argument", "see: 8 should be a time as hh:mm:ss at $.hour"),
        ),
        (
            see,
            {"length": 300},
            Problem(
                "invalid_argument",
                "see: 300 should be an ISO 8601 duration such as PT1H30M at $.length",
            ),
        ),
        (see, {"key": "x"}, Problem("invalid_argument", 'see: "x" should be a UUID at $.key')),
        (
            see,
            {"corner": "NEAR"},
            Problem(
                "invalid_argument", "see: \"NEAR\" should be one of 'ORIGIN', 'FAR' at $.corner"
            ),
        ),
        (
            see,
            {"pet": {"kind": "cat"}},
            Problem("missing_argument", "see: 'lives' is missing at $.pet"),
        ),
        (
            see,
            {"span": {"first": 2, "last": 1}},
            Problem("invalid_argument", "see: KeyError: 'last before first' at $.span"),
        ),
        (see, {"number": 3}, Problem("invalid_argument", "see: 3 should be even at $.number")),
        (
            see,
            {"broken": 3},
            Problem("invalid_argument", "see: RuntimeError: out of order at $.broken"),
        ),
        (
            ride,
            {"by": {"kind": "car", "seats": 3}},
            Problem("invalid_argument", "ride: 3 should be even at $.by.seats"),
        ),
        (
            ride,
            {"each": [{"kind": "bus", "seats": 2}, {"kind": "car", "seats": 3}]},
            Problem("invalid_argument", "ride: 3 should be even at $.each[1].seats"),
        ),
        (
            ride,
            {"each": [{"kind": "car"}]},
            Problem("missing_argument", "ride: 'seats' is missing at $.each[0]"),
        ),
        (
            ride,
            {"pet": {"name": "Rex", "weeks": 3}},
            Problem("invalid_argument", "ride: 3 should be even at $.pet.weeks"),
        ),
        (
            ride,
            {"pet": "Rex"},
            Problem("invalid_argument", 'ride: "Rex" should be an object at $.pet'),
        ),
        (
            see,
            {"names": ["a", 5]},
            Problem("invalid_argument", "see: 5 should be a valid string at $.names[1]"),
        ),
    ],
    ids=name_of,
)
def test_told(function: Callable[..., Any], tool_input: dict[str, Any], problem: Problem) -> None:
    with pytest.raises(InvalidArguments) as refusal:
        build(introspect(function), tool_input)
    assert refusal.value.problem == problem
    assert str(refusal.value) == problem.message


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def take(x: list[Any]) -> None:
    """Take it."""


@pytest.mark.parametrize("value", [nested(100_000), ["\ud800"]], ids=["deep", "surrogate"])
def test_what_json_cannot_carry_is_a_problem_too(value: list[Any]) -> None:
    with pytest.raises(InvalidArguments) as refusal:
        build(introspect(take), {"x": value})
    assert refusal.value.problem.kind == "invalid_argument"
    assert len(refusal.value.problem.message) < 300
