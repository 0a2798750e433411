"""How far a decision has been narrowed down: which functions are left, and how many calls. Pure.

A prompt set can have a model asked in several requests before the calls are: a yes or no for each
function (*choose*), the separate things that are asked for (*list*). Their replies stand in the log
like any other, are never sent again, and narrow down the decision that follows. All this is for the
first decision of a question: once something was called, everything is open again.
"""

from __future__ import annotations

from dataclasses import dataclass

from azent.log import replies_of
from azent.messages import NARROWING, Log, Move, Reply, Specs
from azent.prompt import PromptSet


@dataclass(frozen=True, slots=True)
class Scope:
    """What a decision may be: calls to these functions, so many at least and at most.

    `asked` are the separate things that are asked for, where the model has listed them.
    """

    specs: Specs
    least: int = 0
    most: int | None = None
    asked: tuple[str, ...] = ()


def scope_of(turn: Log, specs: Specs) -> Scope:
    """What the decision that is due in a turn may be, by what was said so far."""
    if not is_first(turn):
        return Scope(specs)
    chosen, asked = _picked(turn, "choose"), _picked(turn, "list") or ()
    left = specs if chosen is None else {n: s for n, s in specs.items() if n in chosen}
    return Scope(left, len(asked), len(asked) or None, asked)


def narrowing_due(turn: Log, prompts: PromptSet, choice: str) -> Move | None:
    """The next request that narrows a decision down, if any; not which, where that is said."""
    if not is_first(turn) or any(reply.move not in NARROWING for reply in replies_of(turn)):
        return None
    made = {reply.move for reply in replies_of(turn)}
    due = (move for move in prompts.decide if move not in made)
    return next((move for move in due if move != "choose" or choice == "auto"), None)


def is_first(turn: Log) -> bool:
    """Is the next decision the first one of its turn: has nothing been called yet?"""
    return not any(reply.calls for reply in replies_of(turn))


def _picked(turn: Log, move: Move) -> tuple[str, ...] | None:
    picks = [reply.picked for reply in replies_of(turn) if reply.move == move]
    return picks[-1] if picks else None


def narrows(reply: Reply) -> bool:
    """Is this a reply that only narrows a decision down?"""
    return reply.move in NARROWING
