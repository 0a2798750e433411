"""Resume a conversation after its run was interrupted."""

from __future__ import annotations

from azent.errors import AzentError
from azent.log import pending, turn_of
from azent.messages import Log, Note, Question, Result
from azent.request import Terms
from azent.step.hear import take
from azent.step.next import Done, next_step

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
