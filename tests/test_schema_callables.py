"""Callables of every kind: what is offered of them, and that they can be called with it."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import gc
import math
import typing
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Optional, TypedDict, Unpack

import pydantic
import pytest
import typing_extensions
from pydantic import BaseModel, Field

from azent.errors import SchemaError
from azent.messages import Context
from azent.schema.build import InvalidArguments, build
from azent.schema.introspect import function_to_json, introspect
from tests.naming import name_of

if typing.TYPE_CHECKING:
    from somewhere import Hidden  # type: ignore[import-not-found]  # it is not there at run time


def properties(function: Callable[..., Any], **names: Any) -> dict[str, Any]:
    found: dict[str, Any] = function_to_json(function, **names)["parameters"]["properties"]
    return found


def required(function: Callable[..., Any]) -> list[str]:
    found: list[str] = function_to_json(function)["parameters"]["required"]
    return found


def called(function: Callable[..., Any], tool_input: dict[str, Any], context: Any = None) -> Any:
    positional, keywords = build(introspect(function), tool_input, context)
    return function(*positional, **keywords)


def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: whom
    """
    return f"hello {name} " * times


class Office:
    """A place of work."""

    def __init__(self, city: str = "Oslo") -> None:
        self.city = city

    def __call__(self, guest: str) -> str:
        """Let somebody in.

        Args:
            guest: who comes
        """
        return f"{guest} in {self.city}"

    def open(self, hour: int) -> str:
        """Open it."""
        return f"{self.city} at {hour}"

    @classmethod
    def found(cls, city: str) -> str:
        """Found one."""
        return cls(city).city

    @staticmethod
    def count(rooms: int) -> int:
        """Count the rooms."""
        return rooms


class Silent:
    def __call__(self, x: int) -> int:
        return x


class Documented:
    """Doubles a number.

    Args:
        x: the number
    """

    def __call__(self, x: int) -> int:
        return 2 * x


