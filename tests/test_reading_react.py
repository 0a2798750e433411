"""ReAct in all the forms that models give it: what is a call, what a problem, and what words."""

from __future__ import annotations

import pytest

from azent.parsing.reader import Reader, read
from tests.reading import Outcome, outcome, specs

OSLO: Outcome = [["get_weather", {"city": "Oslo"}]]
SUM: Outcome = [["add", {"a": 1, "b": 2}]]
NOW: Outcome = [["now", {}]]
LACKING: Outcome = [["get_weather", "error:missing_argument"]]
UNKNOWN: Outcome = [["fly", "error:unknown_tool"]]
JSON = 'Action Input: {"city": "Oslo"}'

CALLS = [
    (f"Action: get_weather\n{JSON}", OSLO),
    (f"Thought: It is cold?\nAction: get_weather\n{JSON}\nObservation: -3", OSLO),
    (f"**Action:** get_weather\n**{JSON[:12]}:** {JSON[14:]}", OSLO),
    (f"### Action: `get_weather`\n{JSON}", OSLO),
    (f"Action 1: get_weather\n{JSON.replace('Input', 'Input 1')}", OSLO),
    (f"Action：get_weather\n{JSON.replace(':', '：', 1)}", OSLO),
    (f"action: get_weather\n{JSON.lower().replace('oslo', 'Oslo')}", OSLO),
    (f"- Action: get_weather\n- {JSON}", OSLO),
    (f"Action: [get_weather]\n{JSON}", OSLO),
    (f"Action: functions.get_weather\n{JSON}", OSLO),
    (f"Action: Get Weather\n{JSON}", OSLO),
    ('Action:\nget_weather\nAction Input:\n{"city": "Oslo"}', OSLO),
    (f"Action: get_weather\n\n{JSON.replace('Action ', 'Action_')}", OSLO),
    (f"Action: get_weather {JSON}", OSLO),
    (f"Action: get_weather, {JSON}", OSLO),
    ("Action: get_weather\nAction Input: Oslo", OSLO),
    ("Action: get_weather\nAction Input: 'Oslo'", OSLO),
    ("Action: get_weather\nAction Input: city: Oslo", OSLO),
    ("Action: get_weather\nAction Input: city='Oslo'", OSLO),
    ('Action: get_weather\nAction Input:\n```json\n{"city": "Oslo"}\n```', OSLO),
    ('Action: get_weather\nInput: {"city": "Oslo"}', OSLO),
    ('Action: get_weather\n{"city": "Oslo"}', OSLO),
    ('Action: get_weather\n{"tool": "get_weather", "tool_input": {"city": "Oslo"}}', OSLO),
    ('Action: get_weather {"city": "Oslo"}', OSLO),
    ('Action: {"tool": "get_weather", "tool_input": {"city": "Oslo"}}', OSLO),
    ('Action: get_weather("Oslo")', OSLO),
    ('Action: `get_weather(city="Oslo")`', OSLO),
    ('Action: **get_weather("Oslo")**', OSLO),
    ('Action: print(get_weather("Oslo"))', OSLO),
    ('Action: await get_weather(city="Oslo")', OSLO),
    ('Action: get_weather({"city": "Oslo"})', OSLO),
    ('Action: get_weather(\n    city="Oslo",\n)', OSLO),
    ('Action:\nget_weather(city="Oslo")', OSLO),
    ('Action: [get_weather(city="Oslo")]', OSLO),
    ("Action: get_weather[Oslo]", OSLO),
    ('Action 2: get_weather["Oslo"]', OSLO),
    ('Action: get_weather[city="Oslo"]', OSLO),
    ('Action: get_weather[{"city": "Oslo"}]', OSLO),
    ("Action: add[a=1, b=2]", SUM),
    ("Action: add(1, 2)", SUM),
    ('Action: add(1, 2)\nAction Input: {"a": 1, "b": 2}', SUM),
    ("Action: now", NOW),
    ("Action: now()", NOW),
    ("Action: print(now())", NOW),
    ("Action: now[]", NOW),
    ("Action: now\nAction Input: none", NOW),
    ("Action: now\nObservation: It is five.", NOW),
    ('Final Answer: {"tool": "now", "tool_input": {}}', NOW),
    ('Final Answer:\n```json\n{"tool": "now", "tool_input": {}}\n```', NOW),
]

