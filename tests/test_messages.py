"""Every message has a JSON form that comes back as the same message."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.messages import Call, Correction, Message, Note, Problem, Question, Reply, Result, Usage
from azent.messages.json_forms import from_json, to_json

texts = st.text(max_size=20)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
problems = st.builds(Problem, st.sampled_from(["malformed", "unknown_tool", "empty"]), texts)
calls = st.builds(
    Call, texts, st.dictionaries(texts, values, max_size=3), st.none() | problems, texts
)
usages = st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Question, texts),
    st.builds(
        Reply,
        calls=st.lists(calls, max_size=3).map(tuple),
        text=texts,
        thinking=texts,
        problem=st.none() | problems,
        repairs=st.lists(texts, max_size=2).map(tuple),
        usage=st.none() | usages,
        move=st.sampled_from(["decide", "answer", "single"]),
        raw=texts,
    ),
    st.builds(Result, texts, texts, st.booleans(), st.none() | problems, id=texts),
    st.builds(Correction, problems),
    st.builds(
        Note,
        st.sampled_from(["shrunk", "interrupted", "stopped"]),
        texts,
        st.lists(texts, max_size=2).map(tuple),
        st.integers(0, 9),
    ),
)


@given(messages)
def test_json_round_trip(message: Message) -> None:
    assert from_json(json.loads(json.dumps(to_json(message)))) == message


def test_what_a_function_returned_is_not_kept() -> None:
    result = Result("add", "4", value=object(), id="1")
    assert to_json(result) == {"kind": "result", "tool": "add", "text": "4", "id": "1"}
    assert from_json(to_json(result)) == result


@pytest.mark.parametrize("data", [{}, {"kind": "question"}, {"kind": "poem", "text": "x"}])
def test_anything_else_is_an_error(data: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError)):
        from_json(data)


def test_usage_adds_up() -> None:
    total = sum([Usage(1, 2, 3, 0.5), Usage(10, 20, 1, 0.25)], Usage())
    assert total == Usage(11, 22, 4, 0.75)


def test_kinds_are_lower_case_words() -> None:
    assert set(to_json(Question("x"))["kind"]) <= set(string.ascii_lowercase)
