"""What must hold for every text: nothing raises, cutting changes nothing, values come through."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from azent.messages import Call, Reply, Specs
from azent.parsing.answers import WordsReader, read_words
from azent.parsing.reader import Reader, read
from azent.schema.validate import checked

SPECS: Specs = {
    "get_weather": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
    },
    "add": {
        "name": "add",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
    "now": {"name": "now", "parameters": {"type": "object", "properties": {}}},
    "store": {
        "name": "store",
        "parameters": {"type": "object", "properties": {"value": {}}, "required": ["value"]},
    },
}

# What replies are made of, to be thrown together: markers, calls, damage and prose.
FRAGMENTS = [
    '{"tools":[{"tool":"now","tool_input":{}}]}',
    '{"tool": "add", "tool_input": {"a": 1, "b": 2}}',
    "{'tool': 'get_weather', 'tool_input': {'city': 'O\\'Brien'}}",
    '{"name": "add", "arguments": {"a": "1", "b": 2}}',
    '{"tools": [',
    '{"tool": "add", "tool_input": {"a": 1, "b',
    '{"a": 1}',
    "[now()]",
    'get_weather(city="Oslo")',
    'print(get_weather(city="Oslo"))',
    "```json\n",
    "```\n",
    "```",
    "~~~",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n2\n</parameter>\n</function>",
    "<tool_call>now</tool_call>",
    "<now/>",
    "<get_weather><city>Oslo</city></get_weather>",
    '[TOOL_CALLS]add[ARGS]{"a": 1, "b": 2}',
    "[TOOL_CALLS]",
    "[THINK]",
    "[/THINK]",
    '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    "<|channel|>analysis<|message|>",
    "<|channel|>final<|message|>",
    "<|start|>assistant<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}",
    "<|end|>",
    "<|im_end|>",
    "<|im_start|>user\n",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    '<｜DSML｜invoke name="now">\n</｜DSML｜invoke>',
    "<start_function_call>call:add{a:1,b:<escape>2<escape>}<end_function_call>",
    "✿FUNCTION✿: now\n✿ARGS✿: {}\n",
    "✿RESULT✿: 3\n",
    "<minimax:tool_call>",
    ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>',
    "]<]minimax[>[</invoke>",
    "]~b]user",
    "<|START_ACTION|>",
    'get_weather\n{"city": "Oslo"}',
    "functions.now:0{}",
    "now[ARGS]{}",
    'commentary to=functions.add json{"a": 1, "b": 2}',
    "analysisI see.assistantfinal",
    '{"tool”: "now”, "tool_input": {}}',
    '{„tool“: „get_weather“, „tool_input“: {“city": "„Oslo"”}}',
    "**",
    "<json>",
    "print(",
    "Thought: I need it\n",
    'Action: get_weather\nAction Input: {"city": "Oslo"}\n',
    "Observation: 3\n",
    "Tool result: 3\n",
    "Final Answer: ",
    "I will not run ",
    "Here it is: ",
    "It is 4. ",
    "> ",
    "- ",
    "\n",
    "\n\n",
    " ",
    "{",
    "}",
    "]",
    '"',
    "\\",
    "`",
    ":",
    "<",
    "é…“”",
    "\ufeff",
]
# What a call is broken by: heads without an end, quotes, controls, and much white space.
BREAKS = [
    '[get_weather(city="',
    "add(a=1, b='",
    '{"name": "add", "arguments": {"a": "',
    "<function=add>\n<parameter=a>",
    "Action: get_weather[",
    "Action: add\nAction Input: {",
    '"""',
    "'",
    '", ',
    '"}',
    '")]',
    ", b=",
    '"b": ',
    "// ",
    " and ",
    "\x00" * 80,
    "\x0b\r\n",
    "\n" * 50,
    " " * 250,
    "key" * 40,
]
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=9).map("".join)
broken_texts = st.lists(st.sampled_from(FRAGMENTS + BREAKS), min_size=2, max_size=8).map("".join)
reasons = st.sampled_from(["stop", "length"])


def ends_no_thought(text: str) -> bool:
    """Words that were shown turn out to be reasoning where its end comes without its beginning."""
    return "</think>" not in text and "[/THINK]" not in text


def cut(text: str, places: list[int]) -> list[str]:
    """The text in pieces, cut at these places."""
    marks = sorted(place % (len(text) + 1) for place in places)
    return [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)], strict=True)]


def streamed(reader: Reader | WordsReader, pieces: list[str], reason: str) -> tuple[Reply, str]:
    """The reply of a reader that was fed these pieces, and all words that it handed out."""
    shown = ""
    for piece in pieces:
        assert reader.feed(piece) == []
        shown += reader.words()
    reply = reader.close(reason)
    return reply, shown + reader.words()


@settings(max_examples=400, deadline=None)
@given(texts, reasons, st.lists(st.integers(0, 10_000), max_size=8))
def test_any_cut_reads_like_the_whole(text: str, reason: str, places: list[int]) -> None:
    whole = read(text, SPECS, done_reason=reason)
    reply, _ = streamed(Reader(SPECS), cut(text, places), reason)
    assert reply == whole
    reply, _ = streamed(Reader(SPECS), list(text), reason)
    assert reply == whole


@settings(max_examples=400, deadline=None)
@given(texts.filter(ends_no_thought), reasons)
def test_the_words_shown_are_the_text(text: str, reason: str) -> None:
    reply, shown = streamed(Reader(SPECS), list(text), reason)
    assert shown.strip() == reply.text


