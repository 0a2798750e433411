"""The reader's own promises: held replies, the server's calls, repeats, answers, and scale."""

from __future__ import annotations

import json
from typing import Any

import pytest

from azent.messages import Call, Reply
from azent.parsing.answers import WordsReader, read_words
from azent.parsing.reader import Reader, read
from azent.values.json_tokens import Fault
from azent.values.lenient_json import literal, readings
from tests.reading import outcome, specs

TWO = '{"tools":[{"tool":"now","tool_input":{}},{"tool":"add","tool_input":{"a":1,"b":2}}]}'


def test_held_calls_come_as_soon_as_they_are_whole() -> None:
    reader = Reader(specs(), held=True)
    came = [(at, call.tool) for at, char in enumerate(TWO) for call in reader.feed(char)]
    first, second = TWO.index("}},") + 1, TWO.index("}}]") + 1
    assert came == [(first, "now"), (second, "add")]
    assert [call.tool for call in reader.close().calls] == ["now", "add"]


def test_held_calls_come_behind_a_thought() -> None:
    reader = Reader(specs(), held=True)
    text = TWO.replace('{"tools"', '{"thought": "a \\"b\\" {", "tools"', 1)
    assert [call.tool for call in reader.feed(text)] == ["now", "add"]
    assert reader.close().thinking == 'a "b" {'


@pytest.mark.parametrize("cut", range(0, len(TWO), 3))
def test_no_held_call_is_taken_back(cut: int) -> None:
    reader = Reader(specs(), held=True)
    early = reader.feed(TWO[:cut])
    reply = reader.close("length")
    assert list(reply.calls)[: len(early)] == early


def test_an_illegal_call_ends_what_is_given_out_early() -> None:
    reader = Reader(specs(), held=True)
    assert reader.feed(TWO.replace('"now"', '"fly"')) == []


def test_nothing_is_given_out_early_in_free_text() -> None:
    reader = Reader(specs())
    assert reader.feed(TWO) == []
    assert len(reader.close().calls) == 2


def test_calls_that_the_server_read_are_checked_and_added() -> None:
    reader = Reader(specs())
    reader.native(Call("add", {"a": "1", "b": 2}))
    reader.native(Call("fly", {}))
    reply = reader.close()
    assert outcome(reply) == [["add", {"a": 1, "b": 2}], ["fly", "error:unknown_tool"]]
    assert reply.problem is None


def test_a_model_in_circles_makes_one_call() -> None:
    call = '{"tool":"now","tool_input":{}}'
    reply = read('{"tools":[' + ",".join([call] * 64) + "]}", specs())
    assert outcome(reply) == [["now", {}]]
    assert reply.problem is not None
    assert reply.problem.kind == "too_many"


@pytest.mark.parametrize(
    ("text", "words", "thinking"),
    [
        ("Hello.", "Hello.", ""),
        ('{"tools": [{"tool": "now"}]}', '{"tools": [{"tool": "now"}]}', ""),
        ("<tool_call>x</tool_call>\nok", "<tool_call>x</tool_call>\nok", ""),
        ("```json\n{}\n```", "```json\n{}\n```", ""),
        ("<think>hm</think>\n\nHello.", "Hello.", "hm"),
        ("hm</think>Hello.", "Hello.", "hm"),
        ("<think>hm", "", "hm"),
        ("Hello.<|im_end|>", "Hello.", ""),
        ("Hello.<end_of_turn>\n<start_of_turn>user\nMore", "Hello.", ""),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi",
            "Hi",
            "hm",
        ),
        ("Use the `<think>` tag.", "Use the `<think>` tag.", ""),
        ("null", "null", ""),
    ],
)
def test_an_answer(text: str, words: str, thinking: str) -> None:
    reply = read_words(text)
    assert (reply.text, reply.thinking) == (words, thinking)
    assert (reply.problem is None) == bool(words)
    reader, shown, thought = WordsReader(), "", ""
    for char in text:
        reader.feed(char)
        shown += reader.words()
        thought += reader.thoughts()
    assert reader.close() == reply
    if text != "hm</think>Hello.":
        assert ((shown + reader.words()).strip(), (thought + reader.thoughts()).strip()) == (
            words,
            thinking,
        )


@pytest.mark.parametrize("gap", ["", "\n", " " * 40, " " * 200, "word " * 50, "\n" * 60])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<think>hm", "</think>Hi"),
        ("<|channel|>analysis<|message|>hm<|call|>", "<|start|>assistant<|message|>Hi"),
        ("<|channel|>analysis<|message|>hm<|channel|>final", "<|message|>Hi"),
        ("<|channel|>analysis<|message|>hm<|chan", "nel|>final<|message|>Hi"),
        ("<|open|>think<|sep|>hm<|close|>think", "<|sep|>Hi"),
    ],
)
def test_the_reasoning_shown_is_never_taken_back(before: str, gap: str, after: str) -> None:
    reader, shown = Reader(specs()), ""
    for char in before + gap + after:
        reader.feed(char)
        shown += reader.thoughts()
    reply = reader.close()
    assert (shown + reader.thoughts()).strip() == reply.thinking


