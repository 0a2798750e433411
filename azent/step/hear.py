"""What came of a step, put into the log: a reply, a result, a refusal."""

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
    """The log with a reply that was read: its calls numbered, what cannot run answered at once.

    Illegal calls get results that say what to mend; a call that the last reply made too gets its
    result again, unless its tool may run again; a reply of no use gets a correction; one that
    meets the terms' `until` ends the turn.
    """
    turn = turn_of(log)
    reply = _further(reply, turn, terms) if reply.move == "more" else reply
    reply = _judged(reply, turn, terms)
    if reply.move == "gate" and reply.picked == () and (waiting := pending(turn)):
        withheld = [Result(call.tool, WITHHELD, ok=False, id=call.id) for call in waiting]
        return (*log, reply, *withheld)
    reply = replace(reply, calls=_numbered(reply.calls, call_count(log)))
    if _meets(reply, terms.until):
        over = [
            Result(c.tool, "not run: the conversation was ended", False, id=c.id)
            for c in reply.calls
        ]
        return (*log, reply, *over, Note("stopped", "terminated"))
    made = [other for other in replies_of(folded(turn)) if other.calls]
    before = {key_of(call): call for call in reversed(made[-1].calls)} if made else {}
    again = repeats([*map(signature, made), signature(reply)])
    answered = [
        _result_at_once(call, before.get(key_of(call)) if before else None, again, turn, terms)
        for call in reply.calls
    ]
    heard = (*log, reply, *(result for result in answered if result is not None))
    return (*heard, Correction(reply.problem)) if reply.problem else heard


def ranked(log: Log, step: Rank, queries: Sequence[Vector], passages: Sequence[Vector]) -> Log:
    """The log with how near the functions are to its last question.

    `queries` are the vectors of the step's queries, `passages` those of its functions and then of
    its bank. Without any the ranking is empty: all functions are offered, and the model decides.
    """
    if not queries:
        return (*log, Ranking())
    count = len(step.functions)
    functions = dict(zip(step.functions, passages[:count], strict=True))
    return (*log, ranking(queries, functions, passages[count:]))


def further_calls(calls: Iterable[Call], turn: Log, terms: Terms) -> tuple[tuple[Call, ...], bool]:
    """Of the calls of a reply that was asked for more, those to keep; and whether that is all.

    The model writes its first calls again, and then others. One is kept if it uses a value of the
    question that no call before it uses; with the first that does not, no more is expected.
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


def _further(reply: Reply, turn: Log, terms: Terms) -> Reply:
    """The reply to a request for more calls, with those that are kept of it."""
    kept, _ = further_calls(reply.calls, turn, terms)
    before = [reply for reply in replies_of(turn) if reply.calls][-1].usage
    usage = reply.usage
    if usage and before and not usage.prompt_tokens:  # it was stopped before the server counted
        usage = replace(usage, prompt_tokens=before.prompt_tokens)
    return replace(reply, calls=kept, text="", problem=None, repairs=(), usage=usage)


def _judged(reply: Reply, turn: Log, terms: Terms) -> Reply:
    """The reply, with a problem where it is not what was asked for."""
    if reply.move == "answer":
        return _valued(reply, terms)
    judged_elsewhere = narrows(reply) or reply.move == "more"
    return reply if judged_elsewhere else _chosen(reply, choice_now(turn, terms))


def _meets(reply: Reply, until: str | Callable[[Reply], bool] | None) -> bool:
    """Does the reply end the conversation: by a word in it, or in the eyes of a function?"""
    if isinstance(until, str):
        return until in reply.text
    return until is not None and bool(until(reply))


def early(log: Log, certain: Sequence[Call], terms: Terms) -> tuple[Call, ...]:
    """Of the calls of a reply that still streams, those that may begin now, numbered as by `hear`.

    `certain` are all that are certain so far, in their order. Readonly ones may, as long as nobody
    must be asked, the choice allows them, and the last reply did not make the same call.
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
    """The log with a call that a person refused: what is allowed still runs, then it is answered.

    A model that is refused one way would try another, and the person would be asked again.
    """
    taken = take(log, Result(call.tool, REFUSED, ok=False, id=call.id), terms)
    return (*taken, Note("stopped", "refused"))


def take(log: Log, result: Result, terms: Terms) -> Log:
    """The log with a result, which identical calls of the same reply share."""
    waiting = {call.id: call for call in pending(turn_of(log))}
    if (own := waiting.pop(result.id, None)) is None:
        return log
    shared = [] if own.tool in terms.repeatable else waiting.values()
    twins = [call for call in shared if _are_alike(call, own) and key_of(call) == key_of(own)]
    return (*log, result, *(replace(result, id=twin.id) for twin in twins))


def _are_alike(call: Call, other: Call) -> bool:
    """May two calls be the same? Quick to find out, where `key_of` is not."""
    return call.tool == other.tool and call.tool_input == other.tool_input


def to_run(calls: Sequence[Call], terms: Terms) -> tuple[Call, ...]:
    """The calls without those that share another's result."""
    kept: dict[object, Call] = {}
    for call in calls:
        kept.setdefault(call.id if call.tool in terms.repeatable else key_of(call), call)
    return tuple(kept.values())


def _chosen(reply: Reply, choice: str) -> Reply:
    """The reply, with a problem where it is not what `choice` demands."""
    if choice in ("auto", "none") or reply.problem:
        return reply
    named = [call for call in reply.calls if choice in ("required", call.tool)]
    if named and len(named) == len(reply.calls):
        return reply
    wanted = "a function" if choice == "required" else f"the function {choice!r} and no other"
    return replace(reply, calls=(), problem=Problem("malformed", f"you must call {wanted} now"))


def _valued(reply: Reply, terms: Terms) -> Reply:
    """An answer, its text the JSON of its value where one is asked for, or with its problem."""
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
    """The result of a call that is not to be run: it is illegal, or was made just before.

    `before` is the same call in the last reply that made any; `again` says that the whole reply
    repeats.
    """
    if call.problem:
        return Result(call.tool, call.problem.message, False, call.problem, id=call.id)
    if before is None or call.tool in terms.repeatable:
        return None
    if call.tool in terms.readonly and not again:
        return None
    first = next((m for m in turn if isinstance(m, Result) and m.id == before.id), None)
    return replace(first, text=_told_before(first.text), id=call.id) if first else None


def _told_before(text: str) -> str:
    note = "(the same call as before, not run again; its result was:) "
    return text if text.startswith(note) else note + text
