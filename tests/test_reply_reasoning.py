"""A call right behind reasoning, on the line on which the reasoning ends."""

from __future__ import annotations

import pytest

from azent.reply import Reader, read

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