def test_a_listing_streams_line_by_line() -> None:
    reader = Reader(specs())
    reader.feed("Like this:\n```python\nfor x in y:\n")
    assert "for x in y:" in reader.words()


@pytest.mark.parametrize(
    "text",
    [
        'It prints: `[{"name": "Tom", "price": 50}]`',
        "It prints: `[1, 2]` and more",
        "`{'a': 1}`",
        "('a': [1])",
        '"{\\"a\\": 1}"',
        "Then:\n- `[1]`\n- '{\"a\": 1}'\n",
        "x = `{}`.",
    ],
)
def test_quotes_around_data_stay(text: str) -> None:
    reply = read(text, specs())
    assert (reply.text, reply.calls) == (text.strip(), ())


@pytest.mark.parametrize(
    "text",
    [
        '{"one": "two"three: 3\n {"a"b: 1, "c',  # the last quote looked like the end of a string
        '{"one": "two"three: 3\n {"a", "b": 1}\nMore.',
        "{'one': 'two'three: 3\n ['a' 'b', 1}\nMore.",
        '{"tools":[{"tool":"now"<|im_end|>ut":get(city{"pat="Oslo")x<h"t',  # so did its bracket
        "{'tool':'now'</s>'get(city{'x='Oslo')x'</tool_call>",
        "[search_notes(query='It\\'s so\nlate', tags=['a'], limit=3)]",  # half an argument's name
        "[fly(to=['a (b)', 'c]'], on=3)]",  # the same for a tool that there is not
        "[fly(to='a' and more)]\nMore.",
        "{" + "a!b " * 18 + ':[{"tool":header"!x": "y"}.',  # a key may be long
        "{" + "a!b " * 22 + ':[{"tool":header"!x": "y"}.',
        '{"tools":{-to' + "\n" * 60 + ": 'O\\'all,\": 'O\\'\"\"}}]}",
        "Action: add(a=1,\n  b=2) and so on, and so on, and so on",
        "Action: add(1, 2) and so on, and so on, and so on, and so on",
        'hm "<|tool_call>call:now er{city:<|"y>Oslo<|"|>}',  # a head with no name is no head
        "<|tool_call>call:{city: 1}<tool_call|>More.",
        'as in "<|tool_call>{now} and more',
        '{"":""h"\nc',  # a quote looked like the end of a string before a line break, too
        '[ad_devent(title="\n\x00\x00```\nMore.',
        'add(a=""n>b>."""<x>\n```json```"y">',
        '{"a": "b", "}, x": 1}',  # what a rejected quote could have been is a key
        "{'a': 'b'" + "\x00" * 80 + ", c'}\n{d",
        '{"a": "x" ' + "k" * 50 + ": 1}",  # keys are long, white space is longer
        '{"a": "x",' + "\n" * 90 + '"k' + " " * 40 + '": 1}"',
        "`<now/>`s",  # a quote that a word touches
        '`<tool_call>{"name":"now","arguments":{}}</tool_call>` and',
        '<｜DSML｜invoke name="\nnow">',  # heads with a line break in them
        "<now\n/>",
        "<function\n=now></function>",
        "<function=\nnow></function>",
        "to=now  <|channel|>commentary<|message|>{}",
        "print(\nnow(",
        "<tool_call>" + " " * 250 + '{"name":"now","arguments":{}}',
        "\n" + " " * 300 + '{"tool":"now","tool_input":{}}',
        "[now()] and" + " " * 20 + "{x",
        "### Action: now\n" + "\n" * 60 + "Action Input: {}",
        "<tool_call>[now()]" + "\n" * 60 + "</tool_call>\n\nMore.",
        '{"tool":"","":{"":"""""}}]}"pattern":r"print\\(","replacement":"log("})ActionInput:{"all>'
        'odewillbFio</city></get_weather>"""',  # triple quotes may end anywhere
        "Action: now\n" + " " * 47 + "d /",
        'Action: fly\nAction Input:```json{"":""}```<b>' + " more" * 30,  # ends come in pieces
        "hm <|channel>thought",
        "hm <unused94>thought",
        "hm </s>  and more",
        "hm <|tool_call>call:now{}<t" + "x" * 60,
        "<|tool_call_begin|>{<|tool_call_argument_begin|>{",
        "<｜tool▁call▁begin｜>{<｜tool▁sep｜>{}",
        "[TOOL_CALLS]fly[CALL_ID]\n2[ARGS]{",
        "[TOOL_CALLS]now{}" + " " * 60 + "[/TOOL_CALLS]More.",
        "hm <|start|>assistant to=functions.now<|message|>{}" + "\n" * 30 + "<|call|>More.",
        '<tool_call>{"name":"now","arguments":{}}' + "x" * 90 + "{",
        '<tool_call>{"name":"now","arguments":{}}' + ", " * 90 + '{"name":"now","arguments":{}}',
        "<tool_call>now" + " " * 300 + "</tool_call>",
        "<tool_call>```json" + " " * 300 + '{"name":"now","arguments":{}}',
        "1." + "\t" * 221 + "to=functions.now <|",
        "to=now" + " " * 300 + "<|channel|>commentary<|message|>{}",
        "Call:" + " " * 300 + '`{"tool":"now","tool_input":{}}`',
        "- " + " " * 300 + "Action: now",
        "```\nx\n" + " " * 60 + '```\n{"tool":"now","tool_input":{}}',
        '```{"' + "y" * 95 + 'tools": []}\nObservation:',
        '<｜DSML｜\ninvoke name="now">',
        '`]<]minimax[>[<invoke name="r">',
    ],
)
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_what_was_shown_is_never_taken_back(text: str, reason: str) -> None:
    reader, shown = Reader(specs()), ""
    for char in text:
        reader.feed(char)
        shown += reader.words()
    assert reader.close(reason) == read(text, specs(), done_reason=reason)
    assert (shown + reader.words()).strip() == reader.close(reason).text


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 50_000,
        '{"tools":[' * 50_000,
        "[\n" * 20_000,
        '{"a": "x\n' * 20_000,
        "<tool_call>" * 20_000,
        "<now>" * 20_000,
        "[TOOL_CALLS]" * 20_000,
        "<|channel|>analysis" * 20_000,
        "```\n" * 20_000,
        '{"tool":"now","tool_input":"' + '" ' * 100_000,
        "word " * 400_000,
        'x {"tools": ["' * 20_000,
        "```json\n```\n" * 20_000,
        "``` x " * 20_000,
        "functions.now:0{" * 20_000,
        "]<]minimax[>[" * 20_000,
        "analysisx assistantfinaly\n" * 20_000,
        "\\" * 100_000,
    ],
    ids=lambda text: text[:14],
)
def test_no_size_or_depth_overflows(text: str) -> None:
    assert read(text, specs()).calls == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<function=now>\n<parameter=a>1</parameter>\n<-", "/function>"),
        ("<tool_call><function=now><parameter=", ">"),
        ("<function=now><parameter=a>", "</parameter>"),
        ('<invoke name="now"><parameter name="a">', "</parameter>"),
        ("<tool_call>[now()]", "</tool>"),
        ("<tool_call>{}", "x"),
        ("<｜tool▁call▁begin｜>now", "{"),
        ("<|tool_call>call:now", "<tool_call>"),
        ("[TOOL_CALLS]now[CALL_ID]", "["),
        ('{"tool":"now","tool_input":{}}', "x"),
        ("Action: now", "x"),
    ],
)
@pytest.mark.parametrize("space", [" ", "\n", "\n\t"])
def test_white_space_without_end_takes_no_time(before: str, after: str, space: str) -> None:
    """Patterns that try every way to share it out would not come to an end."""
    text = before + space * 200_000 + after
    assert read(text, specs()).raw == text


