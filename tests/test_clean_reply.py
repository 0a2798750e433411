"""A clean reply of the protocol is read without a scan, and to the same Reply as with one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.messages import Specs
from azent.parsing.reader import clean_reply, read, scanned
from tests.reading import specs

TOOLS = specs()
PIECES = [
    "</think>",
    "<tool_call>",
    "```",
    '{"tools": []}',
    "or",
    "\n",
    "null",
    "x",
    "é",
    "$",
    "\ud800",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=True) | st.sampled_from([1e400, 1.50, 10**30])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def value_of(schema: Any) -> st.SearchStrategy[Any]:
    """Values that mostly obey a plain schema, and sometimes do not."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    fitting = {
        "integer": st.integers(-9, 9),
        "number": NUMBERS,
        "string": TEXTS,
        "boolean": st.booleans(),
    }
    if isinstance(schema, dict) and isinstance(schema.get("enum"), list) and schema["enum"]:
        return st.sampled_from(schema["enum"]) | VALUES
    return fitting.get(str(kind), VALUES) | VALUES


def input_of(tool: str) -> st.SearchStrategy[dict[str, Any]]:
    parameters: Any = TOOLS[tool].get("parameters") or {}
    known = {name: value_of(part) for name, part in parameters.get("properties", {}).items()}
    return st.fixed_dictionaries(known) | st.fixed_dictionaries({}, optional=known)


def call_of(tool: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"tool": st.just(tool), "tool_input": input_of(tool)})


CALLS = st.sampled_from(sorted(TOOLS)).flatmap(call_of)
ODD = CALLS.flatmap(
    lambda call: st.sampled_from(
        [
            {**call, "id": "1"},
            {**call, "tool": call["tool"].upper()},
            {**call, "tool": "fly"},
            {**call, "tool_input": None},
            {**call, "thought": "why"},
            call["tool"],
            {},
            None,
        ]
    )
)
REPLIES = st.lists(CALLS | CALLS | ODD, max_size=4)


@st.composite
def spelled(draw: st.DrawFn) -> str:
    """A reply of the protocol as JSON in one of its spellings, at times with a slip."""
    value: dict[str, Any] = {"tools": draw(REPLIES)}
    if draw(st.integers(0, 5)) == 0:
        value |= draw(st.dictionaries(st.sampled_from(["thought", "answer", "Tools"]), TEXTS))
    text = json.dumps(
        value,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2])),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    )
    before = draw(st.sampled_from(["", "", "", " ", "\n", "\ufeff", "Sure: "]))
    behind = draw(
        st.sampled_from(["", "", "", " \n", "\n\n", "}", " done", "\n\u2028", "\n" + text])
    )
    at = draw(st.integers(0, len(text)))
    slip = draw(st.sampled_from(["", "", "", "", '"', "}", ",", " "]))
    return before + text[:at] + slip + text[at:] + behind


@given(spelled(), st.booleans())
def test_the_short_way_and_the_scan_agree(text: str, trusted: bool) -> None:
    clean = clean_reply(text, TOOLS, trusted)
    if clean is not None:
        assert repr(clean) == repr(scanned(text, TOOLS, trusted=trusted))


@given(st.lists(CALLS, min_size=2, max_size=2), st.integers(1, 40))
def test_repeated_calls_are_read_alike(calls: list[dict[str, Any]], times: int) -> None:
    text = json.dumps({"tools": calls * times})
    assert repr(read(text, TOOLS)) == repr(scanned(text, TOOLS))


@pytest.mark.parametrize("done_reason", ["stop", "length"])
def test_a_clean_reply_takes_the_short_way(done_reason: str) -> None:
    text = '{"tools": [{"tool": "add", "tool_input": {"a": 1, "b": 2}}]}\n'
    clean = clean_reply(text, TOOLS, True)
    assert clean is not None
    assert clean == read(text, TOOLS, done_reason=done_reason)


UNUSUAL = [
    '{"tools": []}',
    '{"tools": [{"tool": "ADD", "tool_input": {"a": 1, "b": 2}}]}',
    '{"tools": [{"tool": "add", "tool_input": {"a": "1", "b": 2}}]}',
    '{"tools": [{"tool": "add", "tool_input": {"a": 1, "a": 2, "b": 2}}]}',
    '{"tools": [{"tool": "add", "tool_input": {"a": 1}}]}',
    '{"tools": [{"tool": "now", "tool_input": {}}], "thought": "the time"}',
    '{"tools": [{"tool": "now", "tool_input": {}}]} and more',
]


@pytest.mark.parametrize("text", UNUSUAL)
def test_whatever_is_unusual_is_scanned(text: str) -> None:
    known: Specs = TOOLS
    assert clean_reply(text, known, True) is None
