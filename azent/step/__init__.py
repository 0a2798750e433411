"""The conversation as a pure function of its transcript. No network, no clock, no tool runs here.

Only the log changes; the terms are fixed. `next_step` returns what to do next; `hear` and `take`
append the outcome to the log. A conversation can be stopped, stored, branched and resumed at any
point from its log and terms, and equal logs and terms give byte-identical requests.

    log = (Question("What is 2 + 3?"),)
    next_step(log, terms)                  Ask(messages, format, move="decide")
    log = hear(log, reply, terms)          append a parsed reply: calls, an answer, or a correction
    next_step(log, terms)                  Run((Call("add", {"a": 2, "b": 3}, id="1"),))
    log = take(log, result, terms)         append the result of one call
    next_step(log, terms)                  Ask(...) ... Done(answer)

`recovered(log, begun, terms)` returns the log to resume from after a crash. `Shrink(note)` comes
before a request that would not fit the context window: the note is to be appended to the log.
`Rank(...)` comes before the first decision of a turn if there is an encoder: it asks for the
vectors of the question and the functions, which `ranked` turns into a message of the log.

The moves of a turn:
- *decide* asks for tool calls
- *more* asks for further calls, because values of the question are not used in any call yet
- *answer* asks for text
- *single* asks for calls or text
- *gate*, *choose* and *list* narrow a decision down before it is made (`azent.selection`)
"""

from __future__ import annotations

from azent.step.hear import early, hear, ranked, refuse, take, to_run
from azent.step.listen import Listening
from azent.step.next import Ask, Done, Rank, Run, Shrink, Step, answer_of, next_step, stop_reason
from azent.step.read import options_for, reader_for
from azent.step.resume import INTERRUPTED, asked, is_open, recovered, told_of

__all__ = [
    "INTERRUPTED",
    "Ask",
    "Done",
    "Listening",
    "Rank",
    "Run",
    "Shrink",
    "Step",
    "answer_of",
    "asked",
    "early",
    "hear",
    "is_open",
    "next_step",
    "options_for",
    "ranked",
    "reader_for",
    "recovered",
    "refuse",
    "stop_reason",
    "take",
    "to_run",
    "told_of",
]
