"""Types: the schema that each is offered by, and the way back from JSON to a value of it."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import typing
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Required, TypedDict

import jsonschema
import pytest
import typing_extensions
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model
from pydantic_core import to_json

from azent.errors import SchemaError
from azent.schema.annotations import buildable
from azent.schema.build import build
from azent.schema.introspect import function_to_json, introspect
from azent.schema.references import inlined
from azent.schema.types import plain_schema, pydantic_schemas

Json = dict[str, Any]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Corner(enum.Enum):
    """Values that JSON does not have."""

    ORIGIN = (0, 0)
    FAR = (9, 9)


class Zip(str):
    """A class of strings."""


class Pair(NamedTuple):
    first: int
    second: Annotated[str, "what follows"] = "x"


class Place(TypedDict, total=False):
    """Where it is."""

    city: Required[Annotated[str, "its name"]]
    inside: NotRequired[Place]


class Modern(typing_extensions.TypedDict):
    city: Annotated[str, "its name"]


@dataclasses.dataclass
class Point:
    """A point on the map.

    Args:
        x: to the east
    """

    x: int
    y: Annotated[float, "to the north"] = 0.0


@dataclasses.dataclass
class Tree:
    value: int
    children: list[Tree] = dataclasses.field(default_factory=list)


class Person(BaseModel):
    """Somebody.

    Attributes:
        name: how they are called
    """

    name: str
    age: Annotated[int, Field(ge=0, description="in years")] = 0
    home: Point | None = None


UserId = NewType("UserId", int)
Bound = typing.TypeVar("Bound", bound=int)
Either = typing.TypeVar("Either", int, str)


def taking(hint: Any) -> Callable[..., Any]:
    """A function of one parameter with this annotation, which it gives back."""

    def take(x: Any) -> Any:
        return x

    take.__annotations__ = {"x": hint}
    return take


def inside(hint: Any) -> Any:
    """A model with a field of this type."""
    return create_model("Holder", inner=(list[hint], ...))


def schema_of(hint: Any) -> Json:
    found: Json = function_to_json(taking(hint))["parameters"]["properties"]["x"]
    return found


def built(hint: Any, value: Any) -> Any:
    _, keywords = build(introspect(taking(hint)), {"x": value})
    return keywords["x"]


INTEGER, STRING, NUMBER = {"type": "integer"}, {"type": "string"}, {"type": "number"}
POINT = {
    "type": "object",
    "description": "A point on the map.",
    "properties": {
        "x": {**INTEGER, "description": "to the east"},
        "y": {**NUMBER, "default": 0.0, "description": "to the north"},
    },
    "required": ["x"],
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, INTEGER),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (list, {"type": "array", "items": {}}),
        (dict, {"type": "object", "additionalProperties": True}),
        (typing.List, {"type": "array", "items": {}}),  # noqa: UP006
        (typing.Tuple, {"type": "array", "items": {}}),  # noqa: UP006
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
        (typing.Set, {"type": "array", "items": {}, "uniqueItems": True}),  # noqa: UP006
        (Sequence, {"type": "array", "items": {}}),
        (Iterable, {"type": "array", "items": {}}),
        (typing.Dict, {"type": "object", "additionalProperties": True}),  # noqa: UP006
        (Mapping, {"type": "object", "additionalProperties": True}),
        (list[int], {"type": "array", "items": INTEGER}),
        (typing.List[int], {"type": "array", "items": INTEGER}),  # noqa: UP006
        (Sequence[list[str]], {"type": "array", "items": {"type": "array", "items": STRING}}),
        (Iterable[int], {"type": "array", "items": INTEGER}),
        (Collection[int], {"type": "array", "items": INTEGER}),
        (deque[int], {"type": "array", "items": INTEGER}),
        (set[str], {"type": "array", "items": STRING, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2},
        ),
        (dict[str, list[int]], {"type": "object", "additionalProperties": schema_of(list[int])}),
        (dict[int, str], {"type": "object", "additionalProperties": STRING}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
        (int | None, {"anyOf": [INTEGER, {"type": "null"}]}),
        (typing.Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}),  # noqa: UP045
        (int | str | None, {"anyOf": [INTEGER, STRING, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Literal[Color.RED], {"enum": ["red"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Corner, {"enum": ["ORIGIN", "FAR"]}),
        (list[Corner], {"type": "array", "items": {"enum": ["ORIGIN", "FAR"]}}),
        (UserId, INTEGER),
        (Bound, INTEGER),
        (Either, {"anyOf": [INTEGER, STRING]}),
        (Zip, STRING),
        (typing.LiteralString, STRING),
        (datetime.date, {**STRING, "format": "date"}),
        (datetime.datetime, {**STRING, "format": "date-time"}),
        (datetime.time, {**STRING, "format": "time"}),
        (datetime.timedelta, {**STRING, "format": "duration"}),
        (uuid.UUID, {**STRING, "format": "uuid"}),
        (pathlib.Path, {**STRING, "format": "path"}),
        (bytes, {**STRING, "format": "binary"}),
        (Annotated[int, Field(ge=1, le=5)], {**INTEGER, "minimum": 1, "maximum": 5}),
        (Annotated[str, Field(pattern="^a+$")], {**STRING, "pattern": "^a+$"}),
        (Annotated[int, "how many"], {**INTEGER, "description": "how many"}),
        (Annotated[int, Field(description="how many")], {**INTEGER, "description": "how many"}),
        (Annotated[int, typing_extensions.Doc("how many")], {**INTEGER, "description": "how many"}),
        (
            list[Annotated[str, "a name"]],
            {"type": "array", "items": {**STRING, "description": "a name"}},
        ),
        (Point, POINT),
        (list[Point], {"type": "array", "items": POINT}),
        (
            Annotated[Point, "where to go"],
            {**POINT, "description": "where to go"},
        ),
        (
            Modern,
            {
                "type": "object",
                "properties": {"city": {**STRING, "description": "its name"}},
                "required": ["city"],
            },
        ),
        (
            Pair,
            {
                "type": "array",
                "prefixItems": [
                    {**INTEGER, "description": "first"},
                    {**STRING, "default": "x", "description": "second: what follows"},
                ],
                "minItems": 1,
                "maxItems": 2,
            },
        ),
        (
            Person,
            {
                "type": "object",
                "description": "Somebody.",
                "properties": {
                    "name": {**STRING, "description": "how they are called"},
                    "age": {**INTEGER, "default": 0, "minimum": 0, "description": "in years"},
                    "home": {"anyOf": [POINT, {"type": "null"}], "default": None},
                },
                "required": ["name"],
            },
        ),
    ],
    ids=str,
)
def test_schema(hint: Any, schema: Json) -> None:
    assert schema_of(hint) == schema


def test_recursion_keeps_its_references() -> None:
    parameters = function_to_json(taking(dict[str, Tree]))["parameters"]
    tree = parameters["$defs"]["Tree"]
    assert parameters["properties"]["x"]["additionalProperties"] == {"$ref": "#/$defs/Tree"}
    assert tree["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def test_a_recursive_typed_dict() -> None:
    parameters = function_to_json(taking(Place))["parameters"]
    assert parameters["$defs"]["Place"] == {
        "type": "object",
        "description": "Where it is.",
        "properties": {
            "city": {**STRING, "description": "its name"},
            "inside": {"$ref": "#/$defs/Place"},
        },
        "required": ["city"],
    }
    assert built(Place, {"city": "Oslo", "inside": {"city": "Norway"}})["inside"] == {
        "city": "Norway"
    }


def test_returns_never_refer() -> None:
    def grow() -> Tree:
        """Grow.

        Returns:
            The tree.
        """
        return Tree(1)

    returns = function_to_json(grow)["returns"]
    assert returns["description"] == "The tree."
    assert "$ref" not in json.dumps(returns)


@pytest.mark.parametrize(
    ("hint", "returns"),
    [
        (int, INTEGER),
        (typing.Iterator[int], {"type": "array", "items": INTEGER}),
        (typing.AsyncIterator[str], {"type": "array", "items": STRING}),
        (typing.Generator[int, None, None], {"type": "array", "items": INTEGER}),
        (typing.Awaitable[int], INTEGER),
        (typing.Coroutine[Any, Any, str], STRING),
        (Annotated[int, "the sum"], {**INTEGER, "description": "the sum"}),
        (Point, POINT),
        (Callable[[], int], {}),
        ("Unknown", {}),
        (None, {"type": "null"}),
    ],
    ids=str,
)
def test_what_is_returned_never_fails(hint: Any, returns: Json) -> None:
    def give() -> Any:
        """Give."""

    give.__annotations__ = {"return": hint}
    found = function_to_json(give)["returns"]
    assert {key: each for key, each in found.items() if key != "required"} == {
        key: each for key, each in returns.items() if key != "required"
    }


@pytest.mark.parametrize(
    "hint",
    [
        Callable[[int], int],
        type,
        type[int],
        json.JSONDecoder,
        list[json.JSONDecoder],
        range,
        Literal[b"bytes"],
        inside(Corner),
        inside(Literal[Color.RED]),
        inside(type[int]),
        inside(Callable[[], int]),
        [int],
        {"a": int},
        "Nowhere",
        "list[Nowhere]",
        "1 +",
    ],
    ids=str,
)
def test_a_type_that_cannot_be_offered_is_refused_with_its_place(hint: Any) -> None:
    with pytest.raises(SchemaError, match=r"take.*'x'") as refusal:
        function_to_json(taking(hint))
    assert refusal.value.hint


# ---- there and back ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        (float, 3, 3.0),
        (datetime.date, "2025-01-31", datetime.date(2025, 1, 31)),
        (datetime.timedelta, "PT1H30M", datetime.timedelta(hours=1, minutes=30)),
        (decimal.Decimal, 1.1, decimal.Decimal("1.1")),
        (Corner, "FAR", Corner.FAR),
        (list[Corner], ["FAR"], [Corner.FAR]),
        (Literal[Color.RED], "red", Color.RED),
        (Zip, "0150", Zip("0150")),
        (Pair, [1], Pair(1)),
        (Pair, {"first": 1, "second": "b"}, Pair(1, "b")),
        (Modern, {"city": "Oslo"}, {"city": "Oslo"}),
        (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(1, [Tree(2)])),
        (dict[int, Color], {"1": "red"}, {1: Color.RED}),
        (Person, {"name": "Kim", "home": {"x": 1}}, Person(name="Kim", home=Point(1))),
        (int | str, "1", "1"),
        (int | str, 1, 1),
        (Collection[int], [1, 2], [1, 2]),
        (deque[int], [1], deque([1])),
        (bytearray, "a", b"a"),
    ],
    ids=str,
)
def test_built(hint: Any, given: Any, value: Any) -> None:
    found = built(hint, given)
    assert found == value
    assert type(found) is type(value)


@dataclasses.dataclass
class Typed:
    """A random type with a strategy for its values."""

    hint: Any
    values: st.SearchStrategy[Any]
    is_hashable: bool = True


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
NAIVE_OR_UTC = st.sampled_from([None, datetime.UTC])
POINTS = st.builds(Point, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
TREES = st.builds(Tree, st.integers())
LEAVES = st.sampled_from(
    [
        Typed(int, st.integers()),
        Typed(str, TEXT),
        Typed(bool, st.booleans()),
        Typed(float, st.floats(allow_nan=False, allow_infinity=False)),
        Typed(None, st.none()),
        Typed(bytes, TEXT.map(str.encode)),
        Typed(datetime.date, st.dates()),
        Typed(datetime.datetime, st.datetimes(timezones=NAIVE_OR_UTC)),
        Typed(datetime.time, st.times()),
        Typed(datetime.timedelta, st.timedeltas(datetime.timedelta(0), datetime.timedelta(999))),
        Typed(uuid.UUID, st.uuids()),
        Typed(pathlib.Path, st.from_regex(r"(/[a-z]{1,3}){1,3}", fullmatch=True).map(pathlib.Path)),
        Typed(decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
        Typed(Color, st.sampled_from(Color)),
        Typed(Level, st.sampled_from(Level)),
        Typed(Literal["a", "b"], st.sampled_from("ab")),
        Typed(Literal[1, 2], st.sampled_from([1, 2])),
        Typed(UserId, st.integers()),
        Typed(Annotated[int, Field(ge=0)], st.integers(0)),
        Typed(Annotated[int, Field(gt=0, lt=9, description="a few")], st.integers(1, 8)),
        Typed(Annotated[float, Field(ge=-1, le=1.5), "a part"], st.floats(-1, 1.5)),
        Typed(Annotated[int, Field(multiple_of=3)], st.integers().map(lambda n: 3 * n)),
        Typed(Annotated[int, Field(examples=[1])], st.integers()),
        Typed(Annotated[str, Field(min_length=1, max_length=9)], TEXT.filter(bool)),
        Typed(Annotated[Color, Field(description="which")], st.sampled_from(Color)),
        Typed(
            Annotated[list[int], Field(max_length=2)], st.lists(st.integers(), max_size=2), False
        ),
        Typed(Annotated[set[int], Field(min_length=0)], st.sets(st.integers()), False),
        Typed(Annotated[tuple[int, ...], Field(max_length=0)], st.just(())),
        Typed(Annotated[str, "a text"], TEXT),
        Typed(Pair, st.builds(Pair, st.integers(), TEXT)),
        Typed(Point, POINTS, False),
        Typed(Place, st.builds(lambda city: {"city": city}, TEXT), False),
        Typed(Modern, st.builds(lambda city: {"city": city}, TEXT), False),
        Typed(Person, st.builds(Person, name=TEXT, age=st.integers(0), home=POINTS), False),
        Typed(
            Tree, st.builds(Tree, st.integers(), st.lists(st.builds(Tree, st.integers()))), False
        ),
    ]
)


def larger(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Types that hold others."""
    hashable = inner.filter(lambda each: each.is_hashable)
    return st.one_of(
        inner.map(lambda t: Typed(_of(list, t), st.lists(t.values, max_size=3), False)),
        inner.map(lambda t: Typed(_of(dict, t), st.dictionaries(TEXT, t.values), False)),
        inner.map(lambda t: Typed(_of(deque, t), t.values.map(lambda v: deque([v])), False)),
        inner.map(lambda t: Typed(_of(typing.Optional, t), st.none() | t.values, t.is_hashable)),
        inner.map(lambda t: Typed(_of(tuple, t), st.lists(t.values).map(tuple), t.is_hashable)),
        hashable.map(lambda t: Typed(_of(set, t), st.sets(t.values, max_size=3), False)),
        hashable.map(lambda t: Typed(_of(frozenset, t), st.frozensets(t.values, max_size=3))),
        st.tuples(hashable, hashable).map(
            lambda two: Typed(_pair(*two), st.tuples(two[0].values, two[1].values))
        ),
    )


