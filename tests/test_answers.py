"""Replies that hold calls or the answer, and requests that begin like the ones before them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import azent
from azent import prompt
from azent.messages import Call, Ranking, Reply, Result
from azent.models import Scripted
from azent.parsing.answers import AnswerReader
from azent.parsing.decoding_schema import reply_schema
from azent.parsing.reader import Reader
from azent.prompt import SelectionRules
from azent.selection import nothing_more_is_due


def find_contact(name: str) -> str:
    """Look up a person's phone number."""
    return f"+48 601 {len(name)}"


def send_message(number: str, text: str) -> str:
    """Send a text message to a number."""
    return f"sent {text!r} to {number}"


TOOLS: list[Any] = [find_contact, send_message]
SPECS = {f.__name__: azent.function_to_json(f) for f in TOOLS}
CALL = '{"tools": [{"tool": "find_contact", "tool_input": {"name": "Maria"}}]}'


def read(pieces: list[str], done_reason: str = "stop") -> tuple[Reply, str]:
    """The reply that pieces make, and the words that were shown while they came."""
    reader = AnswerReader(Reader(SPECS, held=True))
    shown = ""
    for piece in pieces:
        reader.feed(piece)
        shown += reader.words()
    reply = reader.close(done_reason)
    return reply, shown + reader.words()


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    return [*pieces, text[at:]]


@given(
    st.text(), st.lists(st.integers(0, 9), max_size=30), st.booleans(), st.sampled_from(["", " "])
)
def test_an_answer_is_read_however_it_is_cut(
    words: str, sizes: list[int], ascii_only: bool, space: str
) -> None:
    text = space + json.dumps({"answer": f"It is {words} now"}, ensure_ascii=ascii_only)
    whole, _ = read([text])
    reply, shown = read(cut(text, sizes))
    assert reply == whole
    assert shown == reply.text
    assert not reply.calls


@given(st.lists(st.integers(0, 9), max_size=30))
def test_calls_are_read_as_ever(sizes: list[int]) -> None:
    reply, shown = read(cut(CALL, sizes))
    assert [call.tool for call in reply.calls] == ["find_contact"]
    assert shown == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Just words.", "Just words."),
        ('{"answer": "It is 4 \\u20ac"}', "It is 4 €"),
        ('{"answer":"\\ud83d\\ude00"}', "😀"),
        ('{ "answer" : "a \\"b\\" c\\n" }\n', 'a "b" c'),
        ('{"answer": "Done.<|im_end|>"}', "Done."),
    ],
)
def test_what_an_answer_says(text: str, words: str) -> None:
    for pieces in ([text], list(text)):
        reply, shown = read(pieces)
        assert (reply.text, shown, reply.problem) == (words, words, None)
        assert reply.raw == text


def test_an_answer_that_was_cut_ends_where_it_was_cut() -> None:
    reply, shown = read(['{"answer": "The weather in Os'], "length")
    assert reply.text == shown == "The weather in Os"


def test_an_empty_answer_is_a_problem() -> None:
    reply, _ = read(['{"answer": " "}'])
    assert reply.problem is not None
    assert reply.problem.kind == "empty"


def test_the_schema_allows_one_or_the_other() -> None:
    calls, answer = reply_schema(SPECS, answers=True)["anyOf"]
    assert calls["properties"]["tools"]["minItems"] == 1
    assert answer["required"] == ["answer"]


# ---- requests ------------------------------------------------------------------------------------


def replies(*texts: str) -> Scripted:
    return Scripted(*texts)


def text_of(request: Any) -> str:
    return "".join(f"[{message['role']}]{message['content']}" for message in request.messages)


