"""The search: which candidates to ask which case, given what came of those before. Pure.

A round is successive halving: a field of candidates is asked a few cases, some of each kind; the
better half goes on to twice as many, and so on, until one is left. The first round's winner then
defends itself in further rounds against candidates that differ from it in one setting. It goes on
to the last rung of each of these, and there the challenger has to be better on all the cases that
the champion was asked. Better is the higher mean over categories, then fewer prompt tokens, then
who was there first. A last rung has four times the cases of the first one at least: where two are
left, a few cases do not tell them apart.

Nothing more is asked of a candidate in a rung once it could not go on, were the rest all right.

A search keeps nothing but what it was sent: with the same marks it asks for the same. So a search
that was broken off goes on when the asks of a new one are answered from what was kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import count, zip_longest
from random import Random
from typing import TypeAlias

from azent.evaluate import Case, kind_of
from azent.tune.board import Board, Mark, Score
from azent.tune.rungs import Rungs, first_rung
from azent.tune.space import FIELD, Candidate


@dataclass(frozen=True, slots=True)
class Terms:
    """What a search is about. `cases` are in the order of asking, such as `in_order` gives.

    `budget` is how many marks may be asked for in all: a mark is a candidate on a case.
    """

    field: tuple[Candidate, ...]
    neighbours: Callable[[Candidate], Sequence[Candidate]]
    cases: tuple[Case, ...]
    budget: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a search is. `left` candidates are in a rung of `cases` cases, `done` of which they
    were asked; `spent` marks of the budget were given. `best` leads, where anything is known."""

    round: int
    left: int
    cases: int
    done: int
    spent: int
    best: Score | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask these candidates this case, and send their marks in the same order."""

    candidates: tuple[Candidate, ...]
    case: Case
    standing: Standing


@dataclass(frozen=True, slots=True)
class Found:
    """The winner, and all that were tried: the winner first, then by how far they came."""

    winner: Candidate
    tried: tuple[Score, ...]
    spent: int


Search: TypeAlias = Generator[Ask, Sequence[Mark], Found]
Asking: TypeAlias = Generator[Ask, Sequence[Mark], tuple[Candidate, ...]]


def in_order(cases: Sequence[Case], seed: int = 0) -> tuple[Case, ...]:
    """The cases shuffled, their kinds taking turns, so that any first few hold some of each."""
    kinds: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        kinds.setdefault(kind_of(case), []).append(case)
    chance = Random(seed)
    for alike in kinds.values():
        chance.shuffle(alike)
    return tuple(case for turn in zip_longest(*kinds.values()) for case in turn if case)


def search(terms: Terms) -> Search:
    """Asks and asks; returns what it found when the budget or what could be tried is used up.

    The field is cut to as many as the budget allows the first rung for. It has to allow two.
    """
    board, rungs = Board(terms.cases), Rungs(first_rung(terms.cases), len(terms.cases))
    field = terms.field[: max(1, terms.budget // rungs.first)]
    tried = set(field)
    champion, *_ = yield from _round(terms, board, rungs, field, 1)
    for number in count(2):
        rungs = replace(rungs, asked=board.asked(champion))
        unlike = [each for each in terms.neighbours(champion) if each not in tried]
        fresh = tuple(unlike[: _affordable(rungs, terms.budget - board.spent)])
        if not fresh:
            break
        tried.update(fresh)
        field = (champion, *fresh)
        champion, *_ = yield from _round(terms, board, rungs, field, number, champion)
    return Found(champion, board.scores(champion), board.spent)


def _affordable(rungs: Rungs, budget: int) -> int:
    """How many challengers a budget allows."""
    counts = range(FIELD - 1, 0, -1)
    return next((number for number in counts if rungs.cost(number) <= budget), 0)


@dataclass(frozen=True, slots=True)
class _Rung:
    """A rung of a round: after these cases there are so many places for those who go on."""

    round: int
    cases: tuple[Case, ...]
    places: int
    champion: Candidate | None

    @property
    def safe(self) -> Candidate | None:
        """Who goes on whatever comes: the champion, but for the last rung."""
        return self.champion if self.places > 1 else None


def _round(
    terms: Terms,
    board: Board,
    rungs: Rungs,
    field: tuple[Candidate, ...],
    number: int,
    champion: Candidate | None = None,
) -> Asking:
    """Who is left, the best first: one, or more where the budget does not allow to go on."""
    left, size = field, rungs.first
    while len(left) > 1:
        planned = terms.cases[: rungs.cases(len(left), size)]
        cases = _paid(board, left, planned, terms.budget)
        if not board.missing(left, cases):
            break
        rung = _Rung(number, cases, rungs.places(len(left), size), champion)
        left = yield from _climb(board, left, rung)
        size *= 2
    return tuple(sorted(left, key=lambda each: board.rank(each, terms.cases)))


def _paid(
    board: Board, left: tuple[Candidate, ...], cases: tuple[Case, ...], budget: int
) -> tuple[Case, ...]:
    """As many of the first cases as a budget allows to ask of all who are left."""
    while board.spent + board.missing(left, cases) > budget:
        cases = cases[:-1]
    return cases


def _climb(board: Board, field: tuple[Candidate, ...], rung: _Rung) -> Asking:
    """Who goes on from a rung, in the order of the field."""
    left = field
    for done, case in enumerate(rung.cases):
        asked = tuple(each for each in left if not board.has(each, case))
        if asked:
            marks = yield Ask(asked, case, _standing(board, left, rung, done))
            board.take(asked, case, marks)
        left = board.still_in(left, rung.cases, rung.places, rung.safe)
        if len(left) <= rung.places:
            return left
    ranked = sorted(left, key=lambda each: (each != rung.safe, board.rank(each, rung.cases)))
    return tuple(each for each in left if each in ranked[: rung.places])


def _standing(board: Board, left: tuple[Candidate, ...], rung: _Rung, done: int) -> Standing:
    best = board.leader([rung.champion] if rung.champion else left)
    return Standing(rung.round, len(left), len(rung.cases), done, board.spent, best)
