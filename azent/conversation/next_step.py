"""Compute the next step of a conversation from its log and terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from azent.conversation.answers import read_value
from azent.conversation.context_window import Fit, fit, shrink
from azent.conversation.requests import Terms, choice_now, messages_for
from azent.errors import BadReply
from azent.messages import Answer, Call, ChatMessage, Log, Move, Note, Reply, Result, Usage
from azent.messages.log import (
    failures,
    folded,
    note_in,
    pending,
    question_of,
    repeats,
    replies_of,
    rounds,
    said_in,
    signature,
    turn_of,
    withheld_calls,
    without_last_calls,
)
from azent.parsing.answers import AnswerReader, WordsReader, begins_in_reasoning
from azent.parsing.decoding_schema import NarrowingReader, narrowing_schema, reply_schema
from azent.parsing.reader import Reader
from azent.selection import (
    DECLINED,
    REPLY_TOKENS,
    Scope,
    decides_by_meaning,
    description_of,
    invented,
    is_first,
    is_mostly_numbers,
    may_ask_for_several,
    narrowing_due,
    narrows,
    nothing_more_is_due,
    queries_of,
    ranking_of,
    scope_of,
    uncovered,
)


@dataclass(frozen=True, slots=True)
class Ask:
    """The step to send a request to the model."""

    messages: tuple[ChatMessage, ...]  # the chat messages of the request
    format: dict[str, Any] | None  # JSON Schema for constrained decoding
    move: Move
    fit: Fit | None = None  # estimated size, if the context window is known
    shown: bool = True  # whether to show the text to a person as it streams
    why: str = ""  # the decision that led to this request
    warning: str = ""  # text for the user if functions were held back


@dataclass(frozen=True, slots=True)
class Rank:
    """The step to encode texts as vectors, to rank the functions by similarity to the question."""

    queries: tuple[str, ...]  # the texts of the question
    functions: Mapping[str, str]  # the texts of the functions, by name
    bank: tuple[str, ...]  # the texts of unrelated functions for comparison

    @property
    def passages(self) -> tuple[str, ...]:
        """Return the texts of the functions, then those of the bank."""
        return (*self.functions.values(), *self.bank)


@dataclass(frozen=True, slots=True)
class Shrink:
    """The step to append this note to the log, so that the next request fits the context window."""

    note: Note


@dataclass(frozen=True, slots=True)
class Run:
    """The step to run these calls in parallel."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The step that ends a turn: the question has its answer."""

    answer: Answer


Step: TypeAlias = Ask | Rank | Shrink | Run | Done

MOST_CALLS = 8  # asked for in one reply
AT_ONCE = ("timeout", "terminated")  # reasons that stop a turn without an answer of the model


def next_step(log: Log, terms: Terms) -> Step:
    """Return what to do next in the last turn of a log.

    Raises BadReply, carrying the log, if more corrections in a row than `terms.repairs` were
    needed, and ContextTooSmall if the tools leave no room for a question.
    """
    turn = turn_of(log)
    if waiting := pending(turn):
        return _before_running(log, terms, waiting)
    if failures(turn) > terms.repairs:
        raise _gave_up(log, turn)
    if _ranking_is_due(turn, terms):
        return _rank(log, terms)
    move = _next_move(log, terms)
    if move is None:
        return Done(answer_of(log, terms))
    if note := shrink(log, terms, move):
        return Shrink(note)
    return _ask(log, terms, move)


def _before_running(log: Log, terms: Terms, waiting: tuple[Call, ...]) -> Ask | Run:
    """Return the request that comes before calls are run, if one is due, else their run."""
    if is_doubtful(log, waiting, terms):
        names = ", ".join(unnamed_inputs(log, waiting, terms))
        return replace(_ask(log, terms, "gate"), why=f"nobody named a value for {names}")
    return _ask(log, terms, "more") if more_is_due(turn_of(log), terms) else Run(waiting)


def is_doubtful(log: Log, calls: Sequence[Call], terms: Terms) -> bool:
    """Return whether the gate is asked once more, as the first calls have inputs that nobody named.

    Only where meaning alone decided that a function is called; the gate then decides.
    """
    turn = turn_of(log)
    replies = replies_of(turn)
    if "gate" not in terms.prompts.decide or any(reply.move == "gate" for reply in replies):
        return False
    first_calls = sum(bool(reply.calls) for reply in replies) <= 1
    if not first_calls or terms.choice != "auto" or ranking_of(turn) is None:
        return False
    return bool(unnamed_inputs(log, calls, terms))