@pytest.mark.parametrize("prompts", ["default", "zh", "medium"])
def test_each_request_begins_with_the_one_before_it(prompts: str) -> None:
    """But for its last paragraph, the instruction, if its reply was no call and no words."""
    second = '{"tools": [{"tool": "send_message", "tool_input": {"number": "1", "text": "x"}}]}'
    declined = '{"tools": []}'
    last = ['{"answer": "Sent."}'] if prompts == "default" else [declined, "Sent."]
    said = [CALL, second, *last] * 2
    model = replies(*said)
    without_gate = replace(prompt.load(prompts), decide=())
    agent = azent.Agent(model, TOOLS, prompts=without_gate, encoder=None)
    answer = agent.ask("Text Maria that I am late")
    agent.ask("And Jan", answer.log)
    assert len(model.heard) == len(said)
    for one, two, reply in zip(model.heard, model.heard[1:], said, strict=False):
        before = text_of(one)
        stays = before.rpartition("\n\n")[0] if reply == declined else before
        assert text_of(two).startswith(stays)


def test_a_question_with_one_call_takes_two_requests_and_one_without_takes_one() -> None:
    model = replies(CALL, '{"answer": "It is +48 601 5."}', '{"answer": "Hello!"}')
    agent = azent.Agent(model, TOOLS, prompts="default")
    answer = agent.ask("What is Maria's number?")
    assert (answer.text, answer.usage.requests) == ("It is +48 601 5.", 2)
    assert agent.ask("Hi").text == "Hello!"
    assert len(model.heard) == 3


def test_the_answer_streams_out_of_its_json() -> None:
    model = replies('{"answer": "One two three"}')
    events = list(azent.Agent(model, TOOLS, prompts="default").stream("Count"))
    assert "".join(e.text for e in events if isinstance(e, azent.Chunk)) == "One two three"


def test_an_answer_of_a_type_is_asked_for_by_itself() -> None:
    model = replies(CALL, '{"tools": []}', "7")
    answer = azent.Agent(model, TOOLS, prompts="default", output=int).ask("How long?")
    assert answer.value == 7
    assert [set(request.format or {}) & {"anyOf"} for request in model.heard] == [set()] * 3


# ---- what is still due ---------------------------------------------------------------------------

RULES = SelectionRules(relevance=True)
CONTACT, MESSAGE = "find_contact", "send_message"


def turn(question: str, scores: dict[str, float], *calls: Call, ok: bool = True) -> Any:
    ranking = Ranking(tuple(sorted(scores.items(), key=lambda pair: -pair[1])))
    numbered = tuple(Call(c.tool, c.tool_input, id=str(n)) for n, c in enumerate(calls))
    results = [Result(call.tool, "x", ok=ok, id=call.id) for call in numbered]
    return (azent.Question(question), ranking, Reply(numbered, move="decide"), *results)


@pytest.mark.parametrize(
    ("scores", "question", "inputs", "ok", "is_over"),
    [
        ({CONTACT: 2.0, MESSAGE: 0.0}, "Maria's number", {"name": "Maria"}, True, True),
        ({CONTACT: 0.0, MESSAGE: 2.0}, "Text Maria", {"name": "Maria"}, True, False),
        ({CONTACT: 2.0, MESSAGE: 0.0}, "Maria's number", {"name": "Maria"}, False, False),
        ({CONTACT: 2.0, MESSAGE: 0.0}, "number of 'A' and of 'B'", {"name": "A"}, True, False),
        ({CONTACT: 2.0, MESSAGE: 0.0}, "2 + 3 + 3", {"a": 2, "b": 3}, True, False),
        ({CONTACT: 2.0, MESSAGE: 0.0}, "2 + 3", {"a": 2, "b": 3}, True, True),
        ({CONTACT: 2.0, MESSAGE: 0.0}, "2 + 3 + 3", {"all": [2, 3, 3.0]}, True, True),
        ({CONTACT: 2.0, MESSAGE: 0.0}, "2 + 3", {"a": 2, "b": 10**9000}, True, False),
        ({}, "Maria's number", {"name": "Maria"}, True, False),
    ],
)
def test_whether_more_is_due(
    scores: dict[str, float], question: str, inputs: dict[str, Any], ok: bool, is_over: bool
) -> None:
    log = turn(question, scores, Call(CONTACT, inputs), ok=ok)
    assert nothing_more_is_due(log, SPECS, RULES) == is_over
    assert not nothing_more_is_due(log, SPECS, SelectionRules())