@pytest.mark.parametrize("call", ["now[ARGS]{}", "now[CALL_ID]x1[ARGS]{}", "functions.now:0{}"])
@pytest.mark.parametrize("around", ["{}", "```json\n{}", "Hi\n```json\n{}\n```", "```\n{}\n```"])
def test_a_call_in_marks_is_not_shown_before_it_is_read(call: str, around: str) -> None:
    text = around.replace("{}", call, 1)
    reply, shown = streamed(Reader(SPECS), list(text), "stop")
    assert shown.strip() == reply.text
    assert [each.tool for each in reply.calls] == ["now"]


@settings(max_examples=400, deadline=None)
@given(broken_texts.filter(ends_no_thought), reasons, st.lists(st.integers(0, 10_000), max_size=8))
def test_words_of_broken_calls_are_never_taken_back(
    text: str, reason: str, places: list[int]
) -> None:
    for pieces in (list(text), cut(text, places)):
        reply, shown = streamed(Reader(SPECS), pieces, reason)
        assert shown.strip() == reply.text


# What stands at the end of a line that is white space up to it, however much of it there is.
INDENTED = [
    "Action: get_weather[",
    "Action: add\nAction Input: {",
    "Thought: I go\nAction: now\n",
    "Final Answer: yes",
    "get_weather(",
    '[get_weather(city="',
    '{"tools": [',
    '"{\\"tool',
    "to=functions.now <|message|>{}",
    "Observation: 5",
]
INDENTATIONS = ["", " " * 30, " " * 100, " " * 250, "\t " * 300, "\x00" * 260, " " * 300 + "- "]


@pytest.mark.parametrize("line", INDENTED)
@pytest.mark.parametrize("indentation", INDENTATIONS, ids=len)
@pytest.mark.parametrize("before", ["", "Hi.\n", '{"tool": "now", "tool_input": {}}\n'])
def test_no_indentation_is_too_long_for_the_words_shown(
    line: str, indentation: str, before: str
) -> None:
    text = before + indentation + line
    for pieces in (list(text), [text[:150], text[150:290], *text[290:]]):
        reply, shown = streamed(Reader(SPECS), pieces, "stop")
        assert shown.strip() == reply.text


# What may come between any two parts of a call: much of one thing, or half of something else.
GAPS = [" " * 9, " " * 100, " " * 300, "\n" * 60, "\t" * 120, "\x00" * 90, "\r\n", "x" * 95, "- "]
GAPS += ["`", "**", "<", "</", "[", "{", ":", ", " * 60, " and ", "> "]
gaps = st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(GAPS)), min_size=1, max_size=3)


def with_gaps(text: str, places: list[tuple[int, str]]) -> str:
    """The text with something between some of its words and marks."""
    for place, gap in places:
        ends = [0, *(match.end() for match in re.finditer(r"\w+|\s+|.", text))]
        at = ends[place % len(ends)]
        text = text[:at] + gap + text[at:]
    return text


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=4).map("".join), gaps, reasons)
def test_no_gap_in_a_call_shows_any_of_it(
    text: str, places: list[tuple[int, str]], reason: str
) -> None:
    text = with_gaps(text, places)
    reply, shown = streamed(Reader(SPECS), list(text), reason)
    assert reply == read(text, SPECS, done_reason=reason)
    assert shown.strip() == reply.text or not ends_no_thought(text)


@settings(max_examples=300, deadline=None)
@given(texts, reasons, st.lists(st.integers(0, 10_000), max_size=8))
def test_an_answer_is_never_searched_for_calls(text: str, reason: str, places: list[int]) -> None:
    whole = read_words(text, done_reason=reason)
    reply, _ = streamed(WordsReader(), cut(text, places), reason)
    assert reply == whole
    assert reply.calls == ()


@settings(max_examples=300, deadline=None)
@given(texts, reasons)
def test_only_registered_names_are_legal(text: str, reason: str) -> None:
    reply = read(text, SPECS, done_reason=reason)
    assert all(call.tool in SPECS for call in reply.calls if call.problem is None)
    assert reply.raw == text


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), reasons)
def test_no_text_raises(text: str, reason: str) -> None:
    read(text, SPECS, done_reason=reason)
    read_words(text, done_reason=reason)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
values = st.recursive(
    scalars.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("shape", ["plain", "fenced", "tagged", "named"])
@settings(max_examples=120, deadline=None)
@given(values)
def test_valid_json_comes_through_exactly(shape: str, value: Any) -> None:
    call = {"tool": "store", "tool_input": {"value": value}}
    text = {
        "plain": json.dumps({"tools": [call]}),
        "fenced": f"Sure:\n```json\n{json.dumps([call], indent=2, ensure_ascii=False)}\n```",
        "tagged": f"<tool_call>\n{json.dumps(call)}\n</tool_call>",
        "named": json.dumps({"name": "store", "arguments": json.dumps({"value": value})}),
    }[shape]
    reply = read(text, SPECS)
    assert [each.tool_input for each in reply.calls] == [{"value": value}]
    assert repr(reply.calls[0].tool_input) == repr({"value": value})
    assert (reply.problem, reply.calls[0].problem) == (None, None)


@settings(max_examples=200, deadline=None)
@given(st.integers())
def test_coercion_of_integers_loses_nothing(number: int) -> None:
    there, _ = checked(Call("add", {"a": str(number), "b": float(number % 1000)}), SPECS)
    assert there.tool_input == {"a": number, "b": number % 1000}
    assert type(there.tool_input["b"]) is int
    back, _ = checked(Call("get_weather", {"city": number}), SPECS)
    assert back.tool_input == {"city": str(number)}


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_strings_stay_as_they_were_written(text: str) -> None:
    call, bent = checked(Call("get_weather", {"city": text}), SPECS)
    encodable = text.encode("utf-8", "ignore").decode() == text
    assert call.tool_input == {"city": text}
    assert (call.problem is None, bent) == (encodable, ())
