"""Intervals and the paired test, against figures known from elsewhere and by their properties."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.lab import Comparison, Share, compare, interval_of_mean


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [  # Newcombe 1998, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals(right: int, count: int, low: float, high: float) -> None:
    assert Share(right, count).interval == pytest.approx((low, high), abs=5e-5)


def test_without_cases_nothing_is_known() -> None:
    assert math.isnan(Share(0, 0).value)
    assert Share(0, 0).interval == (0.0, 1.0)


SHARES = st.integers(1, 90).flatmap(lambda n: st.builds(Share, st.integers(0, n), st.just(n)))


@given(st.lists(SHARES, min_size=1, max_size=9))
def test_the_interval_of_a_mean_holds_it_and_is_no_wider_than_the_widest(
    shares: list[Share],
) -> None:
    low, high = interval_of_mean(shares)
    mean = sum(share.value for share in shares) / len(shares)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    assert mean - low <= max(share.value - share.interval[0] for share in shares) + 1e-12
    assert high - mean <= max(share.interval[1] - share.value for share in shares) + 1e-12


def test_the_interval_of_one_share_is_its_own_and_four_alike_halve_it() -> None:
    share = Share(15, 30)
    low, high = share.interval
    assert interval_of_mean([share]) == pytest.approx((low, high))
    assert interval_of_mean([share] * 4) == pytest.approx((0.25 + low / 2, 0.25 + high / 2))
    assert interval_of_mean([]) == (0.0, 1.0)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_share_and_lies_in_the_possible(pair: tuple[int, int]) -> None:
    share = Share(*pair)
    low, high = share.interval
    assert 0 <= low <= share.value + 1e-12
    assert share.value - 1e-12 <= high <= 1


@pytest.mark.parametrize(
    ("only_first", "only_second", "chance"),
    [
        (0, 0, 1.0),
        (0, 5, 2 / 32),
        (0, 6, 2 / 64),
        (3, 3, 1.0),
        (1, 9, 22 / 1024),
        (9, 1, 22 / 1024),
    ],
)
def test_mcnemar(only_first: int, only_second: int, chance: float) -> None:
    comparison = Comparison(100, only_first, only_second)
    assert comparison.chance == pytest.approx(chance)
    assert comparison.real == (chance < 0.05)
    assert comparison.difference == pytest.approx((only_second - only_first) / 100)


@given(st.dictionaries(st.text(), st.booleans()), st.dictionaries(st.text(), st.booleans()))
def test_comparing_the_other_way_round(first: dict[str, bool], second: dict[str, bool]) -> None:
    there, back = compare(first, second), compare(second, first)
    assert (there.only_first, there.only_second) == (back.only_second, back.only_first)
    assert there.chance == back.chance
    assert there.cases == len(first.keys() & second.keys())


def test_thousands_of_cases_are_no_burden() -> None:
    assert Comparison(9000, 2000, 4000).chance < 1e-100