def test_ten_thousand_calls() -> None:
    calls = [{"tool": "add", "tool_input": {"a": at, "b": 2}} for at in range(10_000)]
    reply = read(json.dumps({"tools": calls}), specs())
    assert [call.tool_input["a"] for call in reply.calls] == list(range(10_000))


@pytest.mark.parametrize(
    ("text", "value"),
    [("{'a': (1, 2)}", {"a": [1, 2]}), ("None", None), (' "x" ', "x"), ("[1, 2,]", [1, 2])],
)
def test_a_literal(text: str, value: Any) -> None:
    assert literal(text) == value


@pytest.mark.parametrize("text", ["f(x)", "[1, 2] and more", "{1, 2}", "[1"])
def test_what_is_no_literal(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        literal(text)


def test_a_fault_says_where() -> None:
    with pytest.raises(Fault) as found:
        readings('{"a" 1}', 0)
    assert (found.value.at, "colon" in found.value.what) == (5, True)


SAYINGS = [
    '{"tools": [{"tool": "f", "tool_input": {"city": "Oslo"}}]}',
    '{"tools": ["f"]}',
    '{"tool": "f", "city": "Oslo"}',
    '{"f": {"city": "Oslo"}}',
    '{"name": "f", "arguments": "Oslo"}',
    'f({"city": "Oslo"})',
    "Action: f[Oslo]",
    "Action: f[city=Oslo]",
    "Action: f\nAction Input: Oslo",
    'f(city="Oslo")',
    "<function=f><parameter=city>Oslo</parameter></function>",
]


@pytest.mark.parametrize("part", [None, True, 3, "city", ["city"], [None], {"city": None}])
def test_no_schema_raises(part: Any) -> None:
    """Whoever only reads replies has not shown the schemas to anything that would refuse them."""
    for parameters in ({"properties": part}, {"properties": {"city": part}, "required": part}):
        offered: Any = {"f": {"name": "f", "parameters": parameters}}
        for text in SAYINGS:
            assert isinstance(read(text, offered), Reply)
