"""Cases from files: what is read, what is right, and what a bad line gets."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent.errors import CasesError
from azent.lab import (
    CATEGORIES,
    Case,
    bfcl_cases,
    cases_from,
    in_part,
    read_bfcl,
    read_cases,
)
from azent.messages import Call

SPEC = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def line(**changes: Any) -> str:
    given = {"question": "Weather in Oslo?", "tools": [SPEC], "calls": [], **changes}
    return json.dumps({key: value for key, value in given.items() if value is not ...})


def due(**tool_input: Any) -> dict[str, Any]:
    return {"tool": "weather", "tool_input": tool_input}


def write(folder: Path, *lines: str) -> Path:
    file = folder / "mine.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def test_a_case_is_read(tmp_path: Path) -> None:
    text = line(calls=[due(city="Oslo")], category="towns", id="a")
    first, second = read_cases(write(tmp_path, text, "", line()))
    assert (first.id, first.question, first.tools) == ("a", "Weather in Oslo?", (SPEC,))
    assert (first.category, first.group, first.runs) == ("towns", "one", False)
    assert (second.id, second.category, second.group) == ("mine:3", "mine", "none")


def test_functions_are_offered_by_name_or_all_of_them(tmp_path: Path) -> None:
    lines = [line(tools=["weather"]), line(tools=...), line(tools=..., answer={"contains": "x"})]
    cases = read_cases(write(tmp_path, *lines), [weather])
    assert [case.tools for case in cases] == [(weather,)] * 3
    assert [case.runs for case in cases] == [False, False, True]


OSLO, ROME = Call("weather", {"city": "Oslo"}), Call("weather", {"city": "Rome"})


@pytest.mark.parametrize(
    ("calls", "made", "wrong"),
    [
        ([], [], ""),
        ([], [OSLO], "1 call, 0 due"),
        ([due(city="Oslo")], [OSLO], ""),
        ([due(city="Oslo")], [], "0 calls, 1 due"),
        ([due(city="Oslo")], [ROME], 'weather({"city": "Rome"}) is not among the calls due'),
        ([due(city="Oslo"), due(city="Rome")], [ROME, OSLO], ""),
        ([due(city="Oslo"), due(city="Rome")], [OSLO, OSLO], "is not among the calls due"),
        ([due(city={"one_of": ["Roma", "Rome"]})], [ROME], ""),
        ([due(city={"one_of": ["Roma"]})], [ROME], "is not among the calls due"),
        ([due(n=1)], [Call("weather", {"n": 1.0})], ""),
        ([due(n=1)], [Call("weather", {"n": True})], "is not among the calls due"),
        ([due(n=1)], [Call("weather", {"n": "1"})], "is not among the calls due"),
        ([due(n=1)], [Call("weather", {"n": 1, "more": 2})], "is not among the calls due"),
        ([due(at=[{"x": 1}, 2])], [Call("weather", {"at": [{"x": 1}, 2]})], ""),
        ([due(at=[1, 2])], [Call("weather", {"at": [1]})], "is not among the calls due"),
        ([{"tool": "weather"}], [Call("weather", {})], ""),
    ],
)
def test_what_calls_are_right(
    tmp_path: Path, calls: list[Any], made: list[Call], wrong: str
) -> None:
    (case,) = read_cases(write(tmp_path, line(calls=calls)))
    said = case.judge(made, "")
    assert wrong in said
    assert bool(said) == bool(wrong)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ({"contains": "sunny"}, ""),
        ({"contains": ["sunny", "Oslo"]}, ""),
        ({"contains": ["sunny", "Rome"]}, "the answer lacks 'Rome'"),
        ({"lacks": "rain"}, ""),
        ({"lacks": "Oslo"}, "the answer contains 'Oslo'"),
        ({"matches": r"\b2\d\b"}, ""),
        ({"matches": r"\b3\d\b"}, r"the answer does not match '\\b3\\d\\b'"),
    ],
)
def test_what_answers_are_right(tmp_path: Path, answer: Any, wrong: str) -> None:
    text = line(tools=["weather"], calls=..., answer=answer)
    (case,) = read_cases(write(tmp_path, text), [weather])
    assert case.judge([OSLO], "It is sunny in Oslo, 21 degrees.") == wrong
    assert case.group == "answer"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{", "this is no JSON"),
        ("[" * 100_000, "this is no JSON"),
        ("[1]", r"this is no JSON object: \[1\]"),
        (line(colour="red"), "a case has no 'colour'"),
        (line(calls=...), "nothing says what is right"),
        (line(question=""), "there is no question"),
        (line(question=...), "there is no question"),
        (line(question=[{"role": "robot", "content": "x"}]), "there is no question"),
        (line(question=[{"role": "user"}]), "there is no question"),
        (line(tools="weather"), "tools is a list"),
        (line(tools=["wether"]), "there is no function 'wether'"),
        (line(tools=[{"title": "x"}]), "describes no tool"),
        (line(tools=[SPEC, SPEC]), "two tools are named 'weather'"),
        (line(calls={}), "calls is a list of objects"),
        (line(calls=["weather"]), "calls is a list of objects"),
        (line(calls=[{"tool": "rain"}]), "is no call of these tools"),
        (line(calls=[{"tool": "weather", "tool_input": 3}]), "is no call of these tools"),
        (line(calls=[{"tool": ["weather"]}]), "is no call of these tools"),
        (line(calls=[{"tool": "weather", "inputs": {}}]), "is no call of these tools"),
        (line(calls=[due(city={"one_of": "Rome"})]), "one_of is a list"),
        (line(calls=[due(city={"one_of": []})]), "one_of is a list"),
        (line(calls=[due(cities=[{"name": {"one_of": 3}}])]), "one_of is a list"),
        (line(question="half a character: \ud800"), "this is no JSON"),
        (line(answer={"contains": "x"}), "a spec cannot be run"),
        (line(tools=["weather"], answer="sunny"), "answer is an object"),
        (line(tools=["weather"], answer={"has": "x"}), "answer is an object"),
        (line(tools=["weather"], answer={"contains": 3}), "is a text, or several"),
        (line(tools=["weather"], answer={"matches": "("}), "is no regular expression"),
        (line(id="same", calls=[due()]), r"the id 'same' stands at .*mine\.jsonl:1 too"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str, said: str) -> None:
    file = write(tmp_path, line(id="same"), "", bad)
    with pytest.raises(CasesError, match=rf"mine\.jsonl:3: .*{said}"):
        read_cases(file, [weather])


# ---- requests in people's own words --------------------------------------------------------------

LIGHT = {
    "name": "light",
    "description": "Set a light.",
    "parameters": {
        "type": "object",
        "properties": {
            "room": {"type": "string"},
            "level": {"type": "integer"},
            "note": {"type": "string"},
        },
    },
}


def loose(**changes: Any) -> str:
    given = {"question": "Dim it", "tools": [LIGHT, SPEC], "function": "light", **changes}
    return json.dumps(given)


@pytest.mark.parametrize(
    ("wanted", "given", "is_right"),
    [
        ("Living Room", "the living-room", True),  # a part of a longer text
        ("the living room", "living room", True),
        ("living room", "kitchen", False),
        ("客厅", "客厅的灯", True),
        ("living room", "", False),
        (50, 50.0, True),
        (50, "50 %", True),
        (50, "50 percent", True),
        (50, "150 percent", False),
        (5, "15", False),
        (5, "fifteen", False),
        ("five", 5, True),
        (5, "Five", True),
        (50, "half", False),
        ({"one_of": [50, "half"]}, "half", True),
        ({"one_of": ["sofa", "living room"]}, "Living room", True),
        ({"one_of": ["sofa", "couch"]}, "Living room", False),
    ],
)
def test_inputs_are_judged_loosely(tmp_path: Path, wanted: Any, given: Any, is_right: bool) -> None:
    (case,) = read_cases(write(tmp_path, loose(inputs={"room": wanted})))
    assert (case.judge([Call("light", {"room": given, "level": 7})], "") == "") is is_right


@pytest.mark.parametrize(
    ("changes", "made", "is_right"),
    [
        ({}, [("light", {"room": "anything"})], True),
        ({}, [("weather", {})], False),
        ({}, [("light", {}), ("light", {})], False),
        ({}, [], False),
        ({"function": None}, [], True),
        ({"function": None}, [("light", {})], False),
        ({"said": ["sofa", "red"]}, [("light", {"room": "red", "note": "at the sofa"})], True),
        ({"said": ["sofa", "red"]}, [("light", {"room": "red"})], False),
        ({"inputs": {"room": "hall"}}, [("light", {"note": "in the hall"})], True),  # elsewhere
        ({"inputs": {"level": 50}}, [("light", {"note": "50"})], False),  # a number is not
        ({"inputs": {"room": "hall"}}, [("light", {"room": "bath", "note": "hall"})], False),
        ({"tools": ["light#2"], "function": "light#2"}, [("light", {})], True),
    ],
)
def test_the_call_is_judged_and_other_inputs_are_free(
    tmp_path: Path, changes: dict[str, Any], made: list[tuple[str, Any]], is_right: bool
) -> None:
    (tmp_path / "mine_tools.json").write_text(json.dumps({"light": SPEC, "light#2": LIGHT}))
    (case,) = read_cases(write(tmp_path, loose(**changes)))
    assert (case.judge([Call(*each) for each in made], "") == "") is is_right


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (loose(calls=[]), "a case has no 'calls'"),
        (loose(function="lamp"), "'lamp' is none of the tools"),
        (loose(function=5), "'5' is none of the tools"),
        (loose(inputs=["room"]), "inputs is an object"),
        (loose(said="room"), "said is a list"),
        (loose(inputs={"colour": "red"}), "light has no input 'colour'"),
        (loose(function=None, inputs={"room": "x"}), "has no input 'room'"),
        (loose(inputs={"room": {"one_of": []}}), "one_of is a list"),
        (loose(tools=["light#3"]), "there is no function 'light#3'"),
    ],
)
def test_a_bad_request_is_named(tmp_path: Path, bad: str, said: str) -> None:
    with pytest.raises(CasesError, match=rf"mine\.jsonl:1: .*{said}"):
        read_cases(write(tmp_path, bad))


@pytest.mark.parametrize("depth", [100, 700, 900, 990, 3000, 100_000])
@pytest.mark.parametrize(
    "part",
    [
        '"inputs": {{"room": {0}}}, "function": "light"',
        '"said": [{0}], "function": "light"',
        '"calls": [{{"tool": "light", "tool_input": {{"room": {0}}}}}]',
        '"calls": [{0}]',
        '"answer": {0}',
        '"question": {0}, "calls": []',
    ],
)
def test_no_depth_of_a_case_overflows_the_stack(tmp_path: Path, part: str, depth: int) -> None:
    deep = '{"a": [' * (depth // 2) + "]}" * (depth // 2)
    text = f'{{"tools": [{json.dumps(LIGHT)}], "question": "?", {part.format(deep)}}}'
    with suppress(CasesError):
        (case,) = read_cases(write(tmp_path, text))
        assert case.judge([Call("light", {"room": "hall"})], "")


def test_everyday_requests_are_cases() -> None:
    cases = read_cases(Path(__file__).parent / "cases" / "everyday.jsonl")
    assert {case.suite for case in cases} == {"everyday"}
    assert {case.category for case in cases if case.group == "none"} == {"clinc_oos"}
    assert not any(case.judge([], "") for case in cases if case.group == "none")
    assert all(case.judge([], "") for case in cases if case.group == "one")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CasesError, match="cannot be read"):
        read_cases(tmp_path / "none.jsonl")
    with pytest.raises(CasesError, match="has no cases"):
        read_cases(write(tmp_path, ""))


# ---- BFCL ----------------------------------------------------------------------------------------

ROW = {
    "id": "parallel_0",
    "question": [[{"role": "user", "content": "Taylor Swift for 20, Maroon 5 for 15 minutes"}]],
    "function": [
        {
            "name": "spotify.play",
            "description": "Play an artist.",
            "parameters": {
                "type": "dict",
                "properties": {
                    "artist": {"type": "string", "description": "Whose songs"},
                    "duration": {"type": "float", "description": "Minutes"},
                    "any": {"type": "any", "description": "Anything"},
                },
                "required": ["artist", "duration"],
            },
        }
    ],
}
TRUTH = [
    {"spotify.play": {"artist": ["Taylor Swift"], "duration": [20.0], "any": [""]}},
    {"spotify.play": {"artist": ["Maroon 5"], "duration": [15.0], "any": [""]}},
]


def write_bfcl(folder: Path, category: str, count: int = 1) -> Path:
    answers = folder / "possible_answer"
    answers.mkdir()
    file = folder / f"BFCL_v4_{category}.json"
    ids = [f"{category}_{number}" for number in range(count)]
    file.write_text("\n".join(json.dumps({**ROW, "id": each}) for each in ids))
    truths = [json.dumps({"id": each, "ground_truth": TRUTH}) for each in ids]
    (answers / file.name).write_text("\n".join(truths))
    return file


def play(artist: str, duration: float) -> Call:
    return Call("spotify_play", {"artist": artist, "duration": duration})


def test_a_case_of_bfcl(tmp_path: Path) -> None:
    pytest.importorskip("bfcl_eval")
    (case,) = read_bfcl(write_bfcl(tmp_path, "parallel"))
    assert (case.group, case.category, case.tools[0]["name"]) == (
        "several",
        "parallel",
        "spotify_play",
    )
    assert case.tools[0]["parameters"]["properties"] == {
        "artist": {"type": "string", "description": "Whose songs"},
        "duration": {"type": "number", "description": "Minutes"},
        "any": {"description": "Anything"},
    }
    right = [play("Maroon 5", 15.0), play("Taylor Swift", 20.0)]
    assert case.judge(right, "") == ""
    assert case.judge(right[:1], "")
    assert case.judge([play("Maroon 5", 15.0), play("Taylor Swift", 2.0)], "")


@pytest.mark.parametrize(
    ("part", "sample", "numbers"),
    [
        ("all", None, range(20)),
        ("dev", None, [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]),
        ("final", None, [5, 6, 7, 8, 9, 15, 16, 17, 18, 19]),
        ("dev", 2, [0, 10]),
        ("dev", 50, [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]),
    ],
)
def test_parts_and_samples(tmp_path: Path, part: Any, sample: int | None, numbers: Any) -> None:
    cases = read_bfcl(write_bfcl(tmp_path, "parallel", 20), part=part, sample=sample)
    assert [case.id for case in cases] == [f"parallel_{number}" for number in numbers]


@pytest.mark.parametrize(
    ("kinds", "aside"),
    [
        ("aaaaa", [1, 3]),
        ("aAaAaA", [1, 2, 5]),  # two kinds of a category, in turn
        ("aA", [1]),
        ("abAB", [1, 2]),  # the same of two categories
        ("abcd", [1, 3]),  # categories of one case each
        ("aabbb", [1, 2, 4]),
        ("a", []),
    ],
)
def test_every_second_case_of_a_kind_is_set_aside(
    tmp_path: Path, kinds: str, aside: list[int]
) -> None:
    file = tmp_path / "own.jsonl"
    due = {True: [], False: [{"tool": "f", "tool_input": {}}]}
    lines = [
        {
            "question": f"Case {number}",
            "category": kind.lower(),
            "tools": [{"name": "f", "description": "", "parameters": {"type": "object"}}],
            "calls": due[kind.isupper()],
            "id": str(number),
        }
        for number, kind in enumerate(kinds)
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    parts = {part: cases_from([str(file)], part=part) for part in ("dev", "final", "all")}
    assert [int(case.id) for case in parts["final"]] == aside
    assert [int(case.id) for case in parts["dev"]] == sorted({*range(len(kinds))} - {*aside})
    assert [int(case.id) for case in parts["all"]] == [*range(len(kinds))]


@given(st.text("abAB", max_size=30), st.text("abAB", max_size=9))
def test_lines_added_at_the_end_move_none_of_those_before(kinds: str, more: str) -> None:
    def aside(kinds: str) -> list[str]:
        cases = [
            Case(str(n), "?", (), lambda calls, text: "", int(kind.isupper()), kind.lower())
            for n, kind in enumerate(kinds)
        ]
        return [case.id for case in in_part(cases, "final")]

    extended = aside(kinds + more)
    assert aside(kinds) == [id for id in extended if int(id) < len(kinds)]


def test_irrelevance_wants_no_call_and_relevance_any(tmp_path: Path) -> None:
    (irrelevant,) = read_bfcl(_without_answers(write_bfcl(tmp_path, "irrelevance")))
    assert (irrelevant.group, irrelevant.judge([], "")) == ("none", "")
    assert irrelevant.judge([play("x", 1)], "")


def _without_answers(file: Path) -> Path:
    (file.parent / "possible_answer" / file.name).unlink()
    return file


def test_broken_files_of_bfcl(tmp_path: Path) -> None:
    file = write_bfcl(tmp_path, "parallel")
    with pytest.raises(CasesError, match=r"possible_answer.* is missing"):
        read_bfcl(_without_answers(file))


BROKEN: list[dict[str, Any]] = [
    {"id": 3},
    {"question": ...},
    {"question": []},
    {"function": ...},
    {"function": {}},
    {"function": [3]},
    {"function": [{"name": "play"}]},
]


def changed_row(changes: dict[str, Any]) -> str:
    return json.dumps({name: each for name, each in (ROW | changes).items() if each is not ...})


@pytest.mark.parametrize("row", ["5", "{", "[" * 100_000, *map(changed_row, BROKEN)])
def test_a_broken_case_of_bfcl_is_named(tmp_path: Path, row: str) -> None:
    file = write_bfcl(tmp_path, "parallel")
    file.write_text(f"{row}\n")
    with pytest.raises(CasesError, match=r"parallel\.json:.* (this is no|is none of)"):
        read_bfcl(file)


@pytest.mark.parametrize("truth", ["5", '{"id": "parallel_0"}', '{"id": "x", "ground_truth": 5}'])
def test_a_broken_answer_of_bfcl_is_named(tmp_path: Path, truth: str) -> None:
    file = write_bfcl(tmp_path, "parallel")
    (tmp_path / "possible_answer" / file.name).write_text(f"{truth}\n")
    with pytest.raises(CasesError, match=r"possible_answer.*:1: this is no"):
        read_bfcl(file)


def test_an_unknown_category_is_told_the_known_ones() -> None:
    with pytest.raises(CasesError, match="no category 'simple'") as caught:
        bfcl_cases("simple")
    assert "simple_python" in caught.value.hint


AT_ONCE = """
import sys, threading
from pathlib import Path
from azent.lab import read_bfcl

cases, together = read_bfcl(Path(sys.argv[1])), threading.Barrier(8)

def judged(case):
    together.wait()
    print(case.judge([], ""), flush=True)

for case in cases:
    threading.Thread(target=judged, args=(case,)).start()
"""


def test_cases_are_judged_side_by_side_from_the_first_on(tmp_path: Path) -> None:
    pytest.importorskip("bfcl_eval")
    command = [sys.executable, "-c", AT_ONCE, str(write_bfcl(tmp_path, "parallel", 8))]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (len(run.stdout.splitlines()), run.stderr) == (8, "")


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_files_that_bfcl_brings(category: str) -> None:
    pytest.importorskip("bfcl_eval")
    cases = bfcl_cases(category, part="dev", sample=3)
    assert len(cases) == 3
    assert {case.category for case in cases} == {category}
