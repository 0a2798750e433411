"""`azent tune` from cases to a prompt set: what is planted is found, and nothing is done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import azent
from azent import prompt
from azent.cli import app, lab
from azent.errors import CasesError, UsageError
from azent.lab import (
    BUDGET,
    About,
    JudgingProgress,
    Split,
    Tuned,
    evidence,
    read_outcomes,
    split_cases,
    tune,
    write,
)
from azent.lab.tuning import asked_once, patterns
from azent.messages import Delta, End, Request, Usage
from azent.models.ollama import Ollama
from azent.models.recorded import Cached
from azent.prompt import PromptSet, read
from tests.scripted_ollama import Say, ScriptedOllama
from tests.test_prompt import write_set

RIGHT, WRONG = '{"tools": [{"tool": "wait", "tool_input": {}}]}', '{"tools": []}'
SPEC = {"name": "wait", "description": "Wait.", "parameters": {"type": "object", "properties": {}}}
PLANTED = '"description"'  # stands in requests that show functions as JSON, and in no others
ROOT = Path(azent.__file__).parent.parent
ABOUT = About("mine", "2026-01-31", "azent tune")


def write_cases(folder: Path, count: int = 24) -> Path:
    """Cases of two categories in turn; every second one of each is set aside: 1, 2, 5, 6, ..."""
    file = folder / "cases.jsonl"
    lines = (
        {
            "id": str(n),
            "question": f"Wait {n}",
            "tools": [SPEC],
            "calls": [{"tool": "wait", "tool_input": {}}],
            "category": "ab"[n % 2],
        }
        for n in range(count)
    )
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def asked_number(text: str) -> int:
    return int(re.findall(r"Wait (\d+)", text)[-1])


class Swayed:
    """A model that is right where the planted setting stands in the request, else now and then."""

    name, num_ctx = "swayed", None

    def __init__(self, stop: int | None = None) -> None:
        self.heard: list[str] = []
        self.requests: list[str] = []
        self.stop = stop

    def stream(self, request: Request) -> Iterator[Delta | End]:
        text = "\n".join(message["content"] for message in request.messages)
        self.heard.append(text)
        self.requests.append(json.dumps([request.messages, request.format]))
        if len(self.heard) == self.stop:
            raise KeyboardInterrupt
        yield Delta(RIGHT if PLANTED in text or asked_number(text) % 5 == 0 else WRONG)
        yield End(usage=Usage(prompt_tokens=len(text) // 4, requests=1))


@pytest.fixture
def sets(tmp_path: Path) -> list[PromptSet]:
    """Two sets, both without what is planted."""
    decide = {"decide": "Which? Reply with JSON."}
    plain = read(write_set(tmp_path / "sets" / "plain", **decide))
    return [plain, read(write_set(tmp_path / "sets" / "other", "held = false", **decide))]


def tuned(model: Swayed, folder: Path, sets: list[PromptSet], **more: Any) -> Tuned:
    return tune(model, split_cases([str(write_cases(folder))]), sets, **{"budget": 200, **more})


def test_the_planted_setting_is_found(tmp_path: Path, sets: list[PromptSet]) -> None:
    found = tuned(Swayed(), tmp_path, sets)
    assert found.prompts.functions == "json"
    assert (found.start.prompts, found.winner.mean) == ("plain", 1.0)
    (verdict,) = found.verdicts
    assert verdict.comparison.real


def test_a_model_that_is_asked_once_is_tried_again_as_often() -> None:
    for retries in (0, 5):
        with asked_once(Ollama("scripted", retries=retries), "", None) as once:
            assert isinstance(once, Cached)
            assert once.retries == retries


def test_what_is_set_aside_is_asked_once_and_only_at_the_end(
    tmp_path: Path, sets: list[PromptSet]
) -> None:
    model, seen = Swayed(), []
    found = tuned(model, tmp_path, sets, watch=lambda now, asked: seen.append((now, asked)))
    first = next(asked for now, asked in seen if isinstance(now, JudgingProgress))
    outcomes = {*map(str, range(24))}
    aside = {case.id for case in found.split.aside}
    searched = {case.id for case in found.split.search}
    assert searched | aside == outcomes
    assert not searched & aside
    last = max(n for n, text in enumerate(model.heard) if str(asked_number(text)) in searched)
    late = [str(asked_number(text)) for text in model.heard[last + 1 :]]
    assert Counter(late) == dict.fromkeys(aside, 2)
    assert len(seen) > first > 0


def test_the_same_is_not_asked_twice(tmp_path: Path, sets: list[PromptSet]) -> None:
    """Candidates that differ in what changes no request share the model's replies."""
    model = Swayed()
    tuned(model, tmp_path, sets)
    assert len(set(model.requests)) == len(model.requests)