def unnamed_inputs(log: Log, calls: Sequence[Call], terms: Terms) -> tuple[str, ...]:
    """Return the required inputs of calls with numbers that are not in the conversation."""
    return invented(calls, f"{terms.system}\n{said_in(log)}", terms.specs)


def _ask(log: Log, terms: Terms, move: Move) -> Ask:
    messages = messages_for(log, terms, move)
    fitted = fit(log, messages, terms.num_ctx) if terms.num_ctx else None
    undecided = all(map(narrows, replies_of(turn_of(log))))
    # The answer after calls is no decision, so nothing narrows it down.
    scope = _scope(log, terms) if undecided or move != "answer" else Scope(terms.specs)
    declined = move == "answer" and not scope.specs
    why = scope.why if undecided and (declined or move != "answer") else ""
    held = _format(log, terms, move, scope)
    warning = f"no function was offered: {why}" if declined and why else ""
    if move == "answer" and (withheld := withheld_calls(turn_of(log))):
        names = ", ".join(call.tool for call in withheld)
        warning = f"{names} was not called: the call had values that nobody named, and {DECLINED}"
    return Ask(messages, held, move, fitted, terms.typed is None, why, warning)


def _ranking_is_due(turn: Log, terms: Terms) -> bool:
    """Return whether to rank the functions before anything else in the turn."""
    able = terms.encoded and bool(terms.prompts.bank)
    wanted = able and decides_by_meaning(terms.specs, terms.prompts.selection)
    fresh = not replies_of(turn) and ranking_of(turn) is None and note_in(turn, "stopped") is None
    return wanted and fresh and _may_call(turn, terms)


def _rank(log: Log, terms: Terms) -> Rank:
    functions = {name: description_of(spec) for name, spec in terms.specs.items()}
    return Rank(queries_of(log), functions, terms.prompts.bank)


def more_is_due(turn: Log, terms: Terms) -> bool:
    """Return whether to ask for further calls, because values of the question are unused.

    This is only done after the first decision of a turn, if its calls are valid and have not run
    yet.
    """
    wanted = terms.prompts.selection.more and terms.prompts.held
    if not wanted or not terms.parallel or terms.choice != "auto":
        return False
    made = [reply for reply in replies_of(turn) if reply.calls]
    since = [m for m in turn if not (isinstance(m, Reply) and narrows(m))]
    if len(made) != 1 or since[-1] is not made[0] or made[0].move != "decide":
        return False
    calls = made[0].calls
    legal = not any(call.problem for call in calls) and len(calls) < MOST_CALLS
    question = question_of(turn)
    if not legal or is_mostly_numbers(question):  # each step needs the result before
        return False
    return bool(uncovered(question, calls, terms.specs))


def _next_move(log: Log, terms: Terms) -> Move | None:
    """Return the kind of the next request, or None if the turn is over."""
    turn = turn_of(log)
    first: Move = "decide" if terms.prompts.turn == "decide-answer" else "single"
    if (note := note_in(turn, "stopped")) and note.text in AT_ONCE:
        return None
    replies = replies_of(folded(turn))
    if all(map(narrows, replies)):
        return _first_move(log, terms, first)
    last = replies[-1]
    if _is_answer(last, terms):
        return None
    if last.move == "answer" or not (last.calls or last.problem):
        return "answer"
    if not _may_call(turn, terms):
        return "answer"
    if _is_forced(turn, terms):
        return first
    is_over = nothing_more_is_due(turn, terms.specs, terms.prompts.selection)
    return "answer" if is_over or stop_reason(turn, terms) else first


def _first_move(log: Log, terms: Terms, first: Move) -> Move:
    """Return the kind of the next request while nothing is decided, "answer" without functions."""
    turn = turn_of(log)
    scope = _scope(log, terms)
    if not _may_call(turn, terms) or not scope.specs:
        return "answer"
    return narrowing_due(turn, scope, terms.prompts, choice_now(turn, terms)) or first


def _scope(log: Log, terms: Terms) -> Scope:
    choice = choice_now(turn_of(log), terms)
    return scope_of(log, terms.specs, terms.prompts, choice, terms.system)


