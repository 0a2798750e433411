"""Evaluation from cases to verdict: planted differences are found, and nothing is done twice."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import azent
from azent.cli import app
from azent.errors import CasesError, ModelRefused, ModelUnreachable
from azent.lab import (
    Arm,
    Case,
    Outcome,
    evaluate,
    page,
    plan,
    read_cases,
    read_outcomes,
    rows,
    try_case,
    verdicts,
)
from azent.messages import Call, Delta, End, Request, Usage
from azent.models import Scripted
from azent.prompt import PromptSet, read
from azent.testing import WordEncoder
from tests.scripted_ollama import Say, ScriptedOllama
from tests.test_prompt import write_set

RIGHT, WRONG = '{"tools": [{"tool": "wait", "tool_input": {}}]}', '{"tools": []}'
SPEC = {"name": "wait", "description": "Wait.", "parameters": {"type": "object", "properties": {}}}


def write_cases(folder: Path, count: int) -> Path:
    file = folder / "cases.jsonl"
    line = {"question": "Wait", "tools": [SPEC], "calls": [{"tool": "wait", "tool_input": {}}]}
    lines = ({**line, "question": f"Wait {n}", "id": str(n)} for n in range(count))
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


@pytest.fixture
def sets(tmp_path: Path) -> list[PromptSet]:
    return [read(write_set(tmp_path / name)) for name in ("old", "new")]


def outcomes_of(sets: list[PromptSet], cases: list[Case], right: list[set[int]]) -> list[Outcome]:
    """Both sets on all cases, by a script in which each is right on the cases given."""
    script = [RIGHT if n in right[arm] else WRONG for n in range(len(cases)) for arm in (0, 1)]
    model = Scripted(*script)
    return list(evaluate(plan([Arm(model, each) for each in sets], cases).todo))


@pytest.mark.parametrize(
    ("old", "new", "real"),
    [
        (set(range(100)), set(range(120)), True),  # ten points
        (set(range(140)), set(range(10, 170)), True),  # ten points, with some noise
        (set(range(100)), set(range(100)), False),  # the same
        (set(range(20, 120)), set(range(100)), False),  # as many, on other cases
    ],
)
def test_a_planted_difference_is_found_and_a_planted_nothing_is_not(
    tmp_path: Path, sets: list[PromptSet], old: set[int], new: set[int], real: bool
) -> None:
    cases = read_cases(write_cases(tmp_path, 200))
    mine = rows(outcomes_of(sets, cases, [old, new]))
    (verdict,) = verdicts(mine)
    assert [row.all.right for row in mine] == [len(old), len(new)]
    assert verdict.comparison.real is real
    assert ("the difference is real" in str(verdict)) is real
    assert ("+10.0 points on 200 cases" in str(verdict)) is real


def test_what_was_done_is_not_done_again(tmp_path: Path, sets: list[PromptSet]) -> None:
    cases, file = read_cases(write_cases(tmp_path, 3)), tmp_path / "new" / "out.jsonl"
    first = plan([Arm(Scripted(RIGHT, WRONG), sets[0])], cases)
    outcomes = evaluate(first.todo, file)
    begun = [next(outcomes), next(outcomes)]
    again = plan([Arm(Scripted(), sets[0])], cases, read_outcomes(file))
    assert list(again.done) == begun == read_outcomes(file)
    assert [case.id for _, case in again.todo] == ["2"]


def test_cases_side_by_side(tmp_path: Path, sets: list[PromptSet]) -> None:
    together = threading.Barrier(4, timeout=30)

    class Meeting:
        """A model that replies once four requests are on their way."""

        name, num_ctx = "scripted", None

        def stream(self, request: Request) -> Iterator[Delta | End]:
            together.wait()
            yield Delta(RIGHT)
            yield End()

    cases, file = read_cases(write_cases(tmp_path, 8)), tmp_path / "out.jsonl"
    outcomes = list(evaluate(plan([Arm(Meeting(), sets[0])], cases).todo, file, jobs=4))
    assert sorted(outcome.case for outcome in outcomes) == [str(n) for n in range(8)]
    assert sorted(outcome.case for outcome in read_outcomes(file)) == [str(n) for n in range(8)]


def test_what_is_done_beside_a_failure_is_kept(tmp_path: Path, sets: list[PromptSet]) -> None:
    """While the first outcome is looked at, one case fails and all others come to their end."""
    asked = itertools.count()
    fails, ended = threading.Event(), threading.Semaphore(0)

    class Failing:
        """A model that fails at its second request, once the first is over."""

        name, num_ctx = "scripted", None

        def stream(self, request: Request) -> Iterator[Delta | End]:
            number = next(asked)
            if number:
                fails.wait()
                ended.release()
            if number == 1:
                raise ModelUnreachable("gone")
            yield Delta(RIGHT)
            yield End()

    cases, file = read_cases(write_cases(tmp_path, 12)), tmp_path / "out.jsonl"
    outcomes = evaluate(plan([Arm(Failing(), sets[0])], cases).todo, file, jobs=12)
    next(outcomes)
    fails.set()
    for _ in range(11):
        ended.acquire()
    time.sleep(2)  # for their threads to put down what came of them
    with pytest.raises(ModelUnreachable):
        list(outcomes)
    assert len(read_outcomes(file)) == 11


def test_a_set_that_was_edited_is_asked_again(tmp_path: Path, sets: list[PromptSet]) -> None:
    cases, file = read_cases(write_cases(tmp_path, 1)), tmp_path / "out.jsonl"
    list(evaluate(plan([Arm(Scripted(RIGHT), sets[0])], cases).todo, file))
    (tmp_path / "old" / "decide.txt").write_text("Now!")
    edited = read(tmp_path / "old")
    assert len(plan([Arm(Scripted(), edited)], cases, read_outcomes(file)).todo) == 1


def test_runs_with_another_encoder_are_told_apart(tmp_path: Path) -> None:
    meant = read(write_set(tmp_path / "meant", "[selection]\nrelevance = true"))
    plain = read(write_set(tmp_path / "plain"))
    cases, file = read_cases(write_cases(tmp_path, 1)), tmp_path / "out.jsonl"
    arms = [
        Arm(Scripted(RIGHT), prompts, encoder)
        for prompts in (meant, plain)
        for encoder in (WordEncoder(), None)
    ]
    for number, arm in enumerate(arms):
        kept = read_outcomes(file)
        todo = plan([arm], cases, kept).todo
        assert len(todo) == (number < 3)  # a set that asks for no encoder is the same with any
        list(evaluate(todo, file))
    outcomes = read_outcomes(file)
    assert [outcome.encoder for outcome in outcomes] == ["words", "none", ""]
    names = ["scripted, meant (words)", "scripted, meant (none)", "scripted, plain"]
    assert [row.name for row in rows(outcomes)] == names
    assert all(f">{name}<" in page(outcomes) for name in names)
    (old,) = [replace(each, encoder="") for each in outcomes[:1]]  # of a file that did not say it
    assert plan(arms[:1], cases, [old]).done == ()


@pytest.mark.parametrize(
    "edit",
    [
        lambda case: case | {"question": "Wait long"},
        lambda case: case | {"calls": []},
        lambda case: case | {"category": "others"},
        lambda case: case | {"tools": [*case["tools"], {**SPEC, "name": "go"}]},
    ],
)
def test_a_case_that_was_edited_is_asked_again(
    tmp_path: Path, sets: list[PromptSet], edit: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    file, out = write_cases(tmp_path, 3), tmp_path / "out.jsonl"
    list(evaluate(plan([Arm(Scripted(*[RIGHT] * 3), sets[0])], read_cases(file)).todo, out))
    first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps(edit(json.loads(first))), *rest]))
    again = plan([Arm(Scripted(), sets[0])], read_cases(file), read_outcomes(out))
    assert [case.id for _, case in again.todo] == ["0"]


def test_outcomes_of_files_without_stamps_still_count(
    tmp_path: Path, sets: list[PromptSet]
) -> None:
    cases = read_cases(write_cases(tmp_path, 1))
    (outcome,) = evaluate(plan([Arm(Scripted(RIGHT), sets[0])], cases).todo)
    old = replace(outcome, stamp="")
    assert plan([Arm(Scripted(), sets[0])], cases, [old]).done == (old,)


def test_half_a_line_is_passed_over_and_any_other_is_named(
    tmp_path: Path, sets: list[PromptSet]
) -> None:
    cases, file = read_cases(write_cases(tmp_path, 2)), tmp_path / "out.jsonl"
    arm = Arm(Scripted(RIGHT, RIGHT), sets[0])
    list(evaluate(plan([arm], cases).todo[:1], file))
    with file.open("a") as lines:
        lines.write('{"model": "scri')
    kept = read_outcomes(file)
    assert len(kept) == 1
    list(evaluate(plan([arm], cases, kept).todo, file))
    assert [outcome.case for outcome in read_outcomes(file)] == ["0", "1"]


@pytest.mark.parametrize(
    "changed",
    [{"case": 5}, {"wrong": None}, {"calls": [3]}, {"calls": 3}, {"usage": {"requests": "one"}},
     {"usage": 3}, {"usage": {"seconds": None}}, {"group": ["one"]}],
)  # fmt: skip
def test_a_line_that_is_no_outcome_is_named(
    tmp_path: Path, sets: list[PromptSet], changed: dict[str, Any]
) -> None:
    cases, file = read_cases(write_cases(tmp_path, 1)), tmp_path / "out.jsonl"
    list(evaluate(plan([Arm(Scripted(RIGHT), sets[0])], cases).todo, file))
    good = json.loads(file.read_text())
    for line in (json.dumps(good | changed), "[" * 100_000, "3"):
        file.write_text(f"{line}\n")
        with pytest.raises(CasesError, match=r"out\.jsonl:1: this is no outcome"):
            read_outcomes(file)


def test_half_a_character_is_kept_as_it_is(tmp_path: Path, sets: list[PromptSet]) -> None:
    cases, file = read_cases(write_cases(tmp_path, 1)), tmp_path / "out.jsonl"
    (outcome,) = evaluate(plan([Arm(Scripted("Hm \ud83d"), sets[0])], cases).todo, file)
    assert "\ud83d" in outcome.text
    assert read_outcomes(file) == [outcome]


def test_replies_of_no_use_are_wrong_and_counted(tmp_path: Path, sets: list[PromptSet]) -> None:
    (case,) = read_cases(write_cases(tmp_path, 1))
    outcome = try_case(Arm(Scripted('{"tools": [', '{"tools": [', '{"tools": ['), sets[0]), case)
    assert "no usable reply" in outcome.wrong
    assert outcome.usage.requests == 3


def test_native_calls_are_those_that_the_server_read(tmp_path: Path) -> None:
    (case,) = read_cases(write_cases(tmp_path, 1))
    end = End(usage=Usage(prompt_tokens=7, requests=1))
    model = Scripted([Delta(calls=(Call("wait", {}),)), end], RIGHT, ModelRefused("no tools here"))
    right, in_text, refused = (try_case(Arm(model, None), case) for _ in range(3))
    assert (right.ok, right.prompts, right.usage.prompt_tokens) == (True, "native", 7)
    assert (in_text.wrong, refused.wrong) == ("0 calls, 1 due", "no tools here")
    assert model.heard[0].tools == (SPEC,)


def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def test_answers_are_checked_with_the_tools_run(tmp_path: Path, sets: list[PromptSet]) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "Twice 21?", "tools": ["double"], "answer": {"contains": "42"}}')
    (case,) = read_cases(file, [double])
    calls = '{"tools": [{"tool": "double", "tool_input": {"n": 21}}]}'
    outcome = try_case(Arm(Scripted(calls, WRONG, "It is 42."), sets[0]), case)
    assert (outcome.ok, outcome.text, outcome.group) == (True, "It is 42.", "answer")
    assert outcome.calls == ({"tool": "double", "tool_input": {"n": 21}},)
    assert plan([Arm(Scripted(), None)], [case]).todo == ()


# ---- the page and the command --------------------------------------------------------------------


def test_the_page_stands_alone_and_shows_text_as_text(
    tmp_path: Path, sets: list[PromptSet]
) -> None:
    cases = read_cases(write_cases(tmp_path, 4))
    outcomes = outcomes_of(sets, cases, [{0, 1}, {0, 1, 2}])
    last = replace(outcomes[-1], category="<b>c</b>", wrong="<script>1</script>")
    made = page([*outcomes[:-1], last], verdicts(rows(outcomes)))
    assert "<svg" in made
    assert "+25.0 points on 4 cases" in made
    assert "&lt;b&gt;c&lt;/b&gt;" in made
    assert not any(
        part in made for part in ("<script", "<b>c", "http:", "https:", "src=", "@import")
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOllama]:
    """A server whose model is right on even numbers."""

    def reply(body: dict[str, Any]) -> str:
        words = body["messages"][-1]["content"].split()
        return RIGHT if int(words[words.index("Wait") + 1]) % 2 == 0 else WRONG

    with ScriptedOllama(reply) as started:
        monkeypatch.setenv("OLLAMA_HOST", started.url)
        yield started


def eval_command(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["eval", "-m", "scripted", *map(str, arguments)])


def test_the_command_measures_goes_on_and_shows(tmp_path: Path, server: ScriptedOllama) -> None:
    out, html = tmp_path / "out.jsonl", tmp_path / "page.html"
    cases = write_cases(tmp_path, 4)
    first = eval_command(cases, "-p", "default", "-p", "article", "-o", out, "--html", html)
    assert first.exit_code == 0, first.output
    assert "0.50 (2/4, 0.15-0.85)" in first.stdout
    assert "that may be chance" in first.stdout
    assert html.read_text().startswith("<!doctype html>")
    asked = len(server.requests)
    assert asked == 8
    again = eval_command(cases, "-p", "default", "-p", "article", "-o", out)
    kept = ["eval", "-o", str(out), "--against", str(out), "--json"]
    shown = CliRunner().invoke(app, kept)
    assert len(server.requests) == asked
    assert "8 outcomes are there already, 0 to go" in again.stderr
    said = json.loads(shown.stdout)
    assert [arm["prompts"] for arm in said["arms"]] == ["default", "article"]
    assert [each["difference"] for each in said["comparisons"]] == [0.0] * 3


def test_both_kinds_of_cases_stand_in_one_table(tmp_path: Path, server: ScriptedOllama) -> None:
    requests = tmp_path / "requests.jsonl"
    line = {"tools": [SPEC], "function": "wait", "part": "home"}
    lines = [{**line, "id": f"r{n}", "question": f"Wait {n}"} for n in range(2)]
    requests.write_text("\n".join(map(json.dumps, lines)))
    given = (write_cases(tmp_path, 4), requests, "-o", tmp_path / "out.jsonl")
    said = eval_command(*given, "--json")
    assert json.loads(said.stdout)["arms"][0]["suites"] == {
        "cases": {"mean": 0.5, "interval": pytest.approx([0.15, 0.85], abs=0.01)},
        "requests": {"mean": 0.5, "interval": pytest.approx([0.09, 0.91], abs=0.01)},
    }
    table = eval_command(*given).stdout
    for figure in ("mean over categories", "mean of cases", "mean of requests", "  home"):
        assert figure in table


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_ctrl_c_keeps_what_was_done(tmp_path: Path) -> None:
    cases, out = write_cases(tmp_path, 9), tmp_path / "out.jsonl"
    with ScriptedOllama(RIGHT, RIGHT, Say(RIGHT, before=60)) as server:
        command = ["-m", "azent", "eval", str(cases), "-m", "scripted", "-o", str(out)]
        process = subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, "OLLAMA_HOST": server.url},
            cwd=Path(azent.__file__).parent.parent,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while len(server.requests) < 3 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        printed, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted after 2 outcomes; kept in" in told
    assert "1.00 (2/2, 0.34-1.00)" in printed
    assert [outcome.case for outcome in read_outcomes(out)] == ["0", "1"]


def test_the_command_fails_where_too_little_is_right(
    tmp_path: Path, server: ScriptedOllama
) -> None:
    cases = write_cases(tmp_path, 4)
    assert eval_command(cases, "--fail-under", 0.5).exit_code == 0
    failed = eval_command(cases, "--fail-under", 0.51)
    assert failed.exit_code == 1
    assert "scripted, default: 0.50 is under 0.51" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["bad.jsonl"], 12, "bad.jsonl:2: this is no JSON"),
        (["none.jsonl"], 12, "none.jsonl cannot be read"),
        (["bfcl:nonsense"], 12, "no category 'nonsense'"),
        (["good.jsonl", "good.jsonl"], 2, "comes twice"),
        (["good.jsonl", "-p", "nonsense"], 8, "no prompt set 'nonsense'"),
        (["good.jsonl", "--part", "half"], 2, "--part is 'half'"),
        ([], 2, "there are no cases"),
        (["-o", "none.jsonl"], 2, "is not there"),
        (["good.jsonl", "-o", "."], 12, ". cannot be used"),
    ],
)
def test_bad_input_is_named_before_anything_is_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: ScriptedOllama,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path, 1).rename("good.jsonl")
    Path("bad.jsonl").write_text(Path("good.jsonl").read_text() + "\n{\n")
    result = eval_command(*arguments)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    assert server.requests == []


class Interrupting:
    """A model at whose second request the user presses Ctrl-C."""

    name, num_ctx = "scripted", None

    def __init__(self) -> None:
        self.asked = 0

    def stream(self, request: Request) -> Iterator[Delta | End]:
        self.asked += 1
        if self.asked == 2:
            raise KeyboardInterrupt
        yield Delta(RIGHT)
        yield End()


def test_an_interruption_keeps_what_was_done(tmp_path: Path, sets: list[PromptSet]) -> None:
    file = tmp_path / "out.jsonl"
    cases = read_cases(write_cases(tmp_path, 3))
    with pytest.raises(KeyboardInterrupt):
        list(evaluate(plan([Arm(Interrupting(), sets[0])], cases).todo, file))
    assert [outcome.case for outcome in read_outcomes(file)] == ["0"]
