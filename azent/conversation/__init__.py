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

After a crash, `recovered(log, begun, terms)` is the log to go on with.
Where a request would not fit into the context, `Shrink(note)` comes first: a note for the log.
Where an encoder is there, `Rank(...)` comes before the first decision of a turn: how near the
functions are to the question, for the log (`ranked`).

The moves of a turn: *decide* asks for calls, *more* for further ones where the question has values
that none has used, *answer* for words, *single* for calls or words; *gate*, *choose* and *list*
narrow a decision down before it is asked for (`azent.selection`).

    next_step         what to do next
    requests          the messages that a model is sent
    context_window    fitting them into the model's context
    replies           what came of a step, put into the log; going on after a crash
    answers           answers of a type, and answers as JSON
"""