PROBLEMS = [
    ("Action: get_weather", LACKING),
    ("Action: get_weather\nObservation: -3", LACKING),
    ("Action: get_weather(Oslo)", "error:malformed"),
    ("Action: print(get_weather(city=here))", "error:malformed"),
    ("Action: add(a=1, b=)", "error:malformed"),
    ('Action: add\nAction Input: {"a": 1, "b": }', "error:malformed"),
    ("Action: add[1, 2]", [["add", "error:invalid_argument"]]),
    ("Action: add\nAction Input: 1, 2", [["add", "error:invalid_argument"]]),
    ('Action: fly\nAction Input: {"to": "Oslo"}', UNKNOWN),
    ("Action: fly\nAction Input: Oslo", UNKNOWN),
    ('Action: fly(to="Oslo")', UNKNOWN),
    (f"Action: use get_weather\n{JSON}", [["use get_weather", "error:unknown_tool"]]),
    ('Action: get_weather\nAction Input: {"city": "Os', [["get_weather", "error:truncated"]]),
    ("Action: get_weather\nAction Inp", "error:truncated"),
    ("Action: get_weather\nAction Input:", "error:truncated"),
    ('Action: print(get_weather(city="Oslo"', "error:truncated"),
]

WORDS = [
    (
        "Action: Search for the weather.\nThen tell me.",
        "Action: Search for the weather.\nThen tell me.",
    ),
    ("Action: fly", "Action: fly"),
    ("Action: none", "Action: none"),
    ("action: now", "action: now"),
    ("Action: get_weather Oslo", "Action: get_weather Oslo"),
    ('Action: print("hello")', 'Action: print("hello")'),
    ('Action: fly("Oslo")', 'Action: fly("Oslo")'),
    ('Action: get_weather("Oslo") and so on', 'Action: get_weather("Oslo") and so on'),
    ('Action: x = get_weather("Oslo")', 'Action: x = get_weather("Oslo")'),
    (f"> Action: get_weather\n> {JSON}", f"> Action: get_weather\n> {JSON}"),
    (
        "Action: the action to take\nAction Input: its input",
        "Action: the action to take\nAction Input: its input",
    ),
    ("Action: None\nFinal Answer: It is 4.", "It is 4."),
    ("Action: Final Answer\nAction Input: It is 4.", "It is 4."),
    ("Action 3: Finish[It is 4.]", "It is 4."),
    ("Thought: I know.\nFinal Answer: It is 4.", "It is 4."),
    ('Final Answer: now("x") gives it.', 'now("x") gives it.'),
]


@pytest.mark.parametrize(("text", "expected"), CALLS + PROBLEMS)
def test_an_action(text: str, expected: Outcome) -> None:
    assert outcome(read(text, specs())) == expected


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_what_is_no_action(text: str, words: str) -> None:
    reply = read(text, specs())
    assert (outcome(reply), reply.text) == ("none", words)


@pytest.mark.parametrize("text", [text for text, _ in CALLS + PROBLEMS + WORDS])
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_an_action_as_it_streams(text: str, reason: str) -> None:
    reader, shown = Reader(specs()), ""
    for char in text:
        reader.feed(char)
        shown += reader.words()
    reply = reader.close(reason)
    assert reply == read(text, specs(), done_reason=reason)
    assert (shown + reader.words()).strip() == reply.text


@pytest.mark.parametrize("text", [text for text, expected in CALLS if expected == OSLO])
def test_an_action_that_is_cut_does_not_run(text: str) -> None:
    end = text.index("Oslo") + 2
    reply = read(text[:end], specs(), done_reason="length")
    assert not [call for call in reply.calls if call.problem is None]


@pytest.mark.parametrize(
    "after", ["", "\n", "\nAct", "[", "\n**Action I", "\n## Act", "\n2. A", "\nInp"]
)
def test_an_action_whose_input_may_have_been_cut_does_not_run(after: str) -> None:
    cut = read(f"Action: now{after}", specs("now"), done_reason="length")
    assert not cut.calls
    assert cut.problem is not None
    assert cut.problem.kind == "truncated"


def test_an_action_with_a_closed_input_runs_though_the_text_is_cut() -> None:
    assert read("Action: now[]", specs("now"), done_reason="length").calls


@pytest.mark.parametrize("given", ['[["a"]', "[[1], 2", "[a[b]"])
def test_brackets_in_an_input_do_not_end_it(given: str) -> None:
    assert not read(f"Action: search_notes{given}", specs(), done_reason="length").calls


def test_an_action_in_an_open_bracket_does_not_run_though_nothing_was_cut() -> None:
    assert not read("Action: now[\nThat is it.", specs("now")).calls
