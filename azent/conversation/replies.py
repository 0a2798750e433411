"""Put what came of a step into the log: a reply, a result, a refusal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from azent.conversation.answers import read_value
from azent.conversation.brackets import restored, with_brackets
from azent.conversation.next_step import Ask, Done, Rank, doubtful_inputs, next_step, reader_for
from azent.conversation.position import Position, Terms
from azent.errors import AzentError
from azent.messages import (
    Call,
    Correction,
    Delta,
    End,
    Log,
    Note,
    Problem,
    Question,
    Ranking,
    Reply,
    Result,
)
from azent.messages.log import (
    WITHHELD,
    call_count,
    key_of,
    pending,
    question_of,
    repeats,
    replies_of,
    signature,
    turn_of,
)
from azent.parsing.streaming import CALL_CHARS, WORD_CHARS, Circles
from azent.selection import Vector, adds_to, narrows, ranking, uncovered

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
    at = Position(log, terms)
    reply = _with_further_calls(reply, at) if reply.move == "more" else reply
    reply = _checked(reply, at)
    if reply.move == "gate" and reply.picked == () and at.pending:
        withheld = [Result(call.tool, WITHHELD, ok=False, id=call.id) for call in at.pending]
        return (*log, reply, *withheld)
    reply = replace(reply, calls=_numbered(reply.calls, call_count(log)))
    if _ends_turn(reply, terms.until):
        skipped = [
            Result(c.tool, "not run: the conversation was ended", False, id=c.id)
            for c in reply.calls
        ]
        return (*log, reply, *skipped, Note("stopped", "terminated"))
    made = [other for other in at.merged_replies if other.calls]
    before = {key_of(call): call for call in reversed(made[-1].calls)} if made else {}
    again = repeats([*map(signature, made), signature(reply)])
    answered = [
        _result_at_once(call, before.get(key_of(call)) if before else None, again, at)
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


def _with_further_calls(reply: Reply, at: Position) -> Reply:
    """Return the reply to a "more" request, reduced to the calls that are kept."""
    kept, _ = further_calls(reply.calls, at.turn, at.terms)
    before = [reply for reply in at.replies if reply.calls][-1].usage
    usage = reply.usage
    if usage and before and not usage.prompt_tokens:  # it was stopped before the server counted
        usage = replace(usage, prompt_tokens=before.prompt_tokens)
    return replace(reply, calls=kept, text="", problem=None, repairs=(), usage=usage)


def _checked(reply: Reply, at: Position) -> Reply:
    """Return the reply, with a problem set if it does not fit the request."""
    if reply.move == "answer":
        return _with_value_checked(reply, at.terms)
    is_checked_elsewhere = narrows(reply) or reply.move == "more"
    return reply if is_checked_elsewhere else _with_choice_checked(reply, at.choice)


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
    at = Position(log, terms)
    if not may_begin or doubtful_inputs(at, certain):
        return ()
    made = next((reply.calls for reply in reversed(at.replies) if reply.calls), ())
    before = {key_of(call) for call in made}
    return tuple(
        call
        for call in to_run(_numbered(certain, call_count(log)), terms)
        if call.tool in may_begin
        and at.choice in ("auto", "required", call.tool)
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


def _result_at_once(call: Call, before: Call | None, again: bool, at: Position) -> Result | None:
    """Return the result of a call that must not run, or None if it must.

    - `before`: the same call in the last reply with calls, if there is one
    - `again`: whether the whole reply repeats earlier ones
    """
    if call.problem:
        return Result(call.tool, call.problem.message, False, call.problem, id=call.id)
    if before is None or call.tool in at.terms.repeatable:
        return None
    if call.tool in at.terms.readonly and not again:
        return None
    first = next((m for m in at.turn if isinstance(m, Result) and m.id == before.id), None)
    return replace(first, text=_marked_as_repeated(first.text), id=call.id) if first else None


def _marked_as_repeated(text: str) -> str:
    note = "(the same call as before, not run again; its result was:) "
    return text if text.startswith(note) else note + text


# ---- listening to a reply while it comes ---------------------------------------------------------
# A reply ends where its model ends it, and is stopped early where nothing useful can follow: after
# a long run of white space, or where the text repeats itself.

IDLE_SPACES = 400  # characters of white space in a row; text never follows


class Listening:
    """A partial reply to a request.

    - `log`: the conversation of the request, given to the constructor
    - `raw`: the text so far
    - `thoughts`: the reasoning that the server sent separately
    - `certain`: the tool calls that later text cannot change
    - `in_circles`: whether the reply repeated itself and was stopped
    """

    def __init__(self, ask: Ask, terms: Terms, log: Log = ()) -> None:
        self.reader = reader_for(ask, terms, log)
        self.raw = ""
        self.thoughts = ""
        self.certain: list[Call] = []
        self.in_circles = False
        self._move = ask.move
        self._terms, self._turn = terms, turn_of(log)
        self._question = question_of(self._turn)
        self._has_enough = False
        self._end = End()
        self._words = Circles(WORD_CHARS if ask.move in ("answer", "single") else CALL_CHARS)
        self._thoughts = Circles(WORD_CHARS)
        self._spaces = 0

    def take(self, piece: Delta | End) -> None:
        """Add a piece of the reply."""
        if isinstance(piece, End):
            self._end = piece
            return
        self.raw += piece.text
        self.thoughts += piece.thinking
        if piece.in_reasoning:
            self.reader.begin_in_reasoning()
        certain = [restored(call, self._question) for call in self.reader.feed(piece.text)]
        self.certain += certain
        for call in piece.calls:
            self.reader.native(call)
        if certain and self._move == "more":
            _, self._has_enough = further_calls(self.certain, self._turn, self._terms)
        self._check_for_end(piece)

    def take_all(self, pieces: Iterator[Delta | End]) -> None:
        """Add pieces until the reply is over, then close their iterator, which stops the model."""
        for piece in pieces:
            self.take(piece)
            if self.over:
                break
        if isinstance(pieces, Generator):
            pieces.close()

    def _check_for_end(self, piece: Delta) -> None:
        self._spaces = 0 if piece.text.strip() else self._spaces + len(piece.text)
        if self._words.turn(self.raw) or self._thoughts.turn(self.thoughts):
            self.in_circles = True
            self._end = End("length")

    @property
    def over(self) -> bool:
        """Return whether to stop reading the reply."""
        return self.in_circles or self._has_enough or self._spaces > IDLE_SPACES

    def close(self) -> Reply:
        """Return the parsed reply; of a "more" request only the calls that were complete."""
        reply = with_brackets(self.reader.close(self._end.done_reason), self._question)
        if self._move == "more":
            reply = replace(reply, calls=tuple(self.certain))
        thinking = "\n".join(filter(None, (self.thoughts, reply.thinking)))
        return replace(
            reply,
            thinking=thinking,
            usage=self._end.usage,
            move=self._move,
            raw=self.raw,
            done_reason=self._end.done_reason,
        )


# ---- going on after a run was broken off ---------------------------------------------------------

INTERRUPTED = "interrupted: the program ended during this call; whether it took effect is unknown"


def recovered(log: Log, begun: frozenset[str], terms: Terms) -> Log:
    """Return the log with error results for the calls that were started and have no result.

    These calls are not run again, except those of tools in `terms.again`; the model reads that they
    were interrupted. `begun` are the ids of the calls that were started.
    """
    waiting = pending(turn_of(log))
    lost = [call for call in waiting if call.id in begun and call.tool not in terms.again]
    if not lost:
        return log
    log = (*log, Note("interrupted", ids=tuple(call.id for call in lost)))
    for call in lost:
        log = take(log, Result(call.tool, INTERRUPTED, ok=False, id=call.id), terms)
    return log


def told_of(before: Log, after: Log) -> list[str]:
    """Return warnings for a person about the calls that `recovered` gave up on."""
    added = [m for m in after[len(before) :] if isinstance(m, Result)]
    if not added:
        return []
    names = ", ".join(dict.fromkeys(result.tool for result in added))
    return [f"the last run was broken off during calls that are not begun again: {names}"]


def is_open(log: Log, terms: Terms) -> bool:
    """Return whether the last question of a log has no answer yet and its turn can continue."""
    if not any(isinstance(message, Question) for message in log):
        return False
    try:
        return not isinstance(next_step(log, terms), Done)
    except AzentError:
        return False


def asked(log: Log, question: str, terms: Terms) -> Log:
    """Return the log with a question appended, or as it is if the same question is still open."""
    return (
        log
        if is_open(log, terms) and turn_of(log)[0] == Question(question)
        else (*log, Question(question))
    )
