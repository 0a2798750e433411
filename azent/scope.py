"""How far a decision has been narrowed down: which functions are left, and how many calls. Pure.

A prompt set has two ways to narrow a decision down before the calls are asked for. The words of the
question decide without a request (`[words]` in its settings). A model is asked in requests of their
own (`decide`): a yes or no for each function (*choose*), the separate things that are asked for
(*list*). Their replies stand in the log like any other and are never sent again. All this is for
the first decision of a question: once something was called, everything is open again, but for a
further step that the words speak of. What the caller demands (a `choice`) is not narrowed down.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from azent.log import question_of, questions_of, replies_of, turn_of
from azent.messages import NARROWING, Log, Move, Reply, Result, Specs
from azent.prompt import PromptSet, WordRules
from azent.words import (
    Near,
    Wanted,
    in_order,
    is_foreign,
    is_in_another_language,
    nearness,
    spoken_of,
    subject,
    wanted,
)

NOTHING_SHARED = "the question shares no word with a function, so none is called"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a decision may be: calls to these functions, so many at least and at most.

    `pressed` is how many the model has to write, of which those that add nothing are left out.
    `shared` is how many words the question shares with the nearest function, where they count.
    `onward`: it is a further step, to be made with what the ones before have given. `why` says
    for a person what the words of the question decided.
    """

    specs: Specs
    least: int = 0
    most: int | None = None
    pressed: int = 0
    shared: int | None = None
    onward: bool = False
    why: str = ""


def scope_of(log: Log, specs: Specs, prompts: PromptSet, choice: str, system: str = "") -> Scope:
    """What the decision that is due at the end of a log may be, by what was said so far.

    A system text that names functions says itself when they are to be called: then the words of
    the question decide nothing.
    """
    turn = turn_of(log)
    by_words = choice == "auto" and not any(_names(system, name) for name in specs)
    if not is_first(turn):
        return _further(log, specs, prompts.words) if by_words else Scope(specs)
    scope = _by_words(log, specs, prompts.words) if by_words else Scope(specs)
    for chosen in (_picked(turn, "gate"), _picked(turn, "choose")):
        if chosen is not None:
            scope = replace(scope, specs={n: s for n, s in scope.specs.items() if n in chosen})
    things = listed(turn)
    number = len(things)
    return replace(scope, least=number, most=number, pressed=number) if things else scope


def _names(text: str, name: str) -> bool:
    """Does a text name a function? A name that is a plain word has to be marked as one: `add`."""
    plain = re.escape(name)
    if not re.fullmatch("[a-z]+", name):
        return bool(re.search(rf"(?<!\w){plain}(?!\w)", text, re.IGNORECASE))
    return bool(re.search(rf"[`'\"]{plain}[`'\"]|\b{plain}\(", text))


def listed(turn: Log) -> tuple[str, ...]:
    """The separate things that are asked for, where the model has listed them."""
    return (_picked(turn, "list") or ()) if is_first(turn) else ()


def narrowing_due(turn: Log, scope: Scope, prompts: PromptSet, choice: str) -> Move | None:
    """The next request that narrows a decision down, if any; not which, where that is said."""
    if not is_first(turn) or not all(map(narrows, replies_of(turn))):
        return None
    made = {reply.move for reply in replies_of(turn)}
    needless = set() if choice == "auto" else {"gate", "choose"}
    if prompts.words.gate and (scope.shared is None or scope.shared > prompts.words.gate):
        needless.add("gate")
    return next((move for move in prompts.decide if move not in made | needless), None)


def is_first(turn: Log) -> bool:
    """Is the next decision the first one of its turn: has nothing been called yet?"""
    return not any(reply.calls for reply in replies_of(turn))


def narrows(reply: Reply) -> bool:
    """Is this a reply that only narrows a decision down?"""
    return reply.move in NARROWING


def _picked(turn: Log, move: Move) -> tuple[str, ...] | None:
    picks = [reply.picked for reply in replies_of(turn) if reply.move == move]
    return picks[-1] if picks else None


