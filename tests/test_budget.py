"""Fitting conversations into a context: what goes, what stays, and that it is said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import azent
from azent import prompt
from azent.conversation.context_window import correction, estimate, shrink
from azent.conversation.next_step import Ask, next_step
from azent.conversation.requests import Terms, messages_for
from azent.messages import (
    Answer,
    Call,
    Chunk,
    Delta,
    End,
    Log,
    Note,
    Question,
    Reply,
    Result,
    Shrunk,
    Usage,
)
from azent.messages.log import shortened, turns_left_out
from azent.models import context_of
from azent.models.fallback import Fallback, Observed
from azent.models.recorded import Cached, Recorded
from azent.tools.tool import specs_of
from tests.scripted_ollama import ScriptedOllama

NONE = '{"tools": []}'


def now() -> str:
    """Tells the time."""
    return "12:00"


def page(number: int) -> str:
    """Reads a page."""
    return f"page {number}: " + "lorem ipsum " * 40


def terms(num_ctx: int | None, *tools: Any) -> Terms:
    return Terms(specs_of(tools or (now,)), prompt.load("default"), "SYSTEM", num_ctx=num_ctx)


def chat(*texts: str) -> Log:
    """A log of turns, each answered with "ok"."""
    turns = ((Question(text), Reply(text="ok", move="answer")) for text in texts)
    return tuple(message for turn in turns for message in turn)


def read_pages(count: int, text: str = "lorem ipsum " * 40) -> Log:
    """A turn of as many rounds of one call."""
    log: Log = (Question("read"),)
    for n in range(1, count + 1):
        reply = Reply(calls=(Call("page", {"number": n}, id=str(n)),), move="decide")
        log = (*log, reply, Result("page", f"page {n}: {text}", id=str(n)))
    return log


def text_of(messages: Iterable[Any]) -> str:
    return "\n".join(message["content"] for message in messages)


# ---- estimates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "counted"),  # by a real Ollama, for qwen2.5-coder:0.5b, its template's part apart
    [
        ("old " * 1000, 1000),
        ("The quick brown fox jumps over the lazy dog, and then it runs back through the deep "
         "forest to its home. " * 40, 920),
        ("你好，我的名字叫洛根。今天天气很好，我们去公园散步吧。" * 40, 720),
        ("Привет, меня зовут Логан. Сегодня хорошая погода, пойдём гулять в парк. " * 30, 930),
    ],
)  # fmt: skip
def test_estimates_are_near_what_a_server_counts(text: str, counted: int) -> None:
    assert 0.9 < estimate([{"role": "user", "content": text}]) / counted < 1.6


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([], 1.0),
        ([Usage(prompt_tokens=150, estimated_tokens=100)], 1.5),
        ([Usage(150, estimated_tokens=100), Usage(50, estimated_tokens=100)], 1.5),
        ([Usage(150, estimated_tokens=100), Usage(90, estimated_tokens=100)], 1.2),
        ([Usage(9000, estimated_tokens=100)], 2.5),
        ([Usage(prompt_tokens=150)], 1.0),
    ],
    ids=["none", "more", "one was cut", "two", "wild", "without an estimate"],
)
def test_estimates_are_corrected_by_what_was_counted(usages: list[Usage], expected: float) -> None:
    assert correction(tuple(Reply(text="ok", usage=usage) for usage in usages)) == expected


# ---- what goes -----------------------------------------------------------------------------------


def test_what_fits_is_left_alone() -> None:
    assert shrink((*chat("hello"), Question("?")), terms(2048), "decide") is None
    assert shrink((*chat("old " * 9000), Question("?")), terms(None), "decide") is None


def test_old_turns_go_at_once_to_half_and_the_rest_stays() -> None:
    log = (*chat(*(f"question {n} " + "word " * 100 for n in range(20))), Question("LAST"))
    note = shrink(log, terms(2048), "decide")
    assert note is not None
    sent = messages_for((*log, note), terms(2048), "decide")
    assert 0.35 * 2048 < estimate(sent) <= 0.5 * 2048
    assert "question 0 " not in text_of(sent)
    assert "question 19 " in text_of(sent)
    assert all(word in text_of(sent) for word in ("SYSTEM", "now", "LAST", "is left out here"))
    assert shrink((*log, note), terms(2048), "decide") is None


def test_old_results_go_before_turns_and_the_newest_stay_whole() -> None:
    log = (*chat("hello"), *read_pages(8, "lorem ipsum " * 90))
    note = shrink(log, terms(2800, page), "decide")
    assert note is not None
    assert turns_left_out((*log, note)) == 0
    assert note.ids[0] == "1"
    assert "8" not in note.ids
    sent = text_of(messages_for((*log, note), terms(2800, page), "decide"))
    assert "hello" in sent
    assert "characters omitted" in sent
    assert f"page 8: {'lorem ipsum ' * 90}" in sent


def test_results_of_the_last_round_are_cut_when_all_else_is_gone() -> None:
    log = read_pages(1, "lorem ipsum " * 4000)
    note = shrink(log, terms(1024, page), "decide")
    assert note is not None
    assert note.ids == ("1",)
    sent = messages_for((*log, note), terms(1024, page), "decide")
    assert 0.5 * 1024 < estimate(sent) <= 0.8 * 1024
    assert "page 1: lorem" in text_of(sent)
    grown = (*log, note, *read_pages(2, "dolor " * 400)[3:])
    second = shrink(grown, terms(1024, page), "decide")
    assert second is not None
    assert second.ids[0] == "1"
    assert second.chars == 0


def test_a_request_begins_as_the_one_before_until_it_shrinks_again() -> None:
    log = (*chat(*("word " * 100 for _ in range(20))), Question("LAST"))
    note = shrink(log, terms(2048), "answer")
    assert note is not None
    one = messages_for((*log, note), terms(2048), "answer")[:-1]
    grown = (*log, note, Reply(text="ok", move="answer"), Question("more"))
    assert messages_for(grown, terms(2048), "answer")[: len(one)] == one


def test_taking_a_turn_back_brings_back_what_it_hid() -> None:
    log = (*chat(*("word " * 100 for _ in range(20))), Question("LAST"))
    note = shrink(log, terms(2048), "decide")
    assert note is not None
    assert turns_left_out((*log, note)) > 0
    assert turns_left_out(log[:-1]) == 0


words = st.integers(0, 400).map(lambda count: "word " * count)
turn_logs = st.one_of(
    words.map(lambda text: chat(text)),
    st.tuples(st.integers(1, 4), words).map(lambda both: read_pages(*both)),
)


def numbered(turn_list: list[Log]) -> Log:
    """Turns as one log, each call with an id of its own."""
    log: list[Any] = []
    for number, turn in enumerate(turn_list):
        for message in turn:
            if isinstance(message, Reply):
                calls = tuple(
                    Call(c.tool, c.tool_input, id=f"{number}.{c.id}") for c in message.calls
                )
                log.append(Reply(calls=calls, text=message.text, move=message.move))
            elif isinstance(message, Result):
                log.append(Result(message.tool, message.text, id=f"{number}.{message.id}"))
            else:
                log.append(message)
    return tuple(log)


@settings(max_examples=60, deadline=None)
@given(st.lists(turn_logs, max_size=8), words, st.sampled_from([512, 1024, 4096]))
def test_whatever_the_log_it_comes_to_a_request_with_all_that_must_be_there(
    turn_list: list[Log], last: str, num_ctx: int
) -> None:
    log = (*numbered(turn_list), Question(f"LAST {last}"))
    held = terms(num_ctx, page)
    for _ in range(10):
        step = next_step(log, held)
        if isinstance(step, Ask):
            break
        assert isinstance(step, azent.conversation.next_step.Shrink)
        log = (*log, step.note)
    assert isinstance(step, Ask)
    sent = text_of(step.messages)
    assert all(word in sent for word in ("SYSTEM", "page", f"LAST {last}".strip()))
    assert step == next_step(log, held)


@given(st.text(), st.integers(0, 50))
def test_shortened_texts_keep_both_ends(text: str, most: int) -> None:
    short = shortened(text, most)
    if len(text) <= most:
        assert short == text
        return
    assert short.startswith(text[: most - most // 3])
    assert short.endswith(text[len(text) - most // 3 :] or ")")
    assert f"{len(text) - most} characters omitted" in short


# ---- what is said of it --------------------------------------------------------------------------


def test_a_long_conversation_says_what_went_and_keeps_the_last_question() -> None:
    model = azent.Scripted(*[NONE, "ok"] * 2, num_ctx=2048)
    agent = azent.Agent(model, [now], system="SYSTEM-MARK")
    first = agent.ask("old " * 3000)
    assert "num_ctx" in first.warnings[0]
    events = list(agent.stream("LAST-QUESTION", first.log))
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert any("the first turn left out" in warning for warning in answer.warnings)
    assert [event.note.turns for event in events if isinstance(event, Shrunk)] == [1]
    sent = text_of(model.heard[-1].messages)
    assert all(word in sent for word in ("SYSTEM-MARK", "now", "LAST-QUESTION"))
    assert len(sent) < 2048 * 4


def test_fifty_turns_later_the_tools_are_still_there() -> None:
    model = azent.Scripted(*[NONE, "ok " * 40] * 50, num_ctx=1024)
    agent = azent.Agent(model, [now], system="SYSTEM-MARK")
    log: Log = ()
    for number in range(50):
        log = agent.ask(f"question {number}", log).log
    for request in model.heard:
        sent = text_of(request.messages)
        assert "SYSTEM-MARK" in sent
        assert "now()" in sent
        assert estimate(request.messages) <= 0.8 * 1024


def test_tools_that_leave_no_room_are_refused_before_anything_is_asked() -> None:
    model = azent.Scripted(num_ctx=512)
    tools = [azent.tool(name=f"tool_number_{n}")(lambda city, day: None) for n in range(60)]
    with pytest.raises(azent.ContextTooSmall, match=r"60 tools take about \d+ tokens.* 512"):
        azent.Agent(model, tools).ask("?")
    assert model.heard == []


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (Usage(prompt_tokens=300), "it read 300 tokens of about"),
        (Usage(prompt_tokens=4096), "it read 4096 tokens of about"),
        (Usage(prompt_tokens=3000, reply_tokens=1200), "ran past the end of the context"),
    ],
)
def test_what_the_server_cut_is_noticed(usage: Usage, said: str) -> None:
    model = azent.Scripted([Delta("ok"), End(usage=usage)], num_ctx=4096)
    answer = azent.Agent(model).ask("word " * 3000)
    assert [said in warning for warning in answer.warnings] == [True]


def test_a_server_that_counts_as_expected_is_believed() -> None:
    model = azent.Scripted([Delta("ok"), End(usage=Usage(prompt_tokens=2900))], num_ctx=4096)
    answer = azent.Agent(model).ask("word " * 3000)
    assert answer.warnings == ()
    assert 2900 < answer.usage.estimated_tokens < 3100


def test_turns_that_go_are_summed_up_where_that_is_wanted() -> None:
    counted: list[Delta | End] = [Delta("They spoke of words."), End(usage=Usage(700, 5, 1))]
    model = azent.Scripted("first", counted, "last", num_ctx=1024)
    agent = azent.Agent(model, summarise=True)
    log = agent.ask("word " * 700).log
    events = list(agent.stream("LAST", (*log, *chat(*("more " * 100,) * 3))))
    assert "Sum up" in model.heard[1].messages[-1]["content"]
    assert "They spoke of words." in text_of(model.heard[2].messages)
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert "summed up" in answer.warnings[0]
    assert answer.usage.prompt_tokens == 700
    assert [event.text for event in events if isinstance(event, Chunk)] == ["last"]
    assert estimate(model.heard[1].messages) <= 0.8 * 1024


def test_a_second_summary_is_made_of_the_first() -> None:
    replies = ["ok", "SUMMARY ONE", "ok", "SUMMARY TWO", "ok"]
    model = azent.Scripted(*replies, num_ctx=1024)
    agent = azent.Agent(model, summarise=True)
    log: Log = ()
    for text in ("word " * 600, "next " * 600, "then " * 600):
        log = agent.ask(text, log).log
    asked_for_two = text_of(model.heard[3].messages)
    assert "SUMMARY ONE" in asked_for_two
    last = text_of(model.heard[4].messages)
    assert "SUMMARY TWO" in last
    assert "SUMMARY ONE" not in last


def test_notes_survive_a_store() -> None:
    note = Note("shrunk", "text", ("1",), 2, 300, Usage(1, 2, 3))
    stored = json.loads(json.dumps(azent.messages.json_forms.to_json(note)))
    assert azent.messages.json_forms.from_json(stored) == note


@pytest.mark.parametrize(("has", "wanted", "holds"), [(1024, 8192, 1024), (32768, 2048, 2048)])
def test_the_context_is_what_the_model_has_of_what_is_wanted(
    has: int, wanted: int, holds: int
) -> None:
    with ScriptedOllama("ok", context_length=has) as server:
        model = azent.open_model("scripted", host=server.url, num_ctx=wanted)
        one = azent.Agent(model).ask("word " * 9000)
        other = asyncio.run(azent.Agent(model).aask("word " * 9000))
    for answer in (one, other):
        assert f"the context holds {holds}" in answer.warnings[0]
    assert [asked.body["options"]["num_ctx"] for asked in server.requests] == [wanted] * 2


class Small(azent.Scripted):
    """A model that has less context than was asked for."""

    def context(self) -> int | None:
        return 1024


@pytest.mark.parametrize(
    ("around", "holds"),
    [
        (lambda model, folder: Cached(model, folder / "replies.db"), 1024),
        (lambda model, folder: Recorded(model, folder / "replies.db"), 8192),  # nothing is asked
        (lambda model, folder: Fallback([model]), 1024),
        (lambda model, folder: Fallback([model, azent.Scripted(num_ctx=512)]), 512),
        (lambda model, folder: Observed(model), 1024),
    ],
)
def test_whatever_is_put_around_a_model_tells_its_context(
    around: Callable[[azent.Model, Path], azent.Model], holds: int, tmp_path: Path
) -> None:
    assert context_of(around(Small(num_ctx=8192), tmp_path)) == holds


def test_a_summary_is_fitted_into_the_context_there_is() -> None:
    model = Small("short", num_ctx=8192)
    azent.summary(chat(*["word " * 300] * 12), model)
    assert estimate(model.heard[0].messages) <= 1024


def test_a_server_that_does_not_say_leaves_it_at_what_is_wanted() -> None:
    model = azent.open_model("scripted", host="127.0.0.1:9", num_ctx=2048)
    assert context_of(model) == 2048
