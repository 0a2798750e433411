"""What a function returned, as text: for every kind of value, however it misbehaves."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import io
import itertools
import json
import pathlib
import re
import subprocess
import tracemalloc
import types
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.values.results import text_of


class Color(enum.Enum):
    RED = "red"
    ORIGIN = (0, 0)


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    x: int
    y: str


@dataclasses.dataclass
class Trip:
    start: datetime.date
    back: Any = None


class Account(pydantic.BaseModel):
    name: str
    opened: datetime.date = datetime.date(2025, 1, 31)
    token: pydantic.SecretStr = pydantic.SecretStr("hush")
    rate: float = 0.5


class Plain:
    def __init__(self) -> None:
        self.shown = 1
        self._hidden = 2


class Empty:
    pass


class NoRepr:
    def __repr__(self) -> str:
        raise ValueError("no")


class NoAttributes:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class NoClass:
    @property  # type: ignore[misc]  # as hostile as an object can be
    def __class__(self) -> type:
        raise RuntimeError("no class")


class NoItems(dict[str, int]):
    def items(self) -> Any:
        raise KeyError("items")


class Property(pydantic.BaseModel):
    @pydantic.computed_field  # type: ignore[prop-decorator]  # as its documentation has it
    @property
    def broken(self) -> int:
        raise ZeroDivisionError


class NoText(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


class Array:
    """An array in the manner of numpy."""

    dtype, shape = "float64", (2, 2)

    def __iter__(self) -> Iterator[Any]:
        return iter([[1.0, 2.0], [3.0, 4.0]])


class Scalar:
    dtype, shape = "float64", ()

    def item(self) -> float:
        return 2.5


def failing() -> Iterator[int]:
    yield 1
    raise ValueError("boom")


async def waits() -> None:
    pass


async def streams() -> Any:
    yield 1


def circle() -> list[Any]:
    items: list[Any] = [1]
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ("", ""),
        ("a\ud800b", "a\N{REPLACEMENT CHARACTER}b"),
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (2.5, "2.5"),
        (float("nan"), "nan"),
        ([float("inf")], '["inf"]'),
        (10**5000, "(an integer of 16,610 bits)"),
        (decimal.Decimal("1.50"), "1.50"),
        ([decimal.Decimal("1E+1000000")], "[1E+1000000]"),
        (fractions.Fraction(1, 3), "1/3"),
        (datetime.date(2025, 1, 31), "2025-01-31"),
        ([datetime.datetime(2025, 1, 31, tzinfo=datetime.UTC)], '["2025-01-31T00:00:00+00:00"]'),
        (datetime.timedelta(hours=1), "1:00:00"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        (Color.RED, "red"),
        ([Color.RED, Level.LOW], '["red", 1]'),
        (Color.ORIGIN, "Color.ORIGIN"),
        ({"ü": ["é"]}, '{"ü": ["é"]}'),
        (
            {1: "a", None: 2, (1, 2): 3, Color.RED: 4, 2.5: 5},
            '{"1": "a", "null": 2, "[1, 2]": 3, "red": 4, "2.5": 5}',
        ),
        ({"b", "a"}, '["a", "b"]'),
        ({10, 9}, "[9, 10]"),
        ({1, "a"}, '["a", 1]'),
        ((1, "a"), '[1, "a"]'),
        (range(3), "[0, 1, 2]"),
        (collections.deque([1]), "[1]"),
        ({"a": 1}.values(), "[1]"),
        ({"a": 1}.items(), '[["a", 1]]'),
        (types.MappingProxyType({"a": 1}), '{"a": 1}'),
        (Pair(1, "a"), '{"x": 1, "y": "a"}'),
        (Trip(datetime.date(2025, 1, 31)), '{"start": "2025-01-31", "back": null}'),
        (
            [Account(name="Kim")],
            '[{"name": "Kim", "opened": "2025-01-31", "token": "**********", "rate": 0.5}]',
        ),
        (Plain(), '{"shown": 1}'),
        (Array(), "[[1.0, 2.0], [3.0, 4.0]]"),
        (Scalar(), "2.5"),
        ([Scalar()], "[2.5]"),
        ((n for n in range(3)), "[0, 1, 2]"),
        (map(str, [1, 2]), '["1", "2"]'),
        (failing(), '[1, "(it stopped here: ValueError: boom)"]'),
        (b"abc", "(bytes, 3 bytes)"),
        ([bytearray(2000)], '["(bytearray, 2,000 bytes)"]'),
        (memoryview(b"abcd"), "(memoryview, 4 bytes)"),
        (ValueError("bad"), "ValueError: bad"),
        (NoText(), "NoText"),
        ([KeyError()], '["KeyError"]'),
        (int, "(class int)"),
        (len, "(builtin_function_or_method len)"),
        (json, "(module json)"),
        (io.StringIO("abc"), "<_io.StringIO object>"),
        (Empty(), f"<{__name__}.Empty object>"),
        (circle(), '[1, "(this contains itself)"]'),
        (NoRepr(), "(NoRepr: cannot be shown, ValueError)"),
        ([NoRepr(), 1], '["(NoRepr: cannot be shown, ValueError)", 1]'),
        (NoAttributes(), "(NoAttributes: cannot be shown, RuntimeError)"),
        (NoClass(), "(NoClass: cannot be shown, RuntimeError)"),
        (NoItems(a=1), "(NoItems: cannot be shown, KeyError)"),
        (Property(), "(Property: cannot be shown, ZeroDivisionError)"),
        (streams(), "(an async generator that was not consumed)"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_text(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_a_coroutine_is_closed_without_a_warning() -> None:
    assert text_of(waits()) == "(a coroutine that was not awaited)"


def test_an_object_that_leads_back_to_itself() -> None:
    trip = Trip(datetime.date(2025, 1, 31))
    trip.back = trip
    assert text_of(trip) == '{"start": "2025-01-31", "back": "(this contains itself)"}'
    shared = [1]
    assert text_of([shared, shared]) == "[[1], [1]]"


def test_a_field_that_cannot_be_read_ends_the_object() -> None:
    class Broken(collections.UserDict[str, int]):
        def __getitem__(self, key: str) -> int:
            raise OSError("gone")

    assert text_of(Broken(a=1)) == '{"(it stopped here)": "OSError: gone"}'


def test_depth_is_bounded() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deeply" in text_of(deep)


# ---- limits --------------------------------------------------------------------------------------


def test_what_is_cut_says_so_and_keeps_both_ends() -> None:
    text = text_of("a" * 5000 + "b" * 5000, 1000)
    assert len(text) <= 1000
    head, omitted, tail = text.splitlines()
    assert set(head) == {"a"}
    assert set(tail) == {"b"}
    assert omitted == f"... {10_000 - len(head) - len(tail):,} characters omitted ..."


def test_a_structure_is_cut_likewise() -> None:
    whole = json.dumps(list(range(1000)))
    head, omitted, tail = text_of(list(range(1000)), 200).splitlines()
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert omitted == f"... {len(whole) - len(head) - len(tail):,} characters omitted ..."


@pytest.mark.parametrize("value", ["abc", [1, 2, 3], {"a": 1}, 5])
def test_what_fits_is_left_alone(value: Any) -> None:
    text = text_of(value)
    assert text_of(value, len(text)) == text


@pytest.mark.parametrize(
    "value",
    [range(10**15), itertools.count(), itertools.repeat("x" * 1000), itertools.repeat([])],
    ids=str,
)
def test_what_has_no_end_is_written_up_to_a_bound(value: Any) -> None:
    text = text_of(value, 1000)
    assert len(text) <= 1000
    assert text.startswith("[")
    assert re.search(r"\n\.\.\. more than [\d,]+ characters omitted \.\.\.$", text)


def test_without_a_limit_there_is_one_for_all_but_strings() -> None:
    huge = "x" * 20_000_000
    assert text_of(huge) is huge
    assert len(text_of([huge])) < 1_000_000


@pytest.mark.parametrize(
    "make",
    [
        lambda text: text,
        lambda text: [text] * 5,
        lambda text: {"key": text},
        lambda text: Account.model_construct(name=text),
        lambda text: text.encode(),
    ],
    ids=["string", "list", "dict", "model", "bytes"],
)
def test_a_result_of_any_size_takes_little_memory(make: Any) -> None:
    value = make("x" * 200_000_000)
    tracemalloc.start()
    try:
        text = text_of(value, 4000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert len(text) <= 4000


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abü"), inner),
    max_leaves=20,
)


@given(st.lists(VALUES))
def test_plain_values_come_back_from_their_json(value: list[Any]) -> None:
    assert json.loads(text_of(value)) == value


@given(VALUES, st.integers(100, 500))
def test_no_text_is_longer_than_its_limit(value: Any, limit: int) -> None:
    assert len(text_of(value, limit)) <= limit


# ---- what exceptions say of their cause ----------------------------------------------------------


def noted(error: ValueError, *notes: str) -> ValueError:
    for note in notes:
        error.add_note(note)
    return error


def failed_command(stderr: str | bytes | None) -> subprocess.CalledProcessError:
    return subprocess.CalledProcessError(2, ["make"], "out", stderr)


def odd_notes(notes: Any) -> ValueError:
    """An exception whose notes somebody set to what they should not be."""
    error = ValueError("x")
    error.__notes__ = notes
    return error


def group_in_groups(depth: int) -> BaseExceptionGroup[BaseException]:
    group = BaseExceptionGroup[BaseException]("deep", [KeyError("x")])
    for _ in range(depth):
        group = BaseExceptionGroup("deep", [group])
    return group


REFUSED = ConnectionError("db1 refused")


@pytest.mark.parametrize(
    ("error", "parts", "absent"),
    [
        (ExceptionGroup("unhandled", [REFUSED]), ["ConnectionError: db1 refused"], ["sub-exc"]),
        (ExceptionGroup("two", [REFUSED, OSError("b")]), ["two", "db1 refused", "OSError: b"], []),
        (ExceptionGroup("a", [ExceptionGroup("b", [REFUSED])]), ["db1 refused"], []),
        (BaseExceptionGroup("exit", [SystemExit(3)]), ["SystemExit: 3"], []),
        (ExceptionGroup("many", [ValueError(f"n{i}") for i in range(9)]), ["n4", "4 more"], ["n5"]),
        (ExceptionGroup("long", [ValueError("x" * 9_000)]), ["omitted"], ["x" * 1_000]),
        (group_in_groups(90), ["deep", "and 1 more"], ["KeyError"]),
        (noted(ValueError("x"), "while reading a.csv", "row 3"), ["a.csv", "row 3"], []),
        (noted(ValueError("x"), *(f"n{i}" for i in range(50))), ["n4", "45 more notes"], ["n5"]),
        (noted(ValueError("x"), "", "  ", "row 3"), ["x\nrow 3"], []),
        (odd_notes("not a list"), ["x\nnot a list"], []),
        (odd_notes([5, b"y"]), ["x\n5\nb'y'"], []),
        (
            ExceptionGroup("g", [failed_command("no rule")]),
            ["g", "status 2", "stderr: no rule"],
            [],
        ),
        (noted(failed_command("z" * 9_000), "row 3"), ["status 2", "row 3"], ["z" * 1_000]),
        (failed_command("  \n"), ["output: out"], ["stderr"]),
        (noted(ValueError("v"), "y" * 9_000), ["ValueError: v", "omitted"], ["y" * 1_000]),
        (ExceptionGroup("g", [noted(ValueError("v"), "row 3")]), ["v", "row 3"], []),
        (failed_command("no rule to make target"), ["status 2", "no rule to make target"], []),
        (failed_command(b"caf\xe9 failed"), ["failed"], []),
        (failed_command(None), ["status 2", "output: out"], ["stderr"]),
        (failed_command("z" * 9_000 + "the end"), ["the end"], ["z" * 1_000]),
        (subprocess.TimeoutExpired("make", 5, stderr="waits for a lock"), ["a lock"], []),
    ],
)
def test_exceptions_tell_their_cause(
    error: BaseException, parts: list[str], absent: list[str]
) -> None:
    text = text_of(error)
    assert [part for part in parts if part not in text] == []
    assert [part for part in absent if part in text] == []
    assert len(text) < 6_000
