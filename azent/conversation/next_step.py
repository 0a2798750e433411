"""Compute the next step of a conversation from its log and terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from azent.conversation.answers import read_value
from azent.conversation.context_window import Fit, fit, shrink
from azent.conversation.position import Position, Terms, has_plain_answers
from azent.conversation.requests import request_at
from azent.errors import BadReply
from azent.messages import Answer, Call, ChatMessage, Log, Move, Note, Reply, Result, Usage
from azent.messages.log import (
    DECLINED,
    failures,
    repeats,
    replies_of,
    rounds,
    signature,
    texts_of,
    withheld_calls,
    without_last_calls,
)
from azent.parsing.answers import AnswerReader, WordsReader, begins_in_reasoning
from azent.parsing.decoding_schema import NarrowingReader, narrowing_schema, reply_schema
from azent.parsing.reader import Reader
from azent.selection import (
    REPLY_TOKENS,
    Scope,
    decides_by_meaning,
    description_of,
    invented,
    is_mostly_numbers,
    may_ask_for_several,
    narrowing_due,
    narrows,
    nothing_more_is_due,
    queries_of,
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
    at = Position(log, terms)
    if at.pending:
        return _before_running(at)
    if failures(at.turn) > terms.repairs:
        raise _gave_up(at)
    if _ranking_is_due(at):
        return _rank(at)
    move = _next_move(at)
    if move is None:
        return Done(_answer_at(at))
    if note := shrink(log, terms, move):
        return Shrink(note)
    return _ask(at, move)


def _before_running(at: Position) -> Ask | Run:
    """Return the request that comes before calls are run, if one is due, else their run."""
    if doubts := doubtful_inputs(at, at.pending):
        return replace(_ask(at, "gate"), why=f"nobody named a value for {', '.join(doubts)}")
    return _ask(at, "more") if more_is_due(at) else Run(at.pending)


def doubtful_inputs(at: Position, calls: Sequence[Call]) -> tuple[str, ...]:
    """Return the inputs of the first calls because of which the gate is asked once more.

    These are required inputs with numbers that nobody named. They matter only where meaning alone
    decided that a function is called; the gate then decides.
    """
    terms = at.terms
    if "gate" not in terms.prompts.decide or any(reply.move == "gate" for reply in at.replies):
        return ()
    first_calls = sum(bool(reply.calls) for reply in at.replies) <= 1
    if not first_calls or terms.choice != "auto" or at.ranking is None:
        return ()
    return invented(calls, (terms.system, *texts_of(at.log)), terms.specs)


def _ask(at: Position, move: Move) -> Ask:
    terms = at.terms
    messages = request_at(at, move)
    fitted = fit(at.log, messages, terms.num_ctx) if terms.num_ctx else None
    # The answer after calls is no decision, so nothing narrows it down.
    scope = at.scope if at.is_undecided or move != "answer" else Scope(terms.specs)
    declined = move == "answer" and not scope.specs
    why = scope.why if at.is_undecided and (declined or move != "answer") else ""
    held = _format(at, move, scope)
    warning = f"no function was offered: {why}" if declined and why else ""
    if move == "answer" and (withheld := withheld_calls(at.turn)):
        names = ", ".join(call.tool for call in withheld)
        warning = f"{names} was not called: the call had values that nobody named, and {DECLINED}"
    return Ask(messages, held, move, fitted, terms.typed is None, why, warning)


def _ranking_is_due(at: Position) -> bool:
    """Return whether to rank the functions before anything else in the turn."""
    terms = at.terms
    able = terms.encoded and bool(terms.prompts.bank)
    wanted = able and decides_by_meaning(terms.specs, terms.prompts.selection)
    fresh = not at.replies and at.ranking is None and at.stopped is None
    return wanted and fresh and at.may_call


def _rank(at: Position) -> Rank:
    functions = {name: description_of(spec) for name, spec in at.terms.specs.items()}
    return Rank(queries_of(at.log), functions, at.terms.prompts.bank)


def more_is_due(at: Position) -> bool:
    """Return whether to ask for further calls, because values of the question are unused.

    This is only done after the first decision of a turn, if its calls are valid and have not run
    yet.
    """
    terms = at.terms
    wanted = terms.prompts.selection.more and terms.prompts.held
    if not wanted or not terms.parallel or terms.choice != "auto":
        return False
    made = [reply for reply in at.replies if reply.calls]
    since = [m for m in at.turn if not (isinstance(m, Reply) and narrows(m))]
    if len(made) != 1 or since[-1] is not made[0] or made[0].move != "decide":
        return False
    calls = made[0].calls
    legal = not any(call.problem for call in calls) and len(calls) < MOST_CALLS
    if not legal or is_mostly_numbers(at.question):  # each step needs the result before
        return False
    return bool(uncovered(at.question, calls, terms.specs))


def _next_move(at: Position) -> Move | None:
    """Return the kind of the next request, or None if the turn is over."""
    terms = at.terms
    first: Move = "decide" if terms.prompts.turn == "decide-answer" else "single"
    if at.stopped and at.stopped.text in AT_ONCE:
        return None
    if at.is_undecided:
        return _first_move(at, first)
    last = at.merged_replies[-1]
    if _is_answer(last, terms):
        return None
    if last.move == "answer" or not (last.calls or last.problem):
        return "answer"
    if not at.may_call:
        return "answer"
    if at.choice != "auto":
        return first
    is_over = nothing_more_is_due(at.turn, terms.specs, terms.prompts.selection)
    return "answer" if is_over or stop_reason(at) else first


def _first_move(at: Position, first: Move) -> Move:
    """Return the kind of the next request while nothing is decided, "answer" without functions."""
    if not at.may_call or not at.scope.specs:
        return "answer"
    return narrowing_due(at.turn, at.scope, at.terms.prompts, at.choice) or first


def _is_answer(reply: Reply, terms: Terms) -> bool:
    """Return whether a reply ends the turn: it is text, and no typed value is still to be given."""
    if terms.typed and reply.move != "answer":
        return False
    return not reply.problem and not reply.calls and bool(reply.text.strip())


def _format(at: Position, move: Move, scope: Scope) -> dict[str, Any] | None:
    terms = at.terms
    if move == "answer":
        return terms.typed.held if terms.typed else terms.output
    if move == "single" or not terms.prompts.held:
        return None
    if move == "gate" or move == "choose" or move == "list":
        return narrowing_schema(move, scope.specs)
    least, most = scope.least, scope.most
    if move == "more":
        scope = Position(without_last_calls(at.log), terms).scope
        least, most = MOST_CALLS, MOST_CALLS
    elif terms.prompts.selection.more and not may_ask_for_several(at.question):
        most = most or 1  # else small models add calls that nothing in the question asks for
    return reply_schema(
        scope.specs,
        at.choice,
        thought=terms.prompts.thought,
        least=least if terms.parallel else min(least, 1),
        most=most if terms.parallel else 1,
        answers=not least and may_answer(at),
    )


def may_answer(at: Position) -> bool:
    """Return whether the next decision may give the answer in place of calls.

    An answer that must obey a schema, or has decoding options of the caller, needs a request of its
    own.
    """
    rule = at.terms.prompts.answers
    due = rule == "always" or (rule == "after results" and not at.is_first)
    return due and at.choice == "auto" and has_plain_answers(at.terms)


def stop_reason(at: Position) -> str | None:
    """Return why the turn makes no more calls (a "stopped" note, "rounds", "repeats"), or None."""
    if at.stopped:
        return at.stopped.text
    if repeats([signature(reply) for reply in at.merged_replies if reply.calls]):
        return "repeats"
    return "rounds" if rounds(at.merged_replies) >= at.terms.rounds else None


def _gave_up(at: Position) -> BadReply:
    last = at.replies[-1]
    problem = last.problem or next(call.problem for call in last.calls if call.problem)
    return BadReply(
        f"the model gave no usable reply in {failures(at.turn)} tries ({problem.kind}): "
        f"{problem.message}",
        log=at.log,
    )


def answer_of(log: Log, terms: Terms) -> Answer:
    """Return the Answer of a turn that is over, with its calls, results and usage."""
    return _answer_at(Position(log, terms))


def _answer_at(at: Position) -> Answer:
    terms = at.terms
    calls = tuple(call for reply in at.replies for call in reply.calls)
    results = {m.id: m for m in at.turn if isinstance(m, Result)}
    stopped = stop_reason(at)
    final = bool(at.replies) and (_is_answer(at.replies[-1], terms) or stopped == "terminated")
    text = at.replies[-1].text.strip() if final else ""
    return Answer(
        text=text,
        value=read_value(text, terms.typed)[0] if text and terms.typed else None,
        log=at.log,
        calls=tuple(call for call in calls if not call.problem),
        results=tuple(results[call.id] for call in calls if call.id in results),
        usage=sum((m.usage for m in at.turn if isinstance(m, Reply | Note) and m.usage), Usage()),
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
