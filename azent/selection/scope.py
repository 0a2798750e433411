"""Compute which functions a decision offers, and how many calls it asks for. Pure.

This follows from the log: a `Ranking` of the functions, and the replies to requests that a prompt
set makes before a decision (*gate*: is any function needed; *choose*: yes or no for each function;
*list*: the subtasks of the question). Only the first decision of a question is narrowed down; after
a call all functions are offered again. A tool choice of the caller is always respected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from azent.messages import NARROWING, Log, Move, Ranking, Reply, Specs
from azent.messages.log import DECLINED, question_of, replies_of, turn_of
from azent.prompt import PromptSet, SelectionRules
from azent.selection.further import has_unused_values, is_first, ranking_of
from azent.selection.numbers import is_mostly_numbers

Relevance: TypeAlias = Literal["", "none", "unclear", "one", "unknown"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The bounds of a decision."""

    specs: Specs  # the functions that may be called
    least: int = 0  # fewest calls
    most: int | None = None  # most calls; None: any number
    relevance: Relevance = ""  # is a function needed; "unknown": ask the model
    why: str = ""  # for a person: what was decided before the model is asked


def decides_by_meaning(specs: Specs, rules: SelectionRules) -> bool:
    """Return whether the rules need a ranking of these functions."""
    too_many = 0 < rules.shown < len(specs)
    narrows_down = rules.relevance or (len(specs) > 1 and rules.within > 0)
    return bool(specs) and (too_many or (narrows_down and _are_described(specs)))


def _are_described(specs: Specs) -> bool:
    return all(spec.get("description") for spec in specs.values())


def _is_named(name: str, text: str) -> bool:
    """Return whether a text mentions a function; if its name is a plain word, as code: `add`."""
    plain = re.escape(name)
    if not re.fullmatch("[a-z]+", name):
        return bool(re.search(rf"(?<!\w){plain}(?!\w)", text, re.IGNORECASE))
    return bool(re.search(rf"[`'\"]{plain}[`'\"]|\b{plain}\(", text))


def scope_of(log: Log, specs: Specs, prompts: PromptSet, choice: str, system: str = "") -> Scope:
    """Return the bounds of the decision at the end of a log.

    - `log`: the conversation
    - `specs`: all functions
    - `prompts`: the prompt set, with the rules of selection
    - `choice`: the tool choice of the caller
    - `system`: the system text
    The relevance is "unknown" if a function has no description, or the system text mentions one and
    so may say when to call it.
    """
    turn = turn_of(log)
    rank = ranking_of(turn)
    scope = Scope(retrieved(specs, turn, prompts.selection, choice))
    if not is_first(turn):
        is_due = choice == "auto" and prompts.selection.more and has_unused_values(turn, specs)
        return replace(scope, least=1) if is_due else scope
    scope = replace(scope, specs=_close_to_best(scope.specs, rank, prompts.selection, choice))
    if not _are_described(specs) or any(_is_named(name, system) for name in specs):
        scope = replace(scope, relevance="unknown")
    elif choice == "auto" and rank and rank.scores and prompts.selection.relevance:
        scope = _narrowed_by_rank(scope, rank, prompts.selection, question_of(turn))
    for chosen in (_picked(turn, "gate"), _picked(turn, "choose")):
        if chosen is not None:
            scope = _narrowed_to(scope, chosen)
    number = len(listed(turn))
    return replace(scope, least=number, most=number) if number else scope


def retrieved(specs: Specs, turn: Log, rules: SelectionRules, choice: str) -> Specs:
    """Return the functions to show: all, or the `rules.shown` most similar ones if there are more.

    They stay in the given order.
    """
    rank = ranking_of(turn)
    if rank is None or not rank.scores or not 0 < rules.shown < len(specs):
        return specs
    shown = {name for name, _ in rank.scores[: rules.shown]}
    return {name: spec for name, spec in specs.items() if name in shown or name == choice}


def _close_to_best(specs: Specs, rank: Ranking | None, rules: SelectionRules, choice: str) -> Specs:
    """Return the functions whose score is within `rules.within` of the best, best first.

    Small models choose better among fewer functions, and prefer the first of two that seem right.
    All functions are returned if the best score is low, as for a follow-up that means little by
    itself.
    """
    best = max((score for _, score in rank.scores), default=0.0) if rank else 0.0
    if rank is None or not rules.within or best < rules.call_above:
        return specs
    least = best - rules.within
    close = [name for name, score in rank.scores if score >= least or name == choice]
    return {name: specs[name] for name in close if name in specs}


def _narrowed_by_rank(scope: Scope, rank: Ranking, rules: SelectionRules, question: str) -> Scope:
    """Return the scope, narrowed by the ranking: a call is required, or no function is offered.

    An encoder makes little of digits, so for a calculation ("17 * 23?") the relevance is unknown.
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


def _narrowed_to(scope: Scope, chosen: Iterable[str]) -> Scope:
    """Return the scope reduced to the functions that a narrowing reply named, with a call due."""
    names = set(chosen)
    left = {name: spec for name, spec in scope.specs.items() if name in names}
    why = "" if left else DECLINED
    return replace(scope, specs=left, least=int(bool(left)), why=why)


def listed(turn: Log) -> tuple[str, ...]:
    """Return the subtasks that the model listed for the first decision of a turn."""
    return (_picked(turn, "list") or ()) if is_first(turn) else ()


def narrowing_due(turn: Log, scope: Scope, prompts: PromptSet, choice: str) -> Move | None:
    """Return the next narrowing request of the prompt set before the decision, or None.

    A gate is skipped if the ranking is clear or cannot tell; gate and choose are skipped if the
    caller made a tool choice.
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
    """Return whether this is a reply to a narrowing request (gate, choose, list)."""
    return reply.move in NARROWING


def _picked(turn: Log, move: Move) -> tuple[str, ...] | None:
    picks = [reply.picked for reply in replies_of(turn) if reply.move == move]
    return picks[-1] if picks else None