def _is_answer(reply: Reply, terms: Terms) -> bool:
    """Return whether a reply ends the turn: it is text, and no typed value is still to be given."""
    if terms.typed and reply.move != "answer":
        return False
    return not reply.problem and not reply.calls and bool(reply.text.strip())


def _may_call(turn: Log, terms: Terms) -> bool:
    return bool(terms.specs) and choice_now(turn, terms) != "none"


def _is_forced(turn: Log, terms: Terms) -> bool:
    return choice_now(turn, terms) not in ("auto", "none")


def _format(log: Log, terms: Terms, move: Move, scope: Scope) -> dict[str, Any] | None:
    if move == "answer":
        return terms.typed.held if terms.typed else terms.output
    if move == "single" or not terms.prompts.held:
        return None
    if move == "gate" or move == "choose" or move == "list":
        return narrowing_schema(move, scope.specs)
    least, most = scope.least, scope.most
    if move == "more":
        scope, least, most = _scope(without_last_calls(log), terms), MOST_CALLS, MOST_CALLS
    elif terms.prompts.selection.more and not may_ask_for_several(question_of(turn_of(log))):
        most = most or 1  # else small models add calls that nothing in the question asks for
    return reply_schema(
        scope.specs,
        choice_now(turn_of(log), terms),
        thought=terms.prompts.thought,
        least=least if terms.parallel else min(least, 1),
        most=most if terms.parallel else 1,
        answers=not least and may_answer(turn_of(log), terms),
    )


def may_answer(turn: Log, terms: Terms) -> bool:
    """Return whether the next decision may give the answer in place of calls.

    An answer that must obey a schema, or has decoding options of the caller, needs a request of its
    own.
    """
    rule = terms.prompts.answers
    free = terms.typed is None and terms.output is None and not terms.options
    due = rule == "always" or (rule == "after results" and not is_first(turn))
    return free and due and choice_now(turn, terms) == "auto"


def stop_reason(turn: Log, terms: Terms) -> str | None:
    """Return why the turn makes no more calls (a "stopped" note, "rounds", "repeats"), or None."""
    if note := note_in(turn, "stopped"):
        return note.text
    made = [signature(reply) for reply in replies_of(folded(turn)) if reply.calls]
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
    """Return the Answer of a turn that is over, with its calls, results and usage."""
    turn = turn_of(log)
    replies = replies_of(turn)
    calls = tuple(call for reply in replies for call in reply.calls)
    results = {m.id: m for m in turn if isinstance(m, Result)}
    stopped = stop_reason(turn, terms)
    final = bool(replies) and (_is_answer(replies[-1], terms) or stopped == "terminated")
    text = replies[-1].text.strip() if final else ""
    return Answer(
        text=text,
        value=read_value(text, terms.typed)[0] if text and terms.typed else None,
        log=log,
        calls=tuple(call for call in calls if not call.problem),
        results=tuple(results[call.id] for call in calls if call.id in results),
        usage=sum((m.usage for m in turn if isinstance(m, Reply | Note) and m.usage), Usage()),
        stopped=stopped,
    )


# ---- how the reply to a request is read ----------------------------------------------------------

ReplyReader: TypeAlias = Reader | AnswerReader | WordsReader | NarrowingReader


def reader_for(step: Ask, terms: Terms, log: Log = ()) -> ReplyReader:
    """Return a new parser for the reply to this request.

    A model whose last reply closed its reasoning without an opening tag is expected to do so again.
    """
    opened = begins_in_reasoning(next((reply.raw for reply in reversed(replies_of(log))), ""))
    if step.move == "answer":
        return WordsReader(opened=opened)
    if step.move == "gate" or step.move == "choose" or step.move == "list":
        return NarrowingReader(step.move, terms.specs)
    held = step.format is not None
    reader = Reader(terms.specs, held=held, trusted=terms.trusted, opened=opened and not held)
    return reader if terms.prompts.answers == "apart" else AnswerReader(reader)


def options_for(move: Move, terms: Terms) -> dict[str, Any]:
    """Return a request's server options: the caller's for answers, a token limit for a gate."""
    if move == "gate":
        return {"num_predict": REPLY_TOKENS}
    return dict(terms.options) if move in ("answer", "single") else {}
