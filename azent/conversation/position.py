"""Work out what a step needs to know of its log, once. Pure.

A `Position` is a log and its terms. Each of its properties is computed when it is first asked for
and then kept, so that a step reads its turn, its replies and its scope once, however many rules use
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from azent.conversation.answers import Typed
from azent.messages import Call, Log, Note, Ranking, Reply, Specs
from azent.messages.log import (
    folded,
    note_in,
    pending,
    question_of,
    replies_of,
    turn_of,
    usable,
)
from azent.prompt import PromptSet
from azent.selection import Scope, narrows, ranking_of, scope_of


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that stay fixed during a conversation."""

    specs: Specs
    prompts: PromptSet  # the prompt set
    system: str = ""  # the system text
    choice: str = "auto"  # tool choice for the first decision of a question
    rounds: int = 8  # most replies of a turn whose calls run
    repairs: int = 2  # most corrections in a row
    readonly: frozenset[str] = frozenset()  # names of tools without effects
    repeatable: frozenset[str] = frozenset()  # tools that may run again with the same input
    confirm: frozenset[str] = frozenset()  # tools that need a person's approval
    again: frozenset[str] = frozenset()  # tools that may run again after a crash
    until: str | Callable[[Reply], bool] | None = None  # a text or test that ends a turn
    past: int = 0  # replies of the turn made before `choice` was set
    parallel: bool = True  # whether one reply may make several calls
    trusted: bool = True  # whether patterns in the specs are evaluated
    output: dict[str, Any] | None = None  # JSON Schema for decoding answers
    options: Mapping[str, Any] = field(default_factory=dict)  # the server's, for answers only
    typed: Typed | None = None  # the type of answers
    num_ctx: int | None = None  # context window to fit requests into, in tokens
    summarise: bool = False  # whether the model sums up the turns left out
    encoded: bool = False  # whether there is an encoder to rank functions


def has_plain_answers(terms: Terms) -> bool:
    """Return whether answers are free text, decoded as azent decodes."""
    return terms.typed is None and terms.output is None and not terms.options


@dataclass(frozen=True)
class Position:
    """The end of a log, seen under its terms."""

    log: Log
    terms: Terms

    @cached_property
    def turn(self) -> Log:
        """Return the last turn of the log."""
        return turn_of(self.log)

    @cached_property
    def question(self) -> str:
        """Return the text of the turn's question, "" if it has none."""
        return question_of(self.turn)

    @cached_property
    def replies(self) -> list[Reply]:
        """Return the replies of the turn."""
        return replies_of(self.turn)

    @cached_property
    def merged(self) -> Log:
        """Return the turn with further calls folded into the reply that they continue."""
        return folded(self.turn)

    @cached_property
    def merged_replies(self) -> list[Reply]:
        """Return the replies of the turn with further calls folded in."""
        return replies_of(self.merged)

    @cached_property
    def pending(self) -> tuple[Call, ...]:
        """Return the calls of the turn that have no result yet."""
        return pending(self.turn)

    @cached_property
    def choice(self) -> str:
        """Return the tool choice that applies now: "auto" after a call, before it the caller's.

        A reply with a call that runs counts even if something else in it is wrong: else a model
        could go on with such replies for ever.
        """
        since = self.replies[self.terms.past :]
        made = any(reply.calls and (usable(reply) or not reply.problem) for reply in since)
        return "auto" if made else self.terms.choice

    @cached_property
    def ranking(self) -> Ranking | None:
        """Return the last ranking of the turn, or None."""
        return ranking_of(self.turn)

    @cached_property
    def stopped(self) -> Note | None:
        """Return the note that stopped the turn, or None."""
        return note_in(self.turn, "stopped")

    @cached_property
    def is_first(self) -> bool:
        """Return whether the next decision is the first one: the turn has no calls yet."""
        return not any(reply.calls for reply in self.replies)

    @cached_property
    def is_undecided(self) -> bool:
        """Return whether no reply of the turn does more than narrow the decision down."""
        return all(map(narrows, self.replies))

    @cached_property
    def may_call(self) -> bool:
        """Return whether there are functions, and the tool choice allows a call."""
        return bool(self.terms.specs) and self.choice != "none"

    @cached_property
    def scope(self) -> Scope:
        """Return the functions that the next decision offers, and how many calls it asks for."""
        terms = self.terms
        return scope_of(self.log, terms.specs, terms.prompts, self.choice, terms.system)
