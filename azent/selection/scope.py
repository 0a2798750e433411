"""What a decision may be: which functions are offered, and how many calls are asked for. Pure.

What is known of that comes from the log: a `Ranking` of the functions by meaning, and the replies
of requests that a set makes before a decision (a *gate*: is any function meant; *choose*: yes or no
for each; *list*: the separate things asked for). All of it holds for the first decision of a
question: once something was called, every function is open again. What the caller demands by a
`choice` is never narrowed down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from azent.log import question_of, replies_of, turn_of
from azent.messages import NARROWING, Log, Move, Ranking, Reply, Specs
from azent.prompt import PromptSet, SelectionRules
from azent.selection.further import has_unused_values, is_first, ranking_of
from azent.selection.numbers import is_mostly_numbers

DECLINED = "the model says that no function is made for this request"

Relevance: TypeAlias = Literal["", "none", "unclear", "one", "unknown"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a decision may be: calls to these functions, so many at least and at most.

    `relevance` says whether any function is meant: "none", "one", "unclear"; "unknown" where only
    the model can tell, or "" where nothing was found out. `why` says for a person what was decided
    before the model is asked.
    """

    specs: Specs
    least: int = 0
    most: int | None = None
    relevance: Relevance = ""
    why: str = ""


def decides_by_meaning(specs: Specs, rules: SelectionRules) -> bool:
    """Does a set with these rules need to know how near the functions are to a question?"""
    too_many = 0 < rules.shown < len(specs)
    narrows_down = rules.relevance or (len(specs) > 1 and rules.within > 0)
    return bool(specs) and (too_many or (narrows_down and _are_described(specs)))


def _are_described(specs: Specs) -> bool:
    """Has each function a description?"""
    return all(spec.get("description") for spec in specs.values())


def _is_named(name: str, text: str) -> bool:
    """Does a text name a function? A name that is a plain word has to be marked as one: `add`."""
    plain = re.escape(name)
    if not re.fullmatch("[a-z]+", name):
        return bool(re.search(rf"(?<!\w){plain}(?!\w)", text, re.IGNORECASE))
    return bool(re.search(rf"[`'\"]{plain}[`'\"]|\b{plain}\(", text))


def scope_of(log: Log, specs: Specs, prompts: PromptSet, choice: str, system: str = "") -> Scope:
    """What the decision that is due at the end of a log may be.

    Only the model can tell whether a function is meant that has no description, or of which the
    system text says itself when to call it.
    """
    turn = turn_of(log)
    rank = ranking_of(turn)
    scope = Scope(retrieved(specs, turn, prompts.selection, choice))
    if not is_first(turn):
        is_due = choice == "auto" and prompts.selection.more and has_unused_values(turn, specs)
        return replace(scope, least=1) if is_due else scope
    scope = replace(scope, specs=_near_the_best(scope.specs, rank, prompts.selection, choice))
    if not _are_described(specs) or any(_is_named(name, system) for name in specs):
        scope = replace(scope, relevance="unknown")
    elif choice == "auto" and rank and rank.scores and prompts.selection.relevance:
        scope = _judged(scope, rank, prompts.selection, question_of(turn))
    for chosen in (_picked(turn, "gate"), _picked(turn, "choose")):
        if chosen is not None:
            scope = _chosen(scope, chosen)
    number = len(listed(turn))
    return replace(scope, least=number, most=number) if number else scope


def retrieved(specs: Specs, turn: Log, rules: SelectionRules, choice: str) -> Specs:
    """Return all functions or, where there are too many to show, those nearest in meaning.

    They stay in the order in which they were given.
    """
    rank = ranking_of(turn)
    if rank is None or not rank.scores or not 0 < rules.shown < len(specs):
        return specs
    near = {name for name, _ in rank.scores[: rules.shown]}
    return {name: spec for name, spec in specs.items() if name in near or name == choice}


def _near_the_best(specs: Specs, rank: Ranking | None, rules: SelectionRules, choice: str) -> Specs:
    """The functions that are about as near as the nearest one, the nearest first.

    Small models choose better from fewer, and of two that seem right they take the first. Where no
    function is near, as with a follow-up that means little by itself, all are shown.
    """
    best = max((score for _, score in rank.scores), default=0.0) if rank else 0.0
    if rank is None or not rules.within or best < rules.call_above:
        return specs
    least = best - rules.within
    near = [name for name, score in rank.scores if score >= least or name == choice]
    return {name: specs[name] for name in near if name in specs}


def _judged(scope: Scope, rank: Ranking, rules: SelectionRules, question: str) -> Scope:
    """The scope with what the ranking says of whether any function is meant.

    An encoder makes little of figures: where a question has hardly anything else ("17 * 23?"), only
    the model can tell.
    """
    best = max(score for _, score in rank.scores)
    if best >= rules.call_above:
        why = f"a function is near the question in meaning ({rank.scores[0][0]}: {best:.1f})"
        return replace(scope, least=1, relevance="one", why=why)
    if is_mostly_numbers(question):
        return replace(scope, relevance="unknown")
    if max(best, _or_least(rank.in_context)) < rules.none_below:
        why = (
            f"no function is near the question in meaning (the nearest is {rank.scores[0][0]}: "
            f"{best:.1f}, and {rules.none_below:.1f} is the least)"
        )
        return replace(scope, specs={}, relevance="none", why=why)
    return replace(scope, relevance="unclear")


def _or_least(score: float | None) -> float:
    return float("-inf") if score is None else score


def _chosen(scope: Scope, chosen: Iterable[str]) -> Scope:
    """The scope after a model said which functions are meant; a yes asks for a call."""
    names = set(chosen)
    left = {name: spec for name, spec in scope.specs.items() if name in names}
    why = "" if left else DECLINED
    return replace(scope, specs=left, least=int(bool(left)), why=why)


def listed(turn: Log) -> tuple[str, ...]:
    """The separate things that are asked for, where the model has listed them."""
    return (_picked(turn, "list") or ()) if is_first(turn) else ()


def narrowing_due(turn: Log, scope: Scope, prompts: PromptSet, choice: str) -> Move | None:
    """The next request of the set that comes before a decision, if any is left to make.

    A gate is needless where meaning is clear, and useless where it cannot tell; neither gate nor
    choose is asked where the caller has chosen.
    """
    if not is_first(turn) or not all(map(narrows, replies_of(turn))):
        return None
    done = {reply.move for reply in replies_of(turn)}
    if choice != "auto":
        done |= {"gate", "choose"}
    if scope.relevance in ("one", "unknown"):
        done.add("gate")
    return next((move for move in prompts.decide if move not in done), None)


def narrows(reply: Reply) -> bool:
    """Is this a reply to a request that only narrows a decision down?"""
    return reply.move in NARROWING


def _picked(turn: Log, move: Move) -> tuple[str, ...] | None:
    picks = [reply.picked for reply in replies_of(turn) if reply.move == move]
    return picks[-1] if picks else None
