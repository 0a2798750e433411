"""Calls held against what was said, where the rules of a prompt set ask for it (`azent.words`).

A small model that is asked for a call makes one, with inputs that nobody gave. Such a call is not
made, and an optional input that nobody gave is left out. Only for the first decision of a question,
as long as the caller does not demand a call: later ones go by results, which a model may add up.
A further step that the words of the question ask for has to go by the results, or it is not made;
but where one reply may make one call only, what else the question says may be the next one's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from azent.log import key_of, questions_of, replies_of, turn_of
from azent.messages import Call, Log, Reply, Result
from azent.prompt import WordRules
from azent.request import Terms, choice_now
from azent.scope import is_first, scope_of
from azent.words import (
    brings_news,
    grounded,
    is_foreign,
    says_nothing_else,
    without_invented,
)

SHARES = {"none": 0.0, "half": 0.5, "all": 1.0}  # of the required inputs that have to be said


def held_calls(calls: Sequence[Call], log: Log, terms: Terms) -> tuple[Call, ...]:
    """The calls that what was said bears out, without inputs that nobody gave."""
    if not _is_judged(log, terms):
        return tuple(calls)
    scope = scope_of(log, terms.specs, terms.prompts, "auto", terms.system)
    if not (is_first(turn_of(log)) or scope.onward):
        return tuple(calls)
    said = _said(log, terms)
    held = [held for call in calls if (held := _held(call, said, terms)) is not None]
    once = _once(held, terms)
    if scope.onward:
        return tuple(call for call in once if call.problem or _is_next(call, log, terms))
    return _with_news(once, said, in_doubt=scope.least < 2) if terms.prompts.words.news else once


def held_reply(reply: Reply, log: Log, terms: Terms) -> Reply:
    """A reply with its calls so held; its repairs tell how many of which functions are gone."""
    calls = held_calls(reply.calls, log, terms)
    if calls == reply.calls:
        return reply
    gone = Counter(call.tool for call in reply.calls)
    gone.subtract(call.tool for call in calls)
    notes = [_gone(name, count) for name, count in sorted(gone.items()) if count]
    return replace(reply, calls=calls, repairs=(*reply.repairs, *notes))


def _gone(tool: str, count: int) -> str:
    if count == 1:
        return f"a call of {tool} was left out: nothing said asks for it"
    return f"{count} calls of {tool} were left out: nothing said asks for them"


def _is_judged(log: Log, terms: Terms) -> bool:
    """Do the rules judge calls at all, and in the script of the question?"""
    rules, turn = terms.prompts.words, turn_of(log)
    if rules == WordRules() or choice_now(turn, terms) != "auto":
        return False
    return not any(map(is_foreign, questions_of(turn)))


def _is_next(call: Call, log: Log, terms: Terms) -> bool:
    """Does a call go on from the results, or say what the question says and no call had yet?

    One without inputs can do neither; it is made where it does no harm.
    """
    if not call.tool_input:
        return call.tool in terms.readonly
    return _goes_by_results(call, log) or _is_still_asked(call, turn_of(log))


def _is_still_asked(call: Call, turn: Log) -> bool:
    """Has a call something that the question says, and that no call has had yet?"""
    made = [before.tool_input for reply in replies_of(turn) for before in reply.calls]
    return brings_news(call.tool_input, made, "\n".join(questions_of(turn)))


def _goes_by_results(call: Call, log: Log) -> bool:
    """Has a call something that came up in the results, and not in the question?

    Where all have failed so far, there is nothing to go by yet.
    """
    turn = turn_of(log)
    results = [message.text for message in turn if isinstance(message, Result) and message.ok]
    asked = [{"question": text} for text in questions_of(turn)]
    return not results or brings_news(call.tool_input, asked, "\n".join(results))


def _said(log: Log, terms: Terms) -> str:
    """All that was said: the system text, questions, answers, results."""
    texts = (getattr(message, "text", "") for message in log)
    return "\n".join([terms.system, *texts])


def _held(call: Call, said: str, terms: Terms) -> Call | None:
    spec = terms.specs.get(call.tool)
    if call.problem or spec is None:
        return call
    rules, parameters = terms.prompts.words, spec.get("parameters") or {}
    if not grounded(call.tool_input, parameters, said, SHARES[rules.grounded]):
        return None
    if not rules.given:
        return call
    return replace(call, tool_input=without_invented(call.tool_input, parameters, said))


def _with_news(calls: Sequence[Call], said: str, *, in_doubt: bool) -> tuple[Call, ...]:
    """The first call, and those that add to the ones before them.

    Where several are asked for without a doubt, that is what those of the same function do not
    say yet. Else a further call has to say what none before it says, and nothing that was not
    said; and it may not just add to one of the same function, since that belongs into it.
    """
    kept: list[Call] = []
    for call in calls:
        before = [c for c in kept if in_doubt or c.tool == call.tool]
        given = call.problem or not before
        if given or _adds(call, before, said, in_doubt=in_doubt):
            kept.append(call)
    return tuple(kept)


def _adds(call: Call, before: Sequence[Call], said: str, *, in_doubt: bool) -> bool:
    if in_doubt and not says_nothing_else(call.tool_input, said):
        return False
    same = [other for other in before if other.tool == call.tool]
    if in_doubt and any(_agree(other.tool_input, call.tool_input) for other in same):
        return False
    return brings_news(call.tool_input, [c.tool_input for c in before], said)


def _agree(one: Any, other: Any) -> bool:
    """Are two values the same, or two objects that differ in nothing that both of them have?"""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(_agree(one[name], other[name]) for name in one.keys() & other.keys())
    return bool(one == other)


def _once(calls: Sequence[Call], terms: Terms) -> tuple[Call, ...]:
    """The calls without doubles, which a model makes to fill up the number that it is held to."""
    kept: dict[object, Call] = {}
    for number, call in enumerate(calls):
        kept.setdefault(number if call.tool in terms.repeatable else key_of(call), call)
    return tuple(kept.values())
