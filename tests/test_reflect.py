"""Looking back at a conversation."""

from __future__ import annotations

import pytest

import azent
from azent.conversation.context_window import estimate
from azent.messages import Call, Log, Question, Reply, Result
from azent.runtime.decision import log_of

LOG: Log = (
    Question("How long is the file?"),
    Reply(calls=(Call("read", {}, id="1"),), move="decide"),
    Result("read", "word " * 1000, id="1"),
    Reply(text="It has 1000 words.", move="answer"),
)


def test_a_summary_is_made_of_all_that_was_said() -> None:
    model = azent.Scripted("A file of 1000 words was read.")
    assert azent.summary(LOG, model) == "A file of 1000 words was read."
    (request,) = model.heard
    said = str(request.messages)
    assert all(words in said for words in ("How long", "word word", "It has 1000", "Sum up"))
    assert len(said) < 1500


def test_a_summary_can_be_asked_for_in_other_words() -> None:
    model = azent.Scripted("<think>hm</think>3 dollars")
    answer = azent.Answer("", log=LOG)
    assert azent.summary(answer, model, prompt="What was the price in $dollars?") == "3 dollars"
    assert model.heard[0].messages[-1]["content"] == "What was the price in $dollars?"


def test_what_does_not_fit_is_left_out_from_the_beginning() -> None:
    log: Log = ()
    for number in range(20):
        log = (*log, Question(f"number {number} " + "word " * 90), Reply(text="ok", move="answer"))
    model = azent.Scripted("many", num_ctx=1024)
    azent.summary(log, model)
    said = str(model.heard[0].messages)
    assert "number 0 " not in said
    assert "number 19 " in said
    assert estimate(model.heard[0].messages) <= 0.8 * 1024


def test_there_is_nothing_to_sum_up() -> None:
    with pytest.raises(azent.UsageError, match="nothing to sum up"):
        azent.summary((), azent.Scripted())


def test_a_model_that_says_nothing() -> None:
    with pytest.raises(azent.BadReply, match="no summary"):
        azent.summary(LOG, azent.Scripted(" "))


def test_a_chat_as_plain_dicts_is_a_log_again() -> None:
    chat = azent.chat_of(LOG)
    assert chat == [
        {"role": "user", "content": "How long is the file?"},
        {"role": "assistant", "content": "It has 1000 words."},
    ]
    assert azent.chat_of(log_of(chat)[0]) == chat