@pytest.mark.parametrize("stop", [1, 2, 17, 60])
def test_a_search_that_was_left_goes_on(tmp_path: Path, sets: list[PromptSet], stop: int) -> None:
    whole, file = tmp_path / "whole.jsonl", tmp_path / "left.jsonl"
    expected = tuned(Swayed(), tmp_path, sets, file=whole)
    left = Swayed(stop)
    with pytest.raises(KeyboardInterrupt):
        tuned(left, tmp_path, sets, file=file)
    kept = read_outcomes(file) if file.exists() else []
    model = Swayed()
    again = tuned(model, tmp_path, sets, file=file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == len(read_outcomes(file)) == len(read_outcomes(whole)) > len(kept)
    assert evidence(again, ABOUT) == evidence(expected, ABOUT)
    assert not {*left.requests[:-1]} & {*model.requests}
    model = Swayed()
    tuned(model, tmp_path, sets, file=file)
    assert model.heard == []


@pytest.mark.parametrize("change", ["case", "set", "context"])
def test_outcomes_of_what_has_changed_do_not_count(
    tmp_path: Path, sets: list[PromptSet], change: str
) -> None:
    file, model = tmp_path / "out.jsonl", Swayed()
    tuned(model, tmp_path, sets, file=file)
    again = Swayed()
    given = split_cases([str(write_cases(tmp_path))])
    if change == "case":
        cases = tmp_path / "cases.jsonl"
        cases.write_text(cases.read_text().replace("Wait 0", "Please Wait 0"))
        given = split_cases([str(cases)])
        assert given.search[0].id == "0"
    elif change == "set":
        (tmp_path / "sets" / "plain" / "decide.txt").write_text("Now!")
        sets = [read(tmp_path / "sets" / "plain"), sets[1]]
    else:
        again.num_ctx = 4096  # type: ignore[assignment]  # it was without one
    tune(again, given, sets, budget=200, file=file)
    numbers = {asked_number(text) for text in again.heard}
    assert numbers == {0} if change == "case" else len(numbers) == 24
    assert ("Now!" in again.heard[0]) is (change == "set")


def test_side_by_side_finds_the_same(tmp_path: Path, sets: list[PromptSet]) -> None:
    one, four = (tuned(Swayed(), tmp_path, sets, jobs=jobs) for jobs in (1, 4))
    assert one.result == four.result


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_gives_the_same_search_each_time(
    tmp_path: Path, sets: list[PromptSet], seed: int
) -> None:
    models = [Swayed(), Swayed()]
    for model in models:
        tuned(model, tmp_path, sets, seed=seed)
    assert models[0].heard == models[1].heard


def test_the_command_has_the_budget_of_the_library() -> None:
    assert lab.BUDGET == BUDGET


def test_a_small_budget_is_kept_to(tmp_path: Path, sets: list[PromptSet]) -> None:
    found = tuned(Swayed(), tmp_path, sets, budget=8)
    assert (found.result.spent, len(found.result.tried)) == (8, 2)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (7, "3 cases to search with, 4 set aside: 4 are needed of each"),
        (1, "1 case to search with, 0 set aside"),
    ],
)
def test_too_few_cases(tmp_path: Path, count: int, said: str) -> None:
    with pytest.raises(CasesError, match=said) as caught:
        split_cases([str(write_cases(tmp_path, count))])
    assert "Give 8 cases or more" in caught.value.hint


def test_what_cannot_go_together(tmp_path: Path, sets: list[PromptSet]) -> None:
    given = split_cases([str(write_cases(tmp_path))])
    with pytest.raises(CasesError, match="the case '0' is also among those set aside"):
        tune(Swayed(), Split(given.search, given.search), sets)
    with pytest.raises(UsageError, match="a budget of 7 is too small") as caught:
        tune(Swayed(), given, sets, budget=7)
    assert "Two candidates on the first 4 cases take 8" in caught.value.hint
    with pytest.raises(UsageError, match="have one name"):
        tune(Swayed(), given, [sets[0], sets[0]])


