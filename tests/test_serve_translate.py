"""What a client's messages say, as a log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.errors import RequestRefused
from azent.messages import Call, Message, Question, Reply, Result
from azent.messages.log import pending, turn_of
from azent.serve.translate import NO_RESULT, ClientMessage, arguments_of, log_of

ASK = ClientMessage("user", "?")
WORDS = ClientMessage("assistant", "Fine.")


def calls(*ids: str, tool: str = "f") -> ClientMessage:
    return ClientMessage(
        "assistant", calls=tuple(Call(tool, {"n": n}, id=id) for n, id in enumerate(ids))
    )


def result(text: str, answers: str = "", tool: str = "") -> ClientMessage:
    return ClientMessage("tool", text, answers=answers, tool=tool)


def results(said: list[ClientMessage]) -> dict[str, str]:
    """The texts of the results in a log, by azent's number of the call."""
    return {m.id: m.text for m in log_of(said) if isinstance(m, Result)}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([ASK, calls("a", "b"), result("1", "a"), result("2", "b")], {"1": "1", "2": "2"}),
        ([ASK, calls("a", "b"), result("2", "b"), result("1", "a")], {"1": "1", "2": "2"}),
        ([ASK, calls("", ""), result("1"), result("2")], {"1": "1", "2": "2"}),
        ([ASK, calls("", tool="g"), result("1", tool="g")], {"1": "1"}),
        ([ASK, calls("a"), result("1", "a"), calls("a"), result("2", "a")], {"1": "1", "2": "2"}),
        ([ASK, calls("a"), result("1", "a"), WORDS, ASK, calls("a"), result("2", "a")],
         {"1": "1", "2": "2"}),
        ([ASK, calls("a", "b"), result("2", "b")], {"1": NO_RESULT, "2": "2"}),
        ([ASK, calls("a"), ASK], {"1": NO_RESULT}),
        ([ASK, calls("1", "2"), result("2", "2"), result("1", "1")], {"1": "1", "2": "2"}),
    ],
)  # fmt: skip
def test_results_find_their_calls(said: list[ClientMessage], expected: dict[str, str]) -> None:
    assert results(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        [result("1", "a")],
        [ASK, result("1", "a")],
        [ASK, calls("a"), result("1", "b")],
        [ASK, calls("a"), result("1", "a"), result("1", "a")],
        [ASK, calls("a"), ASK, result("1", "a")],
    ],
)
def test_a_result_without_a_call_is_refused(said: list[ClientMessage]) -> None:
    with pytest.raises(RequestRefused, match="answers no call"):
        log_of(said)


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ([], [Question]),
        ([ClientMessage("system", "Be kind."), ASK], [Question]),
        ([WORDS, ASK], [Question, Reply, Question]),
        ([ASK, WORDS], [Question, Reply, Question]),
        ([ASK, ClientMessage("assistant", "")], [Question]),
        ([ASK, ASK], [Question, Question]),
    ],
)
def test_a_log_begins_with_a_question_and_leaves_something_to_say(
    said: list[ClientMessage], kinds: list[type[Message]]
) -> None:
    assert [type(message) for message in log_of(said)] == kinds


MESSAGES = st.one_of(
    st.just(ASK),
    st.just(WORDS),
    st.just(ClientMessage("system", "Be kind.")),
    st.lists(st.sampled_from(["", "a", "b"]), max_size=3).map(lambda ids: calls(*ids)),
    st.sampled_from(["", "a", "b"]).map(lambda id: result("1", id)),
)


@given(st.lists(MESSAGES, max_size=10))
def test_every_call_has_one_result_and_every_turn_goes_on(said: list[ClientMessage]) -> None:
    try:
        log = log_of(said)
    except RequestRefused:
        return
    made = [call.id for m in log if isinstance(m, Reply) for call in m.calls]
    assert made == [str(n) for n in range(1, len(made) + 1)]
    assert sorted(m.id for m in log if isinstance(m, Result)) == sorted(made)
    assert isinstance(log[0], Question)
    assert isinstance(log[-1], Question | Result)
    assert not pending(turn_of(log))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        ("[1]", {"arguments": [1]}),
        ("{nonsense", {"arguments": "{nonsense"}),
        (None, {"arguments": None}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
    ],
)
def test_arguments_are_an_object_whatever_came(given: object, expected: object) -> None:
    assert arguments_of(given) == expected