def _of(kind: Any, inner: Typed) -> Any:
    arguments = {dict: (str, inner.hint), tuple: (inner.hint, ...)}
    return kind[arguments.get(kind, inner.hint)]


def _pair(first: Typed, second: Typed) -> Any:
    return tuple[first.hint, second.hint]  # type: ignore[name-defined]  # types made at run time


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_value_of_any_type_survives_the_way_through_json(data: st.DataObject) -> None:
    typed = data.draw(st.recursive(LEAVES, larger, max_leaves=4))
    value = data.draw(typed.values)
    written = json.loads(to_json(value, fallback=list))
    parameters = function_to_json(taking(typed.hint))["parameters"]
    jsonschema.Draft202012Validator(parameters).validate({"x": written})
    back = built(typed.hint, written)
    assert back == value
    assert type(back) is type(value)


@settings(max_examples=60, deadline=None)
@given(st.recursive(LEAVES, larger, max_leaves=4))
def test_plain_types_have_the_schemas_that_pydantic_gives_them(typed: Typed) -> None:
    plain = plain_schema(typed.hint)
    if plain is not None:
        asked = pydantic_schemas({"x": TypeAdapter(buildable(typed.hint))})
        assert inlined(plain) == inlined({**asked.pop("properties")["x"], **asked})