# ---- the set that is written ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "fits", "others"),
    [
        ("m", ["m", "m:latest"], ["m2", "m:8b", "x/m"]),
        ("m:latest", ["m", "m:latest"], ["m:8b"]),
        ("m:0.5b", ["m:0.5b"], ["m:1.5b", "m"]),
        ("hf.co/a/B-GGUF:Q4", ["hf.co/a/B-GGUF:Q4", "hf.co/a/b-gguf:q4"], ["hf.co/a/C-GGUF:Q4"]),
        ("odd[1]*?", ["odd[1]*?"], ["odd1xx", "odd[1]ab"]),
    ],
)
def test_the_set_is_for_its_model_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, fits: list[str], others: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_set(Path("prompts/mine"), f"models = {json.dumps(patterns(model))}")
    assert {prompt.load(None, name).name for name in fits} == {"mine"}
    assert "mine" not in {prompt.load(None, name).name for name in others}


def test_what_is_written_is_the_winner_with_the_evidence(
    tmp_path: Path, sets: list[PromptSet]
) -> None:
    found = tuned(Swayed(), tmp_path, sets)
    folder = tmp_path / "prompts" / "mine"
    written = write(found, folder, ABOUT)
    assert (written.functions, written.models) == ("json", ("swayed", "swayed:latest"))
    assert "tuned for swayed: mean 1.00" in written.description
    assert "# azent tune\n" in (folder / "set.toml").read_text()
    said = json.loads((folder / "evidence.json").read_text())
    assert said == json.loads(json.dumps(evidence(found, ABOUT)))
    assert said["set_aside"]["cases"] == 12
    assert [arm["prompts"] for arm in said["set_aside"]["arms"]] == ["plain", said["winner"]]
    assert said["set_aside"]["comparisons"][0]["real"]
    assert said["search"]["tried"][0]["prompts"] == said["winner"]
    assert said["search"]["asked"] == sum(each["cases"] for each in said["search"]["tried"])


def test_a_set_is_replaced_only_by_force_and_then_as_a_whole(
    tmp_path: Path, sets: list[PromptSet]
) -> None:
    found = tuned(Swayed(), tmp_path, sets)
    folder = write_set(tmp_path / "mine", "held = false", question="Old: $question")
    (folder / "notes.md").write_text("by hand")
    with pytest.raises(UsageError, match="mine is there already"):
        write(found, folder, ABOUT)
    assert "question" in read(folder).texts
    written = write(found, folder, ABOUT, force=True)
    assert "question" not in written.texts
    assert (folder / "notes.md").read_text() == "by hand"


def test_where_nothing_better_is_found_the_set_stays_as_it_was(
    tmp_path: Path, sets: list[PromptSet]
) -> None:
    class Always(Swayed):
        def stream(self, request: Request) -> Iterator[Delta | End]:
            yield Delta(RIGHT)
            yield End(usage=Usage(prompt_tokens=1, requests=1))

    found = tuned(Always(), tmp_path, sets)
    written = write(found, tmp_path / "mine", ABOUT)
    assert (found.winner, found.verdicts) == (found.start, [])
    assert {name: text.body for name, text in written.texts.items()} == {
        name: text.body for name, text in sets[0].texts.items()
    }


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOllama]:
    """A server with a model that is swayed in the same way, and a folder of one's own."""

    def reply(body: dict[str, Any]) -> str:
        text = "\n".join(message["content"] for message in body["messages"])
        if "Wait" not in text:
            return "Hello."
        return RIGHT if PLANTED in text or asked_number(text) % 5 == 0 else WRONG

    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path)
    with ScriptedOllama(reply) as started:
        monkeypatch.setenv("OLLAMA_HOST", started.url)
        yield started


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


def tune_it(*arguments: object, cases: str = "cases.jsonl") -> Any:
    return run("tune", "scripted", "--cases", cases, "-p", "default", *arguments)