# ---- by words ------------------------------------------------------------------------------------


def _by_words(log: Log, specs: Specs, rules: WordRules) -> Scope:
    """What the words of the question leave; the one before may tell what it is about."""
    questions = questions_of(log)
    if rules == WordRules() or not questions or is_foreign(questions[-1]):
        return Scope(specs)
    near = nearness(subject(questions, specs), specs)
    if rules.decline and not near.shared:
        foreign = is_in_another_language(questions[-1])
        return Scope(specs) if foreign else Scope({}, why=NOTHING_SHARED)
    count = _count(questions[-1], near, rules)
    joined = count.pressed > 1
    offered = (
        _several(near, questions[-1], specs, rules) if joined else _nearest(near, specs, rules)
    )
    return replace(count, specs=offered, shared=near.shared, why=_why(count, offered))


def _why(count: Scope, offered: Specs) -> str:
    more = "one call" if count.pressed < 2 else "one call or more"
    many = "several calls" if count.least > 1 else more
    least = "" if count.least else ", or none"
    return f"by its words the question asks for {many}{least}, of: {', '.join(offered)}"


def _count(question: str, near: Near, rules: WordRules) -> Scope:
    """How many calls there may be, to no function yet."""
    least = int(rules.always)
    if not rules.joins:
        return Scope({}, least, pressed=least)
    count = wanted(question, near.scores, rules.joins, rules.mentioned, strict=rules.strict)
    if count.least > 1:
        return _pressed(count, count.least, rules.pressed)
    in_doubt = rules.always and count.most > 1
    return _pressed(count, least, rules.doubted if in_doubt else 0)


def _pressed(count: Wanted, least: int, pressed: int) -> Scope:
    """So many calls that a model has to write; it may write as many, whatever that is."""
    pressed = max(least, pressed)
    return Scope({}, least, max(count.most, pressed), pressed)


def _further(log: Log, specs: Specs, rules: WordRules) -> Scope:
    """A further step: to functions that the question speaks of and that have not done their part.

    Where there are none, everything is open.
    """
    question = question_of(turn_of(log))
    if not rules.onward or is_foreign(question):
        return Scope(specs)
    scores = nearness(question, specs).scores
    least = rules.near * max(scores.values(), default=0.0)
    spoken = spoken_of(question, specs) - _done(turn_of(log))
    left = [name for name in spoken if scores[name] >= least]
    offered = {name: spec for name, spec in specs.items() if name in left}
    if not left:
        return Scope(specs)
    why = f"by its words the question goes on to: {', '.join(offered)}"
    return Scope(offered, 1, pressed=1, onward=True, why=why)


def _done(turn: Log) -> frozenset[str]:
    """The functions that gave a result, and those that failed more than once."""
    results = [message for message in turn if isinstance(message, Result)]
    failed = Counter(result.tool for result in results if not result.ok)
    good = {result.tool for result in results if result.ok}
    return frozenset(good | {name for name, times in failed.items() if times > 1})


def _nearest(near: Near, specs: Specs, rules: WordRules) -> Specs:
    """The functions that are offered where one is to be called."""
    if not rules.nearest or not near.ranked:
        return specs
    best, *others = near.ranked
    leads = not others or near.scores[best] - near.scores[others[0]] >= rules.lead
    left = (best,) if leads else near.ranked[: rules.nearest]
    return {name: specs[name] for name in specs if name in left}


def _several(near: Near, question: str, specs: Specs, rules: WordRules) -> Specs:
    """The functions that are offered where several calls are to be made.

    They stand in the order in which the question speaks of them: a small model calls them as they
    are shown to it.
    """
    best = max(near.scores.values(), default=0.0)
    spoken = spoken_of(question, specs)
    left = [n for n in specs if near.scores[n] >= rules.near * best or n in spoken]
    offered = {name: specs[name] for name in specs if not rules.nearest or name in left}
    return {name: offered[name] for name in in_order(question, offered)}