def loud(function: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> str:
        return function(*args, **kwargs).upper()

    return inner


def plain(function: Callable[..., str]) -> Callable[..., str]:
    def inner(*args: Any, **kwargs: Any) -> str:
        return function(*args, **kwargs)

    return inner


def typed(function: Callable[..., str]) -> Callable[..., str]:
    def shortened(name: str) -> str:
        """Greet in short."""
        return function(name)

    return shortened


def doubled(x, y=2):  # type: ignore[no-untyped-def]  # the point of it
    return x * y


@pytest.mark.parametrize(
    ("function", "name", "description", "names", "tool_input", "gives"),
    [
        (greet, "greet", "Greet somebody.", ["name", "times"], {"name": "Kim"}, "hello Kim "),
        (Office().open, "open", "Open it.", ["hour"], {"hour": 8}, "Oslo at 8"),
        (Office.found, "found", "Found one.", ["city"], {"city": "Bergen"}, "Bergen"),
        (Office.count, "count", "Count the rooms.", ["rooms"], {"rooms": 3}, 3),
        (vars(Office)["count"], "count", "Count the rooms.", ["rooms"], {"rooms": 3}, 3),
        (Office("Moss"), "Office", "Let somebody in.", ["guest"], {"guest": "A"}, "A in Moss"),
        (Silent(), "Silent", "", ["x"], {"x": 1}, 1),
        (Documented(), "Documented", "Doubles a number.", ["x"], {"x": 1}, 2),
        (loud(greet), "greet", "Greet somebody.", ["name", "times"], {"name": "k"}, "HELLO K "),
        (plain(greet), "inner", "", [], {}, TypeError),
        (typed(greet), "shortened", "Greet in short.", ["name"], {"name": "k"}, "hello k "),
        (loud(loud(greet)), "greet", "Greet somebody.", ["name", "times"], {"name": ""}, "HELLO  "),
        (
            functools.lru_cache(greet),
            "greet",
            "Greet somebody.",
            ["name", "times"],
            {"name": "k"},
            "hello k ",
        ),
        (
            functools.partial(greet, "Kim"),
            "greet",
            "Greet somebody.",
            ["times"],
            {"times": 2},
            "hello Kim " * 2,
        ),
        (
            functools.partial(greet, times=2),
            "greet",
            "Greet somebody.",
            ["name"],
            {"name": "k"},
            "hello k " * 2,
        ),
        (
            functools.partial(functools.partial(greet, times=2), "k"),
            "greet",
            "Greet somebody.",
            [],
            {},
            "hello k " * 2,
        ),
        (
            functools.update_wrapper(functools.partial(greet, "Kim"), greet),
            "greet",
            "Greet somebody.",
            ["times"],
            {},
            "hello Kim ",
        ),
        (functools.partial(Office().open), "open", "Open it.", ["hour"], {"hour": 1}, "Oslo at 1"),
        (math.sqrt, "sqrt", "Return the square root of x.", ["x"], {"x": 4}, 2.0),
        (
            "abc".upper,
            "upper",
            "Return a copy of the string converted to uppercase.",
            [],
            {},
            "ABC",
        ),
    ],
    ids=name_of,
)
def test_offered_and_called(
    function: Callable[..., Any],
    name: str,
    description: str,
    names: list[str],
    tool_input: dict[str, Any],
    gives: Any,
) -> None:
    spec = function_to_json(function)
    assert (spec["name"], spec["description"]) == (name, description)
    assert list(spec["parameters"]["properties"]) == names
    if gives is TypeError:
        with pytest.raises(TypeError):
            called(function, tool_input)
    else:
        assert called(function, tool_input) == gives


def test_texts_of_parameters_come_from_what_is_wrapped() -> None:
    for function in (greet, loud(greet), functools.partial(greet, times=2)):
        assert properties(function)["name"]["description"] == "whom"
    assert properties(Office())["guest"]["description"] == "who comes"
    assert properties(Documented())["x"]["description"] == "the number"


def test_classes_are_offered_by_their_constructors() -> None:
    class Order(BaseModel):
        """An order.

        Attributes:
            item: what
        """

        item: str
        count: int = 1

    spec = function_to_json(Order)
    assert spec["description"] == "An order."
    assert spec["parameters"]["properties"]["item"]["description"] == "what"
    assert called(Order, {"item": "pen"}) == Order(item="pen")
    assert called(Office, {"city": "Moss"}).city == "Moss"


def test_a_lambda_needs_a_name() -> None:
    spec = function_to_json(lambda x, y=2: x * y, name="multiply", description="Multiply.")
    assert spec["name"] == "multiply"
    assert spec["parameters"]["required"] == ["x"]
    with pytest.raises(SchemaError, match="lambda"):
        function_to_json(lambda x: x)
    with pytest.raises(SchemaError, match="lambda"):
        function_to_json(functools.partial(lambda x: x, 1))


@pytest.mark.parametrize("name", ["", "two words", "a/b", "x\n", "1st", "a..b"])
def test_a_name_must_be_one(name: str) -> None:
    with pytest.raises(SchemaError, match="cannot be the name"):
        function_to_json(greet, name=name)


@pytest.mark.parametrize("name", ["greet", "get-weather", "files.read", "größe", "_x", "a1"])
def test_names_that_are_fine(name: str) -> None:
    assert function_to_json(greet, name=name)["name"] == name


def test_what_runs_how() -> None:
    async def wait(x: int) -> int:
        return x

    async def stream(x: int) -> AsyncIterator[int]:
        yield x

    def count(x: int) -> Iterator[int]:
        yield x

    class Waiter:
        async def __call__(self, x: int) -> int:
            return x

    kinds = {
        each: (introspect(each).is_async, introspect(each).is_generator)
        for each in (wait, stream, count, Waiter(), functools.partial(wait, 1), greet, Waiter)
    }
    assert list(kinds.values()) == [
        (True, False),
        (False, True),
        (False, True),
        (True, False),
        (True, False),
        (False, False),
        (False, False),
    ]
    assert asyncio.run(called(wait, {"x": 1})) == 1


# ---- signatures ----------------------------------------------------------------------------------


def test_kinds_of_parameters() -> None:
    def every(a: int, b: int = 2, /, c: int = 3, *rest: int, d: int, e: int = 5) -> Any:
        return a, b, c, rest, d, e

    assert list(properties(every)) == ["a", "b", "c", "d", "e"]
    assert required(every) == ["a", "d"]
    assert called(every, {"a": 1, "d": 4}) == (1, 2, 3, (), 4, 5)
    assert called(every, {"a": 1, "c": 9, "d": 4, "e": 0}) == (1, 2, 9, (), 4, 0)


def test_a_later_positional_without_an_earlier_one() -> None:
    def place(a: int = 1, b: int = 2, c: int = 3, /) -> Any:
        return a, b, c

    assert called(place, {"c": 9}) == (1, 2, 9)


def test_keywords_beyond_the_named() -> None:
    def hinted(a: int, **more: float) -> Any:
        return a, more

    def bare(a: int, **more) -> Any:  # type: ignore[no-untyped-def]  # the point of it
        return a, more

    assert function_to_json(hinted)["parameters"]["additionalProperties"] == {"type": "number"}
    assert called(hinted, {"a": 1, "b": 2}) == (1, {"b": 2.0})
    assert "additionalProperties" not in function_to_json(bare)["parameters"]
    with pytest.raises(InvalidArguments) as refusal:
        called(bare, {"a": 1, "b": 2})
    assert refusal.value.problem.kind == "unexpected_argument"


class Extras(TypedDict, total=False):
    size: typing.Required[Annotated[int, "how big"]]
    color: str


def test_keywords_unpacked_from_a_typed_dict() -> None:
    def standard(**extras: Unpack[Extras]) -> Any:
        return extras

    def backported(**extras: typing_extensions.Unpack[Extras]) -> Any:
        return extras

    for function in (standard, backported):
        assert properties(function)["size"] == {"type": "integer", "description": "how big"}
        assert required(function) == ["size"]
        assert called(function, {"size": 1}) == {"size": 1}
        assert called(function, {"size": 1, "color": "red"}) == {"size": 1, "color": "red"}


def test_defaults_as_fields() -> None:
    def book(
        nights: int = Field(description="how many", ge=1),
        price: Annotated[float, Field(0, ge=0, alias="Price")] = 5,
        beds: Annotated[int, Field(3)] = Field(4),
        extras: list[str] = Field(default_factory=list),  # noqa: B008  # never changed
        floor: Annotated[int, Field(2), "which"] = 1,
    ) -> Any:
        return nights, price, beds, extras, floor

    assert required(book) == ["nights"]
    assert properties(book)["nights"] == {
        "type": "integer",
        "minimum": 1,
        "description": "how many",
    }
    assert properties(book)["price"]["default"] == 5
    assert properties(book)["beds"]["default"] == 4
    assert properties(book)["floor"] == {"type": "integer", "default": 1, "description": "which"}
    assert called(book, {"nights": 2}) == (2, 5, 4, [], 1)
    assert called(book, {"nights": 2})[3] is not called(book, {"nights": 2})[3]


def test_the_text_of_annotated_wins() -> None:
    def look(x: Annotated[int, Field(description="field"), "text"], y: int) -> None:
        """Look.

        Args:
            x: docstring
            y: docstring
        """

    assert properties(look)["x"]["description"] == "text"
    assert properties(look)["y"]["description"] == "docstring"


def test_types_of_unhinted_parameters_come_from_their_defaults() -> None:
    def guess(a, b=1, c="", d=(), e=None, f=1.5, g=True, h=object):  # type: ignore[no-untyped-def]  # the point of it
        """Guess."""

    kinds = {name: schema.get("type") for name, schema in properties(guess).items()}
    assert kinds == {
        "a": None,
        "b": "integer",
        "c": "string",
        "d": "array",
        "e": None,
        "f": "number",
        "g": "boolean",
        "h": None,
    }


def test_defaults_are_the_same_from_run_to_run_and_short() -> None:
    def choose(
        names: set[str] = {"b", "a", "c"},  # noqa: B006  # never changed
        blob: str = "x" * 10_000,
        key: pydantic.SecretStr = pydantic.SecretStr("hush"),  # noqa: B008  # never changed
    ) -> None:
        """Choose."""

    found = properties(choose)
    assert found["names"]["default"] == ["a", "b", "c"]
    assert "default" not in found["blob"]
    assert "hush" not in str(found)


def test_what_a_partial_has_fixed_is_not_shown() -> None:
    def fetch(url: str, token: str) -> str:
        return url + token

    assert "hush" not in str(function_to_json(functools.partial(fetch, token="hush")))


# ---- context -------------------------------------------------------------------------------------


def test_context_is_filled_in_and_hidden() -> None:
    def every(
        a: int,
        one: Context[str],
        /,
        two: Optional[Context[str]] = None,  # noqa: UP045  # the point of it
        *,
        three: Context[str] | None = None,
        four: Annotated[Context[str], "hidden"],
    ) -> Any:
        return a, one, two, three, four

    assert list(properties(every)) == ["a"]
    given = Context("user")
    assert called(every, {"a": 1}, "user") == (1, given, given, given, given)
    assert called(every, {"a": 1}, given) == (1, given, given, given, given)
    with pytest.raises(InvalidArguments):
        called(every, {"a": 1, "two": {"value": "forged"}})


def test_a_class_of_the_same_name_is_an_ordinary_one() -> None:
    @dataclasses.dataclass
    class Context:
        page: int

    def turn(context: Context) -> int:
        return context.page

    assert list(properties(turn)) == ["context"]
    assert called(turn, {"context": {"page": 3}}) == 3


# ---- names in annotations ------------------------------------------------------------------------


class Item(BaseModel):
    """The module's own."""

    module: int


def test_local_types_are_found_and_come_before_those_of_the_module() -> None:
    @dataclasses.dataclass
    class Part:
        size: int

    @dataclasses.dataclass
    class Item:
        parts: list[Part]

    def pack(item: Item, more: list[Item] | None = None) -> Any:
        return item

    assert called(pack, {"item": {"parts": [{"size": 1}]}}) == Item([Part(1)])


def test_local_typed_dicts_may_name_each_other() -> None:
    class Wheel(TypedDict):
        size: Annotated[int, "in inches"]

    class Car(TypedDict):
        wheels: list[Wheel]
        spare: Car | None  # type: ignore[misc]  # mypy wants it at the top

    def drive(car: Car) -> Any:
        return car

    car = {"wheels": [{"size": 16}], "spare": {"wheels": [], "spare": None}}
    assert called(drive, {"car": car}) == car
    with pytest.raises(InvalidArguments, match="'spare' is missing"):
        called(drive, {"car": {"wheels": []}})


class Comparing:
    """A default that cannot be compared, as an array cannot."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]  # as arrays have it


def test_a_default_is_never_compared() -> None:
    def take(x=Comparing()):  # type: ignore[no-untyped-def]  # noqa: B008  # the point of it
        return type(x).__name__

    assert properties(take) == {"x": {}}
    assert called(take, {}) == "Comparing"


def test_keywords_unpacked_from_nothing_that_has_keys() -> None:
    def take(**more: Unpack[Missing]) -> None:  # type: ignore[name-defined,misc]  # noqa: F821
        """Take it."""

    with pytest.raises(SchemaError, match="Missing"):
        function_to_json(take)


def test_a_closure_is_looked_into() -> None:
    def make() -> Callable[..., Any]:
        @dataclasses.dataclass
        class Inner:
            x: int

        def use(inner: Inner) -> Any:
            return isinstance(inner, Inner)

        return use

    assert called(make(), {"inner": {"x": 1}}) is True


def test_a_name_that_is_not_there_is_told_with_its_parameter() -> None:
    def use(hidden: Hidden) -> None:
        """Use."""

    def give(x: int) -> Hidden:
        """Give."""

    with pytest.raises(SchemaError, match="'Hidden' of parameter 'hidden'") as refusal:
        function_to_json(use)
    assert "TYPE_CHECKING" in refusal.value.hint
    assert function_to_json(give)["returns"] == {}


# ---- what is refused -----------------------------------------------------------------------------


def starred(*values: int) -> int:
    return sum(values)


@pytest.mark.parametrize(
    "thing",
    [Office.open, str.upper, max, int, starred, vars(Office)["found"], 5, None, "greet", object()],
    ids=name_of,
)
def test_refused_with_a_way_out(thing: Any) -> None:
    with pytest.raises(SchemaError) as refusal:
        function_to_json(thing)
    assert refusal.value.hint


# ---- the cache -----------------------------------------------------------------------------------


def test_a_copy_is_given_out_and_the_shared_one_stays() -> None:
    function_to_json(greet)["parameters"]["properties"].clear()
    assert list(properties(greet)) == ["name", "times"]
    assert introspect(greet).spec is introspect(greet).spec
    assert introspect(greet, name="other").name == "other"


def test_two_objects_of_a_class_share_a_schema_but_are_called_apart() -> None:
    one, other = Office("A"), Office("B")
    assert introspect(one.open).spec is introspect(other.open).spec
    assert (called(one.open, {"hour": 1}), called(other.open, {"hour": 1})) == ("A at 1", "B at 1")


def test_a_function_that_is_gone_is_forgotten() -> None:
    def used() -> weakref.ref[Any]:
        def short_lived(x: Annotated[int, Field(ge=0)]) -> int:
            return x

        assert called(short_lived, {"x": 1}) == 1
        return weakref.ref(short_lived)

    watch = used()
    gc.collect()
    assert watch() is None