def test_the_command_writes_a_set_that_the_model_gets_from_then_on(
    server: ScriptedOllama,
) -> None:
    found = tune_it("--budget", 120)
    assert found.exit_code == 0, found.output
    assert "on 12 cases set aside:" in found.stdout
    assert "the difference is real" in found.stdout
    assert "`azent ask -m scripted` takes it from here on" in found.stdout
    assert "round 1: 16 prompt sets left, case 1 of 4" in found.stderr
    assert "judging the winner" in found.stderr
    asked = len(server.requests)
    assert run("prompts", "check", "tuned-scripted").exit_code == 0
    assert run("ask", "-m", "scripted", "Hello").exit_code == 0
    assert PLANTED in server.requests[asked].text
    again = tune_it("--budget", 120, "--force", "--json", "-q")
    said = json.loads(again.stdout)
    assert (said["folder"], said["taken"]) == ("prompts/tuned-scripted", True)
    assert said["model"]["digest"] == "0" * 64
    assert len(server.requests) == asked + 2
    assert again.stderr == ""


def test_a_winner_that_is_no_better_on_what_was_set_aside_is_told(
    server: ScriptedOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is better by chance: the model is right with it on what was searched with alone."""
    aside = {case.id for case in split_cases(["cases.jsonl"]).aside}

    def reply(body: dict[str, Any]) -> str:
        text = "\n".join(message["content"] for message in body["messages"])
        return RIGHT if PLANTED in text and str(asked_number(text)) not in aside else WRONG

    with ScriptedOllama(reply) as other:
        monkeypatch.setenv("OLLAMA_HOST", other.url)
        found = tune_it("--budget", 120)
    assert "there it is no better than default: try more cases" in found.stdout


def test_without_sets_named_all_of_a_language_are_begun_with(server: ScriptedOllama) -> None:
    write_set(Path("prompts/broken"), system="$nobody")
    write_set(Path("prompts/here"))
    found = run("tune", "scripted", "--cases", "cases.jsonl", "--json", "--budget", 64, "-q")
    tried = {each["prompts"] for each in json.loads(found.stdout)["search"]["tried"]}
    assert {"default", "small", "medium", "article", "here"} <= tried
    assert "zh" not in tried
    assert found.stderr == "using the prompt set in prompts/here\n"


def test_the_model_is_told_by_the_address_that_was_given(server: ScriptedOllama) -> None:
    words = ["ollama:scripted", "--cases", "cases.jsonl", "-p", "default", "--budget", 8]
    assert "`azent ask -m ollama:scripted` takes it from here on" in run("tune", *words).stdout


def test_another_set_that_suits_the_model_is_told(server: ScriptedOllama) -> None:
    write_set(Path("prompts/first"), 'models = ["*"]')
    found = tune_it("--budget", 8)
    assert "first suits scripted too and comes first: take the new one with -p" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--name", "kept"], 2, "prompts/kept is there already"),
        (["--name", "small"], 2, "a set of the name 'small' is in"),
        (["--name", "a/b"], 2, "'a/b' is no name for a set"),
        (["--name", ""], 2, "'' is no name for a set"),
        (
            ["--name", "kept", "--force", "-p", "kept"],
            2,
            "cannot be both a set to begin with and the set to be",
        ),
        (["--budget", "3"], 2, "a budget of 3 is too small"),
        (["-p", "nonsense"], 8, "no prompt set 'nonsense'"),
        (["--cases", "none.jsonl"], 12, "none.jsonl cannot be read"),
        (["--cases", "bad.jsonl"], 12, "bad.jsonl:2: this is no JSON"),
        (["--cases", "cases.jsonl"], 2, "comes twice"),
        (["-o", "."], 12, ". cannot be used"),
        (["-o", "bad.jsonl"], 12, "bad.jsonl:1: this is no outcome"),
    ],
)
def test_bad_input_is_told_before_anything_is_asked(
    server: ScriptedOllama, arguments: list[str], code: int, said: str
) -> None:
    write_set(Path("prompts/kept"))
    Path("bad.jsonl").write_text(Path("cases.jsonl").read_text().splitlines()[0] + "\n{\n")
    result = tune_it(*arguments)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    assert server.requests == []
    assert "held" not in Path("prompts/kept/set.toml").read_text()


def test_too_few_cases_are_told(server: ScriptedOllama) -> None:
    write_cases(Path(), 5)
    result = tune_it()
    assert result.exit_code == 12
    assert "Give 8 cases or more" in result.stderr


def test_a_server_that_is_gone_is_told(
    server: ScriptedOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    assert tune_it().exit_code == 3


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX's")
@pytest.mark.parametrize("columns", [60, 100])
def test_a_terminal_shows_how_far_it_is_and_is_left_in_order(tmp_path: Path, columns: int) -> None:
    from tests.terminal import Terminal

    write_cases(tmp_path)
    with ScriptedOllama(Say(RIGHT, before=0.02)) as server:
        arguments = ["tune", "scripted", "--cases", "cases.jsonl"]
        with Terminal(arguments, server.url, tmp_path, columns=columns) as terminal:
            terminal.wait_for("best: ")
            terminal.wait_for("a minute, at most")
            terminal.wait_for(" left")
            shown = terminal.screen().splitlines()
            terminal.interrupt()
            assert terminal.end() == 130
    assert shown[0].startswith("round 1: 16 prompt sets left, case ")
    assert re.match(r"best: 1\.00 on \d cases?, \d+ prompt tokens: \w+", shown[1])
    assert re.match(r"\d+ of 600 asked, [\d.,]+ a minute, at most 0:\d\d:\d\d left", shown[2])
    told = "what was asked is kept in tune-scripted.jsonl; the same command goes on"
    assert "".join(terminal.screen().split()) == f"{told}azent: interrupted".replace(" ", "")
    assert terminal.sent.rindex(b"\x1b[?25h") > terminal.sent.rindex(b"\x1b[?25l")


@pytest.mark.slow
@pytest.mark.model
def test_a_real_model(ollama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", ollama)
    sums = [f"What is {n} plus {n + 3}?" for n in range(2, 6)]
    words = ["Write two lines about the sea.", "Thank you!", "Who are you?", "Good night."]
    number = {"type": "integer"}
    inputs = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}
    add = {"name": "add", "description": "Add two numbers.", "parameters": inputs}
    cases = [
        {"question": q, "tools": [add], "calls": [{"tool": "add", "tool_input": {"a": n, "b": m}}]}
        for q in sums
        for n, m in [map(int, re.findall(r"\d+", q))]
    ]
    cases += [{"question": q, "tools": [add], "calls": []} for q in words]
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    named = ["-p", "default", "-p", "small", "--budget", "8", "--name", "mine"]
    found = run("tune", "qwen2.5-coder:0.5b", "--cases", "cases.jsonl", *named, "--json", "-q")
    assert found.exit_code == 0, found.stderr
    said = json.loads(found.stdout)
    assert re.fullmatch(r"[0-9a-f]{64}", said["model"]["digest"])
    assert said["winner"] == "small"
    assert said["taken"]
    assert all(each["prompt_tokens"] > 20 for each in said["search"]["tried"])


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(("end", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_command_that_was_ended_goes_on(
    server: ScriptedOllama, end: signal.Signals, code: int
) -> None:
    def command(name: str) -> subprocess.Popen[str]:
        words = ["tune", "scripted", "--cases", "cases.jsonl", "-p", "default", "-o", name]
        return subprocess.Popen(
            [sys.executable, "-m", "azent", *words, "--name", name[:-6], "--budget", "60"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    ended = command("left.jsonl")
    while len(server.requests) < 30 and ended.poll() is None:
        time.sleep(0.005)
    ended.send_signal(end)
    told = ended.communicate(timeout=240)[1]
    assert ended.returncode == code
    if end == signal.SIGINT:
        assert "what was asked is kept in left.jsonl; the same command goes on" in told
    assert not Path("prompts").exists()
    kept, asked = read_outcomes(Path("left.jsonl")), len(server.requests)
    assert kept
    assert command("left.jsonl").communicate(timeout=240)
    bodies = Counter(json.dumps(each.body) for each in server.requests)
    assert len(server.requests) > asked
    assert sum(count - 1 for count in bodies.values()) <= 1  # what was on its way
    assert command("whole.jsonl").communicate(timeout=240)
    left, whole = (read_outcomes(Path(name)) for name in ("left.jsonl", "whole.jsonl"))
    assert len(Path("left.jsonl").read_text().splitlines()) == len(left)
    assert {each.key for each in left} == {each.key for each in whole}
    assert left[: len(kept)] == kept
