"""A call right behind reasoning, on the line on which the reasoning ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import azent
from azent.messages import Chunk, Thinking
from azent.parsing.answers import WordsReader, begins_in_reasoning
from azent.parsing.reader import Reader, read

SPECS = {"f": {"name": "f", "parameters": {"type": "object", "properties": {"n": {}}}}}
CALL = '{"tools": [{"tool": "f", "tool_input": {"n": 1}}]}'
NOTHING = '{"tools": []}'


@pytest.mark.parametrize("space", ["", " ", "\n", "\n\n"])
@pytest.mark.parametrize("before", ["<think>hm</think>", "<think>\nhm\n</think>", "hm</think>"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_call_behind_reasoning_is_read(before: str, space: str, size: int) -> None:
    text = before + space + CALL
    reader = Reader(SPECS)
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
    reply = reader.close()
    assert [call.tool_input for call in reply.calls] == [{"n": 1}]
    assert (reply.text, reply.thinking) == ("", "hm")


def test_no_call_behind_reasoning_is_no_words() -> None:
    reply = read("<think>hm</think>" + NOTHING, SPECS)
    assert (reply.calls, reply.text, reply.problem) == ((), "", None)


@pytest.mark.parametrize("text", ["<think>hm</think> I would send " + CALL, f"hm {CALL}</think>ok"])
def test_in_a_sentence_or_in_reasoning_it_is_none(text: str) -> None:
    assert read(text, SPECS).calls == ()


READERS: list[Callable[[bool], Reader | WordsReader]] = [
    lambda opened: Reader(SPECS, opened=opened),
    lambda opened: WordsReader(opened=opened),
]
LATE = [
    ("I should greet.\n</think>\n\nHello there.", "I should greet.", "Hello there."),
    ("Ich grüße zurück.</think>Hallo!", "Ich grüße zurück.", "Hallo!"),
    ("先想一想。</think>你好！", "先想一想。", "你好！"),
    ("It says `</think>` here. So.[/THINK]Hi.", "It says `</think>` here. So.", "Hi."),
    ("A.\n\nB.\n\nC.\n</thinking>\nD.\n\nE.", "A.\n\nB.\n\nC.", "D.\n\nE."),
]


@pytest.mark.parametrize("new", READERS)
@pytest.mark.parametrize(("text", "thinking", "words"), LATE)
def test_reasoning_without_its_opening_tag(
    new: Callable[[bool], Reader | WordsReader], text: str, thinking: str, words: str
) -> None:
    assert begins_in_reasoning(text)
    for opened in (True, False):
        reader, shown, thought = new(opened), "", ""
        for char in text:
            reader.feed(char)
            shown += reader.words()
            thought += reader.thoughts()
        reply = reader.close()
        assert (reply.text, reply.thinking) == (words, thinking)
        assert thought + reader.thoughts() == thinking
        shown += reader.words()
        assert shown == words if opened else shown.endswith(words)


@pytest.mark.parametrize("text", ["Hello there.", "<think>hm</think>Hello there.", NOTHING])
def test_reasoning_that_was_expected_and_did_not_come(text: str) -> None:
    assert not begins_in_reasoning(text)
    reader, shown = Reader(SPECS, opened=True), ""
    for char in text:
        reader.feed(char)
        shown += reader.words()
    reply = reader.close()
    assert (shown + reader.words(), reply) == (reply.text, read(text, SPECS))


def test_a_conversation_learns_that_its_model_begins_in_reasoning() -> None:
    model = azent.Scripted(
        "No tool fits.</think>" + NOTHING, ["A gree", "ting.</th", "ink>Hel", "lo."]
    )
    events = list(azent.Agent(model, [f]).stream("Hi"))
    assert "".join(each.text for each in events if isinstance(each, Chunk)) == "Hello."
    assert "A greeting." in "".join(each.text for each in events if isinstance(each, Thinking))


def f(n: int) -> int:
    """Return a number."""
    return n
