"""The conversation as a pure function of its transcript. No network, no clock, no tool runs here.

The log is the only thing that changes, the terms never do. `next_step` says what to do next; `hear`
and `take` put what came of it into the log. Whoever holds log and terms can stop, store, branch or
resume a conversation at any point, and the same log and terms give the same request, to the byte.

    log = (Question("What is 2 + 3?"),)
    next_step(log, terms)                  Ask(messages, format, move="decide")
    log = hear(log, reply, terms)          a reply was read: calls, an answer, or a correction
    next_step(log, terms)                  Run((Call("add", {"a": 2, "b": 3}, id="1"),))
    log = take(log, result, terms)         one call came back
    next_step(log, terms)                  Ask(...) ... Done(answer)

The moves of a turn: *decide* asks for calls, *answer* for words, *single* for either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from azent.errors import BadReply
from azent.log import (
    call_count,
    failures,
    key_of,
    note_in,
    pending,
    repeats,
    replies_of,
    rounds,
    signature,
    turn_of,
)
from azent.messages import (
    Answer,
    Call,
    ChatMessage,
    Correction,
    Log,
    Move,
    Problem,
    Reply,
    Result,
    Usage,
)
from azent.reply import reply_schema
from azent.request import Terms, messages_for


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model: these messages, held to this schema if there is one."""

    messages: tuple[ChatMessage, ...]
    format: dict[str, Any] | None
    move: Move


@dataclass(frozen=True, slots=True)
class Run:
    """Run these calls, side by side."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The question has its answer."""

    answer: Answer


Step: TypeAlias = Ask | Run | Done


# ---- what comes next -----------------------------------------------------------------------------


def next_step(log: Log, terms: Terms) -> Step:
    """What to do next with a conversation whose last turn is open, or is done.

    Raises BadReply, carrying the log, when the corrections in a row are used up.
    """
    turn = turn_of(log)
    if waiting := pending(turn):
        return Run(waiting)
    if failures(turn) > terms.repairs:
        raise _gave_up(log, turn)
    move = _next_move(turn, terms)
    if move is None:
        return Done(answer_of(log, terms))
    return Ask(messages_for(log, terms, move), _format(turn, terms, move), move)


def _next_move(turn: Log, terms: Terms) -> Move | None:
    """The move to make, or None where the turn is over."""
    first: Move = "decide" if terms.prompts.turn == "decide-answer" else "single"
    if note_in(turn, "stopped"):
        return None
    replies = replies_of(turn)
    if not replies:
        return first if _may_call(turn, terms) else "answer"
    last = replies[-1]
    if _is_answer(last):
        return None
    if last.move == "answer" or not (last.calls or last.problem):
        return "answer"
    if not _may_call(turn, terms):
        return "answer"
    return first if _is_forced(turn, terms) or not stop_reason(turn, terms) else "answer"


def _is_answer(reply: Reply) -> bool:
    """Does this reply end the turn? Words in reply to a decision do too."""
    return not reply.problem and not reply.calls and bool(reply.text.strip())


def _may_call(turn: Log, terms: Terms) -> bool:
    return bool(terms.specs) and _choice(turn, terms) != "none"


def _choice(turn: Log, terms: Terms) -> str:
    """The choice of tools that holds now: what was asked for holds until something was called."""
    since = replies_of(turn)[terms.past :]
    made = any(reply.calls and not reply.problem for reply in since)
    return "auto" if made else terms.choice


def _is_forced(turn: Log, terms: Terms) -> bool:
    return _choice(turn, terms) not in ("auto", "none")


def _format(turn: Log, terms: Terms, move: Move) -> dict[str, Any] | None:
    if move == "answer":
        return terms.output
    if move != "decide" or not terms.prompts.held:
        return None
    schema = reply_schema(terms.specs, _choice(turn, terms), thought=terms.prompts.thought)
    if not terms.parallel:
        schema["properties"]["tools"]["maxItems"] = 1
    return schema


def stop_reason(turn: Log, terms: Terms) -> str | None:
    """Why no more calls are made in this turn: a note, its rounds, or that it repeats itself."""
    if note := note_in(turn, "stopped"):
        return note.text
    made = [signature(reply) for reply in replies_of(turn) if reply.calls]
    if repeats(made):
        return "repeats"
    return "rounds" if rounds(turn) >= terms.rounds else None


def _gave_up(log: Log, turn: Log) -> BadReply:
    last = replies_of(turn)[-1]
    problem = last.problem or next(call.problem for call in last.calls if call.problem)
    return BadReply(
        f"the model gave no usable reply in {failures(turn)} tries ({problem.kind}): "
        f"{problem.message}",
        log=log,
    )


def answer_of(log: Log, terms: Terms) -> Answer:
    """The answer of a turn that is over, with all that it took."""
    turn = turn_of(log)
    replies = replies_of(turn)
    calls = tuple(call for reply in replies for call in reply.calls)
    results = {m.id: m for m in turn if isinstance(m, Result)}
    return Answer(
        text=replies[-1].text.strip() if replies and _is_answer(replies[-1]) else "",
        log=log,
        calls=tuple(call for call in calls if not call.problem),
        results=tuple(results[call.id] for call in calls if call.id in results),
        usage=sum((reply.usage for reply in replies if reply.usage), Usage()),
        stopped=stop_reason(turn, terms),
    )


# ---- what came of it -----------------------------------------------------------------------------


def hear(log: Log, reply: Reply, terms: Terms) -> Log:
    """The log with a reply that was read: its calls numbered, what cannot run answered at once.

    Illegal calls get results that say what to mend; a call that the last reply made too gets its
    result again, unless its tool may run again; a reply of no use gets a correction.
    """
    turn = turn_of(log)
    reply = _chosen(reply, _choice(turn, terms)) if reply.move != "answer" else reply
    reply = replace(reply, calls=_numbered(reply.calls, call_count(log)))
    answered = [_result_at_once(call, turn, reply, terms) for call in reply.calls]
    heard = (*log, reply, *(result for result in answered if result is not None))
    return (*heard, Correction(reply.problem)) if reply.problem else heard


def take(log: Log, result: Result, terms: Terms) -> Log:
    """The log with a result, which identical calls of the same reply share."""
    waiting = {call.id: call for call in pending(turn_of(log))}
    if result.id not in waiting:
        return log
    twins = [
        call
        for call in waiting.values()
        if call.id != result.id
        and call.tool not in terms.repeatable
        and key_of(call) == key_of(waiting[result.id])
    ]
    return (*log, result, *(replace(result, id=twin.id) for twin in twins))


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


def _numbered(calls: Iterable[Call], before: int) -> tuple[Call, ...]:
    return tuple(replace(call, id=str(n)) for n, call in enumerate(calls, start=before + 1))


def _result_at_once(call: Call, turn: Log, reply: Reply, terms: Terms) -> Result | None:
    """The result of a call that is not to be run: it is illegal, or was made just before."""
    if call.problem:
        return Result(call.tool, call.problem.message, False, call.problem, id=call.id)
    made = [other for other in replies_of(turn) if other.calls]
    before = next((c for c in made[-1].calls if key_of(c) == key_of(call)), None) if made else None
    if before is None or call.tool in terms.repeatable:
        return None
    again = repeats([*map(signature, made), signature(reply)])
    if call.tool in terms.readonly and not again:
        return None
    first = next((m for m in turn if isinstance(m, Result) and m.id == before.id), None)
    return replace(first, text=_told_before(first.text), id=call.id) if first else None


def _told_before(text: str) -> str:
    note = "(the same call as before, not run again; its result was:) "
    return text if text.startswith(note) else note + text
