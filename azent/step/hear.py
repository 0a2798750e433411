"""Append the outcome of a step to the log: a reply, a result, a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from azent.log import (
    WITHHELD,
    call_count,
    folded,
    key_of,
    pending,
    question_of,
    repeats,
    replies_of,
    signature,
    turn_of,
)
from azent.messages import Call, Correction, Log, Note, Problem, Ranking, Reply, Result
from azent.request import Terms, choice_now
from azent.selection import Vector, adds_to, narrows, ranking, uncovered
from azent.step.next import Rank, is_doubtful
from azent.typed import read_value

REFUSED = "the user did not allow this call"
NO_WORDS = Problem("empty", "The answer has no words.")


def hear(log: Log, reply: Reply, terms: Terms) -> Log:
    """Return the log with a parsed reply appended, its calls numbered.

    Calls that will not run get their result at once:
    - an invalid call gets an error result that tells the model how to fix it
    - a call that repeats one of the previous reply gets that call's result, unless its tool may run
      again
    An unusable reply is followed by a correction. A reply that satisfies `terms.until` ends the
    turn.
    """
    turn = turn_of(log)
    reply = _with_further_calls(reply, turn, terms) if reply.move == "more" else reply
    reply = _checked(reply, turn, terms)
    if reply.move == "gate" and reply.picked == () and (waiting := pending(turn)):
        withheld = [Result(call.tool, WITHHELD, ok=False, id=call.id) for call in waiting]
        return (*log, reply, *withheld)
    reply = replace(reply, calls=_numbered(reply.calls, call_count(log)))
    if _ends_turn(reply, terms.until):
        skipped = [
            Result(c.tool, "not run: the conversation was ended", False, id=c.id)
            for c in reply.calls
        ]
        return (*log, reply, *skipped, Note("stopped", "terminated"))
    made = [other for other in replies_of(folded(turn)) if other.calls]
    before = {key_of(call): call for call in reversed(made[-1].calls)} if made else {}
    again = repeats([*map(signature, made), signature(reply)])
    answered = [
        _result_at_once(call, before.get(key_of(call)) if before else None, again, turn, terms)
        for call in reply.calls
    ]
    extended = (*log, reply, *(result for result in answered if result is not None))
    return (*extended, Correction(reply.problem)) if reply.problem else extended


def ranked(log: Log, step: Rank, queries: Sequence[Vector], passages: Sequence[Vector]) -> Log:
    """Return the log with a ranking of the functions for its last question appended.

    - `queries`: the vectors of the step's queries
    - `passages`: the vectors of the step's functions, then of its bank
    The ranking is empty if there are no vectors; then all functions are offered and the model
    decides.
    """
    if not queries:
        return (*log, Ranking())
    count = len(step.functions)
    functions = dict(zip(step.functions, passages[:count], strict=True))
    return (*log, ranking(queries, functions, passages[count:]))


def further_calls(calls: Iterable[Call], turn: Log, terms: Terms) -> tuple[tuple[Call, ...], bool]:
    """Return the calls to keep of a reply to a "more" request, and whether it needs no more calls.

    The model first repeats the calls that it made before, which are skipped. A further call is kept
    if it uses a value of the question that no earlier call uses; the first one that does not ends
    the list.
    """
    made = [call for reply in replies_of(turn) for call in reply.calls]
    known, kept = {key_of(call) for call in made}, [*made]
    for number, call in enumerate(calls):
        if key_of(call) in known and number < len(made):
            continue
        if call.problem or not adds_to(call, question_of(turn), kept, terms.specs):
            return tuple(kept[len(made) :]), True
        kept.append(call)
    return tuple(kept[len(made) :]), not uncovered(question_of(turn), kept, terms.specs)


def _with_further_calls(reply: Reply, turn: Log, terms: Terms) -> Reply:
    """Return the reply to a "more" request, reduced to the calls that are kept."""
    kept, _ = further_calls(reply.calls, turn, terms)
    before = [reply for reply in replies_of(turn) if reply.calls][-1].usage
    usage = reply.usage
    if usage and before and not usage.prompt_tokens:  # it was stopped before the server counted
        usage = replace(usage, prompt_tokens=before.prompt_tokens)
    return replace(reply, calls=kept, text="", problem=None, repairs=(), usage=usage)


def _checked(reply: Reply, turn: Log, terms: Terms) -> Reply:
    """Return the reply, with a problem set if it does not fit the request."""
    if reply.move == "answer":
        return _with_value_checked(reply, terms)
    is_checked_elsewhere = narrows(reply) or reply.move == "more"
    return reply if is_checked_elsewhere else _with_choice_checked(reply, choice_now(turn, terms))


def _ends_turn(reply: Reply, until: str | Callable[[Reply], bool] | None) -> bool:
    """Return whether the reply contains the text `until`, or the function `until` accepts it."""
    if isinstance(until, str):
        return until in reply.text
    return until is not None and bool(until(reply))


def early(log: Log, certain: Sequence[Call], terms: Terms) -> tuple[Call, ...]:
    """Return the calls of a reply still streaming that may start now, numbered as `hear` will do.

    `certain` are the calls parsed so far that later text cannot change, in order. A call may start
    if its tool is readonly and needs no confirmation, the tool choice allows it, and the previous
    reply did not make the same call.
    """
    may_begin = terms.readonly - terms.confirm
    if not may_begin or is_doubtful(log, certain, terms):
        return ()
    turn = turn_of(log)
    choice = choice_now(turn, terms)
    made = next((reply.calls for reply in reversed(replies_of(turn)) if reply.calls), ())
    before = {key_of(call) for call in made}
    return tuple(
        call
        for call in to_run(_numbered(certain, call_count(log)), terms)
        if call.tool in may_begin
        and choice in ("auto", "required", call.tool)
        and key_of(call) not in before
    )


def refuse(log: Log, call: Call, terms: Terms) -> Log:
    """Return the log with a call refused by the user, and a note that stops the turn.

    The other pending calls still run, then the model answers. The turn stops because a model that
    is refused one call tries another, and the user would be asked again.
    """
    taken = take(log, Result(call.tool, REFUSED, ok=False, id=call.id), terms)
    return (*taken, Note("stopped", "refused"))


def take(log: Log, result: Result, terms: Terms) -> Log:
    """Return the log with a result appended, also for the identical calls of the same reply."""
    waiting = {call.id: call for call in pending(turn_of(log))}
    if (own := waiting.pop(result.id, None)) is None:
        return log
    shared = [] if own.tool in terms.repeatable else waiting.values()
    twins = [call for call in shared if _is_same_call(call, own) and key_of(call) == key_of(own)]
    return (*log, result, *(replace(result, id=twin.id) for twin in twins))


def _is_same_call(call: Call, other: Call) -> bool:
    """Return whether two calls have the same tool and input; cheaper than comparing `key_of`."""
    return call.tool == other.tool and call.tool_input == other.tool_input


def to_run(calls: Sequence[Call], terms: Terms) -> tuple[Call, ...]:
    """Return the calls without duplicates, which share a result; repeatable tools keep theirs."""
    kept: dict[object, Call] = {}
    for call in calls:
        kept.setdefault(call.id if call.tool in terms.repeatable else key_of(call), call)
    return tuple(kept.values())


def _with_choice_checked(reply: Reply, choice: str) -> Reply:
    """Return the reply, with a problem set if its calls do not fit the tool choice."""
    if choice in ("auto", "none") or reply.problem:
        return reply
    named = [call for call in reply.calls if choice in ("required", call.tool)]
    if named and len(named) == len(reply.calls):
        return reply
    wanted = "a function" if choice == "required" else f"the function {choice!r} and no other"
    return replace(reply, calls=(), problem=Problem("malformed", f"you must call {wanted} now"))


def _with_value_checked(reply: Reply, terms: Terms) -> Reply:
    """Return an answer with its typed value as JSON text, or with a problem if it has no value."""
    if reply.problem:
        return reply
    if terms.typed is None:
        return reply if reply.text.strip() else replace(reply, problem=NO_WORDS)
    _, text, problem = read_value(reply.text, terms.typed)
    if problem and reply.done_reason == "length":
        problem = Problem(
            "truncated", f"the answer was cut: {problem.message}; write a shorter one"
        )
    return replace(reply, text=text, problem=problem)


def _numbered(calls: Iterable[Call], before: int) -> tuple[Call, ...]:
    return tuple(replace(call, id=str(n)) for n, call in enumerate(calls, start=before + 1))


def _result_at_once(
    call: Call, before: Call | None, again: bool, turn: Log, terms: Terms
) -> Result | None:
    """Return the result of a call that must not run, or None if it must.

    - `before`: the same call in the last reply with calls, if there is one
    - `again`: whether the whole reply repeats earlier ones
    """
    if call.problem:
        return Result(call.tool, call.problem.message, False, call.problem, id=call.id)
    if before is None or call.tool in terms.repeatable:
        return None
    if call.tool in terms.readonly and not again:
        return None
    first = next((m for m in turn if isinstance(m, Result) and m.id == before.id), None)
    return replace(first, text=_marked_as_repeated(first.text), id=call.id) if first else None


def _marked_as_repeated(text: str) -> str:
    note = "(the same call as before, not run again; its result was:) "
    return text if text.startswith(note) else note + text
