"""The search by itself: what it asks and finds, and that it asks nothing that cannot matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.lab import Case
from azent.lab.search import (
    Evaluate,
    Schedule,
    Score,
    SearchResult,
    SearchTask,
    first_stage,
    in_order,
    search,
)
from azent.lab.space import Candidate
from azent.prompt import PromptSet

NO_SET = PromptSet("none", {})
World: TypeAlias = Callable[[Candidate, Case], Score]


def case(id: str, category: str = "a", due: int = 1) -> Case:
    return Case(id, "?", (), lambda calls, text: "", due, category)


def candidates(names: Sequence[object]) -> tuple[Candidate, ...]:
    return tuple(Candidate(str(name), NO_SET, NO_SET) for name in names)


def terms(
    field: Sequence[object],
    cases: Sequence[Case],
    budget: int = 10_000,
    near: Callable[[str], Sequence[object]] = lambda name: (),
) -> SearchTask:
    return SearchTask(
        candidates(field), lambda each: candidates(near(each.name)), tuple(cases), budget
    )


def played(given: SearchTask, world: World) -> tuple[SearchResult, list[Evaluate]]:
    """What a search finds in a world, and what it asked."""
    asks, searching = [], search(given)
    ask = next(searching)
    try:
        while True:
            asks.append(ask)
            ask = searching.send([world(each, ask.case) for each in ask.candidates])
    except StopIteration as end:
        return end.value, asks


def pairs(asks: Sequence[Evaluate]) -> list[tuple[str, str]]:
    return [(each.name, ask.case.id) for ask in asks for each in ask.candidates]


CASES = in_order([case(str(n), "ab"[n % 2]) for n in range(40)])


def test_the_best_of_a_field_wins_and_losers_are_not_asked_on() -> None:
    found, asks = played(
        terms(range(16), CASES), lambda each, case: Score(int(each.name) * 2.5 > int(case.id))
    )
    assert found.winner.name == "15"
    asked = Counter(name for name, _ in pairs(asks))
    assert asked["15"] == max(asked.values()) > 4 * asked["1"]
    assert found.spent == len(asks and pairs(asks)) < 16 * 40 / 4


def test_rounds_climb_from_neighbour_to_neighbour() -> None:
    found, asks = played(
        terms([0], CASES, near=lambda name: [int(name) + 1]),
        lambda each, case: Score(int(case.id) < 8 * int(each.name) <= 40),
    )
    assert found.winner.name == "5"
    assert {ask.progress.round for ask in asks if "6" in str(ask.candidates)} == {7}
    assert [ask for ask in asks if ask.progress.best is None] == asks[:1]


def test_a_challenger_has_to_be_better_on_all_that_the_champion_was_asked() -> None:
    """It is right on the first cases, where the champion is not, and wrong after."""
    early = {each.id for each in CASES[:8]}

    def world(each: Candidate, case: Case) -> Score:
        lucky = case.id in early
        return Score({"champion": not lucky, "lucky": lucky, "worse": False}[each.name])

    near = {"champion": ["lucky"], "lucky": [], "worse": []}
    found, asks = played(terms(["champion", "worse"], CASES, near=near.__getitem__), world)
    assert found.winner.name == "champion"
    assert len([name for name, _ in pairs(asks) if name == "lucky"]) >= 4


@pytest.mark.parametrize(
    ("tokens", "winner"), [((9, 8, 9), "b"), ((7, 8, 7), "a"), ((8, 8, 8), "a"), ((9, 9, 8), "c")]
)
def test_equals_are_told_apart_by_tokens_then_by_who_was_there_first(
    tokens: tuple[int, ...], winner: str
) -> None:
    cost = dict(zip("abc", tokens, strict=True))
    found, _ = played(terms("abc", CASES), lambda each, case: Score(True, cost[each.name]))
    assert found.winner.name == winner


def test_categories_count_the_same_however_many_cases_they_have() -> None:
    cases = [case(str(n), "large" if n else "small") for n in range(9)]
    found, _ = played(
        terms(["all of large", "half of both"], cases),
        lambda each, case: Score(
            case.category == "large" if "all" in each.name else int(case.id) < 5
        ),
    )
    assert found.winner.name == "half of both"


@pytest.mark.parametrize("budget", [8, 9, 63, 64, 65, 100, 130, 200, 400])
def test_the_budget_holds(budget: int) -> None:
    chance = Random(1)
    found, asks = played(
        terms(range(16), CASES, budget, near=lambda name: [f"{name}{n}" for n in range(9)]),
        lambda each, case: Score(chance.random() < 0.5, chance.randrange(9)),
    )
    assert found.spent == len(pairs(asks)) <= budget
    assert len({name for name, _ in pairs(asks)}) >= 2


@pytest.mark.parametrize(
    ("schedule", "challengers", "cost"),
    [
        (Schedule(4, 40, 32), 15, 15 * 4 + 7 * 4 + 3 * 8 + 16),
        (Schedule(4, 40, 16), 1, 16),
        (Schedule(4, 40, 10), 1, 16 + 6),  # the champion has been asked too little so far
        (Schedule(4, 10, 10), 15, 15 * 4 + 7 * 4 + 3 * 2),
    ],
)
def test_what_a_round_costs(schedule: Schedule, challengers: int, cost: int) -> None:
    assert schedule.cost(challengers) == cost


@given(st.integers(1, 9), st.integers(4, 60), st.integers(0, 60), st.integers(1, 15))
def test_more_challengers_cost_more(first: int, all: int, asked: int, challengers: int) -> None:
    schedule = Schedule(min(first, all), all, min(asked, all))
    assert 0 < schedule.cost(challengers) < schedule.cost(challengers + 1)


def test_who_is_the_first_on_the_last_stage_that_was_paid_for_wins() -> None:
    found, _ = played(
        terms(range(16), CASES, 64), lambda each, case: Score(each.name == "11" or case.id == "1")
    )
    assert found.winner.name == "11"


# ---- whatever the marks are ----------------------------------------------------------------------

KINDS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), min_size=2, max_size=30)


def cases_of(kinds: Sequence[tuple[str, int]]) -> list[Case]:
    return [case(str(n), *kind) for n, kind in enumerate(kinds)]


def world_of(seed: int) -> World:
    """Marks at random, but for one candidate on one case always the same."""

    def score_of(each: Candidate, case: Case) -> Score:
        chance = Random(f"{seed} {each.name} {case.id}")
        return Score(chance.random() < 0.6, chance.randrange(3))

    return score_of


def near(name: str) -> list[str]:
    return [f"{name}{n}" for n in range(3)] if len(name) < 3 else []


@given(KINDS, st.integers(2, 17), st.integers(0, 99), st.integers(8, 300))
def test_nothing_is_asked_twice_and_the_same_marks_lead_the_same_way(
    kinds: list[tuple[str, int]], count: int, seed: int, budget: int
) -> None:
    cases = in_order(cases_of(kinds))
    given = terms(range(count), cases, max(budget, 2 * first_stage(cases)), near)
    found, asks = played(given, world_of(seed))
    again, others = played(given, world_of(seed))
    assert (found, asks) == (again, others)
    assert len(set(pairs(asks))) == len(pairs(asks))
    assert sum(standing.cases for standing in found.tried) == found.spent == len(pairs(asks))
    assert found.winner in {standing.candidate for standing in found.tried}


@given(KINDS, st.integers(2, 17), st.integers(0, 999))
def test_losing_early_changes_no_winner(
    kinds: list[tuple[str, int]], count: int, seed: int
) -> None:
    given = terms(range(count), in_order(cases_of(kinds)))
    found, asks = played(given, world_of(seed))
    winner, spent = plainly(given, world_of(seed))
    assert found.winner == winner
    assert len(pairs(asks)) <= spent


def plainly(given: SearchTask, world: World) -> tuple[Candidate, int]:
    """Halving as a textbook has it: all are asked all of a stage."""
    left, size, seen = given.field, first_stage(given.cases), set()
    while len(left) > 1:
        is_last = len(left) == 2 or size >= len(given.cases)
        cases = given.cases[: max(size, 4 * first_stage(given.cases)) if is_last else size]
        seen |= {(each, case.id) for each in left for case in cases}
        ranked = sorted(left, key=lambda each: rank(each, cases, world))
        kept = ranked[: 1 if is_last else (len(left) + 1) // 2]
        left, size = tuple(each for each in left if each in kept), size * 2
    return left[0], len(seen)


def rank(each: Candidate, cases: Sequence[Case], world: World) -> tuple[Fraction, int]:
    scores = {case.id: world(each, case) for case in cases}
    shares = []
    for name in {case.category for case in cases}:
        mine = [scores[case.id].right for case in cases if case.category == name]
        shares.append(Fraction(sum(mine), len(mine)))
    return -sum(shares, Fraction()) / len(shares), sum(score.tokens for score in scores.values())


@given(KINDS, st.integers(0, 9))
def test_the_order_is_of_all_cases_and_its_beginnings_hold_all_kinds(
    kinds: list[tuple[str, int]], seed: int
) -> None:
    cases = cases_of(kinds)
    ordered = in_order(cases, seed)
    assert sorted(each.id for each in ordered) == sorted(each.id for each in cases)
    first = ordered[: len(set(kinds))]
    assert {(each.category, each.due) for each in first} == set(kinds)
    assert in_order(cases, seed) == ordered
