"""Batches: every question answered once, whatever fails and however often it is begun."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import azent
from azent.batch import BadLine, Item, Notice, run_batch
from azent.batch.files import questions_in
from azent.batch.workers import ConcurrencyLimit
from azent.cli import app
from azent.messages import Delta, End, Request
from tests.scripted_ollama import Fail, HangUp, Say, ScriptedOllama
from tests.serving import wait_until

ROOT = Path(__file__).resolve().parent.parent


class Echo:
    """A model that repeats the last word it is told, after a while; and may fail instead."""

    name, num_ctx = "echo", None

    def __init__(
        self, pause: float = 0.0, trouble: Callable[[str], Exception | None] = lambda word: None
    ) -> None:
        self.pause = pause
        self.trouble = trouble
        self.heard: Counter[str] = Counter()
        self.busy = 0
        self.busiest = 0
        self._lock = threading.Lock()

    def stream(self, request: Request) -> Iterator[Delta | End]:
        word = request.messages[-1]["content"].split()[-1]
        with self._lock:
            self.heard[word] += 1
            self.busy += 1
            self.busiest = max(self.busy, self.busiest)
        time.sleep(self.pause)
        with self._lock:
            self.busy -= 1
        if error := self.trouble(word):
            raise error
        yield Delta(f"you said {word}")
        yield End()


def agent(pause: float = 0.0, trouble: Any = lambda word: None) -> azent.Agent:
    return azent.Agent(Echo(pause, trouble))


def echo_of(agent: azent.Agent) -> Echo:
    assert isinstance(agent.model, Echo)
    return agent.model


def write(path: Path, count: int, first: int = 0) -> Path:
    lines = [{"id": f"q{n}", "question": f"word {n}"} for n in range(first, first + count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def read(path: Path) -> dict[Any, dict[str, Any]]:
    """The answers by id, each there once."""
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    by_id = {record["id"]: record for record in records}
    assert len(by_id) == len(records)
    return by_id


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "questions.jsonl", 40), tmp_path / "answers.jsonl"


# ---- what is answered ----------------------------------------------------------------------------


def test_every_question_is_answered_once(files: tuple[Path, Path]) -> None:
    asked = agent()
    progress = run_batch(*files, asked)
    answers = read(files[1])
    assert {id: record["answer"] for id, record in answers.items()} == {
        f"q{n}": f"you said {n}" for n in range(40)
    }
    assert set(echo_of(asked).heard.values()) == {1}
    assert (progress.answered, progress.failed, progress.before) == (40, 0, 0)


def test_what_a_record_holds(tmp_path: Path) -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    call = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
    source = tmp_path / "q.jsonl"
    source.write_text('{"id": 7, "question": "2 + 3?"}', "utf-8")
    run_batch(source, tmp_path / "a.jsonl", azent.Agent(azent.Scripted(call, "Five: ö."), [add]))
    record = read(tmp_path / "a.jsonl")[7]
    assert record["answer"] == "Five: ö."
    assert record["calls"] == [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]
    assert record["results"] == [{"tool": "add", "ok": True, "text": "5"}]
    assert record["usage"]["requests"] == 2


def test_what_is_answered_is_not_asked_again(files: tuple[Path, Path]) -> None:
    run_batch(*files, agent())
    write(files[0], 50)
    again = agent()
    progress = run_batch(*files, again)
    assert (progress.before, progress.answered) == (40, 10)
    assert set(echo_of(again).heard) == {str(n) for n in range(40, 50)}
    assert len(read(files[1])) == 50


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_last_line_is_healed(files: tuple[Path, Path], cut: int) -> None:
    run_batch(*files, agent())
    whole = files[1].read_bytes()
    files[1].write_bytes(whole[:-cut])
    again = agent()
    run_batch(*files, again)
    assert sum(echo_of(again).heard.values()) == 1
    assert len(read(files[1])) == 40


def test_what_failed_is_asked_again_and_has_one_line(files: tuple[Path, Path]) -> None:
    refused = azent.ModelRefused("too long", status=400)
    progress = run_batch(*files, agent(trouble=lambda w: refused if w in ("3", "5") else None))
    assert (progress.answered, dict(progress.failures)) == (38, {"ModelRefused": 2})
    assert read(files[1])["q3"] == {"id": "q3", "error": "too long", "kind": "ModelRefused"}
    assert run_batch(*files, agent()).answered == 2
    assert read(files[1])["q3"]["answer"] == "you said 3"


@pytest.mark.parametrize("error", [ValueError("a bug"), azent.BadReply("no use")])
def test_an_error_of_any_kind_is_one_questions(files: tuple[Path, Path], error: Any) -> None:
    progress = run_batch(*files, agent(trouble=lambda word: error if word == "7" else None))
    assert (progress.answered, progress.failed) == (39, 1)


# ---- bad lines -----------------------------------------------------------------------------------

BAD = [
    (b"nonsense", "not JSON"),
    (b'"text"', "no object"),
    (b'{"question": "x"}', '"id"'),
    (b'{"id": null, "question": "x"}', '"id"'),
    (b'{"id": true, "question": "x"}', '"id"'),
    (b'{"id": [1], "question": "x"}', '"id"'),
    (b'{"id": 1.5, "question": "x"}', '"id"'),
    (b'{"id": "b"}', '"question"'),
    (b'{"id": "b", "question": "  "}', '"question"'),
    (b'{"id": "b", "question": 3}', '"question"'),
    (b'{"id": "a", "question": "again"}', "line 1"),
    (b'{"id": "b", "question": "\xff"}', "not JSON"),
    (b"[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("line", "words"), BAD, ids=[words for _, words in BAD])
def test_a_bad_line_is_told_by_its_number(line: bytes, words: str) -> None:
    good = b'{"id": "%s", "question": "x"}'
    first, bad, last = questions_in([good % b"a", b"", line, good % b"z"])
    assert (first, last) == (Item("a", "x", 1), Item("z", "x", 4))
    assert isinstance(bad, BadLine)
    assert bad.line == 3
    assert words in bad.problem


def test_bad_lines_do_not_stop_the_rest(files: tuple[Path, Path]) -> None:
    with files[0].open("ab") as file:
        file.write(b'oops\n{"id": "last", "question": "word end"}\n')
    progress = run_batch(*files, agent())
    assert [bad.line for bad in progress.bad] == [41]
    assert read(files[1])["last"]["answer"] == "you said end"


@given(st.binary() | st.text().map(str.encode))
def test_no_line_raises(line: bytes) -> None:
    assert all(isinstance(each, Item | BadLine) for each in questions_in(line.split(b"\n")))


# ---- files that cannot be used -------------------------------------------------------------------


def test_files_that_cannot_be_used(files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(azent.UsageError, match="same file"):
        run_batch(files[0], files[0], agent())
    with pytest.raises(azent.UsageError, match="cannot be read"):
        run_batch(tmp_path / "none.jsonl", files[1], agent())
    below = files[0] / "answers.jsonl"  # in a file, as if it were a folder
    with pytest.raises(azent.UsageError, match=f"^{re.escape(str(below))} cannot be written"):
        run_batch(files[0], below, agent())
    with pytest.raises(azent.UsageError, match="cannot be written"):
        run_batch(files[0], tmp_path, agent())
    with pytest.raises(azent.UsageError, match="nobody"):
        run_batch(*files, [])


@pytest.mark.parametrize("text", ["some notes\nof mine\n", '{"id": 1, "x": 2}\n', "[1]\n"])
def test_a_file_of_something_else_is_left_alone(files: tuple[Path, Path], text: str) -> None:
    files[1].write_text(text, "utf-8")
    with pytest.raises(azent.UsageError, match="line 1 is no answer"):
        run_batch(*files, agent())
    assert files[1].read_text("utf-8") == text


@pytest.mark.parametrize("word", ["ö", "\ud83d", "\u2028", '"'])
def test_any_text_comes_back(tmp_path: Path, word: str) -> None:
    source = tmp_path / "q.jsonl"
    source.write_text(json.dumps({"id": word, "question": "Which?"}), "utf-8")
    run_batch(source, tmp_path / "a.jsonl", azent.Agent(azent.Scripted(f"it is {word}!")))
    again = run_batch(source, tmp_path / "a.jsonl", azent.Agent(azent.Scripted()))
    (line,) = (tmp_path / "a.jsonl").read_bytes().split(b"\n")[:-1]
    assert json.loads(line)["id"] == word
    assert json.loads(line)["answer"] == f"it is {word}!"
    assert (again.before, again.answered) == (1, 0)


def test_two_runs_do_not_write_into_one_file(files: tuple[Path, Path]) -> None:
    slow = agent(pause=0.3)
    first = threading.Thread(target=run_batch, args=(*files, slow), kwargs={"parallel": 20})
    first.start()
    wait_until(lambda: echo_of(slow).heard)
    with pytest.raises(azent.UsageError, match="another run"):
        run_batch(*files, agent())
    first.join()
    assert len(read(files[1])) == 40


# ---- several servers -----------------------------------------------------------------------------


def test_a_fast_server_gets_more_to_do(files: tuple[Path, Path]) -> None:
    fast, slow = agent(pause=0.01), agent(pause=0.2)
    run_batch(*files, [fast, slow], parallel=1)
    shares = [sum(echo_of(each).heard.values()) for each in (fast, slow)]
    assert sum(shares) == 40
    assert shares[0] > shares[1] >= 1


def test_a_server_that_goes_away_is_taken_out_and_comes_back(files: tuple[Path, Path]) -> None:
    down: list[Exception] = []
    notices: list[str] = []

    def watch(progress: Any, said: Any) -> None:
        if isinstance(said, Notice):
            notices.append(said.text)
        if progress.answered == 5:
            down.append(azent.ModelUnreachable("gone"))
        if len(notices) == 1 and down:
            down.clear()

    shaky = agent(0.02, lambda word: down[0] if down else None)
    steady = agent(0.15)
    run_batch(*files, [shaky, steady], parallel=1, watch=watch)
    assert len(read(files[1])) == 40
    assert "taken out" in notices[0]
    assert "is back" in notices[1]


def test_where_no_server_was_ever_there_it_ends_at_once(files: tuple[Path, Path]) -> None:
    gone = azent.ModelUnreachable("nobody home")
    with pytest.raises(azent.ModelUnreachable, match="nobody home"):
        run_batch(*files, [agent(trouble=lambda word: gone)] * 2)
    assert read(files[1]) == {}


def test_all_servers_gone_for_too_long_end_it_with_nothing_lost(files: tuple[Path, Path]) -> None:
    count = iter(range(1000))
    gone = azent.ModelUnreachable("gone")
    dying = agent(trouble=lambda word: gone if next(count) >= 10 else None)
    with pytest.raises(azent.ModelUnreachable):
        run_batch(*files, dying, parallel=1, patience=0)
    assert len(read(files[1])) == 10
    assert run_batch(*files, agent()).answered == 30


def test_a_server_without_the_model_is_left_out(files: tuple[Path, Path]) -> None:
    missing = azent.ModelNotFound("no such model")
    without = agent(trouble=lambda word: missing)
    run_batch(*files, [without, agent(0.01)], parallel=2)
    assert len(read(files[1])) == 40
    assert sum(echo_of(without).heard.values()) <= 2
    with pytest.raises(azent.ModelNotFound):
        run_batch(write(files[0], 41), files[1], agent(trouble=lambda word: missing))


@pytest.mark.parametrize(
    "error", [azent.ReplyBroken("cut"), azent.ModelTimeout("slow")], ids=["broken", "late"]
)
def test_a_reply_that_breaks_off_is_asked_for_again(files: tuple[Path, Path], error: Any) -> None:
    seen: Counter[str] = Counter()

    def trouble(word: str) -> Exception | None:
        seen[word] += 1
        return error if word == "9" or (word == "3" and seen[word] < 3) else None

    progress = run_batch(*files, agent(trouble=trouble), tries=3)
    assert (progress.answered, progress.failed) == (39, 1)
    assert (seen["3"], seen["9"], seen["1"]) == (3, 3, 1)


def test_a_busy_server_is_asked_less(files: tuple[Path, Path]) -> None:
    busy = azent.ModelRefused("busy", status=503)
    first = iter([busy, busy])
    asked = agent(0.01, lambda word: next(first, None))
    assert run_batch(*files, asked, most=8).answered == 40


def test_real_servers_over_http(files: tuple[Path, Path]) -> None:
    write(files[0], 12)
    with (
        ScriptedOllama("one", HangUp(), Fail(500, "runner died"), "two", cycles=True) as shaky,
        ScriptedOllama(Say("three", before=0.02)) as steady,
    ):
        hosts = [shaky.url, steady.url, "http://127.0.0.1:9"]
        models = [azent.open_model("scripted", host=host, retries=0) for host in hosts]
        run_batch(*files, [azent.Agent(model) for model in models])
    assert {record.get("answer") for record in read(files[1]).values()} >= {"three"}
    assert len(read(files[1])) == 12


# ---- how many at once ----------------------------------------------------------------------------


def limits_over_time(
    concurrency: ConcurrencyLimit, takes: int, answers: int, latency: float = 1.0
) -> list[int]:
    """The limits over time on a server that answers so many at once and queues the others."""
    now, limits = 0.0, []
    for _ in range(answers):
        now += latency / min(concurrency.limit, takes)
        concurrency.answered(now)
        limits.append(concurrency.limit)
    return limits


@pytest.mark.parametrize("takes", [1, 2, 4, 8, 16, 64])
def test_the_limit_finds_what_a_server_takes(takes: int) -> None:
    limits = limits_over_time(ConcurrencyLimit(64), takes, 3000)
    usual = Counter(limits[1000:]).most_common(1)[0][0]
    assert takes <= usual <= max(2 * takes, 2)


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 100))
def test_the_limit_keeps_to_its_bounds(events: list[bool], most: int) -> None:
    concurrency, now = ConcurrencyLimit(most), 0.0
    for is_answer in events:
        now += 0.1
        concurrency.answered(now) if is_answer else concurrency.overloaded()
        assert 1 <= concurrency.limit <= most


def test_a_fixed_limit_stays(files: tuple[Path, Path]) -> None:
    asked = agent(pause=0.02)
    run_batch(*files, asked, parallel=3)
    assert echo_of(asked).busiest == 3


# ---- killed --------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_after_a_kill_none_is_answered_twice_and_none_lost(
    files: tuple[Path, Path], name: str
) -> None:
    stop: signal.Signals = getattr(signal, name)  # Windows has not all of them
    with ScriptedOllama(Say("Fine.", before=0.02)) as server:
        command = [sys.executable, "-m", "azent", "batch", str(files[0]), "-o", str(files[1])]
        command += ["-m", "scripted", "--host", server.url, "--no-tools", "--parallel", "2"]
        running = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
        wait_until(lambda: files[1].exists() and files[1].stat().st_size > 500, 60)
        os.kill(running.pid, stop)
        running.communicate(timeout=20)
        assert running.returncode == (130 if name == "SIGINT" else -stop)
        done = len([line for line in files[1].read_bytes().splitlines(True) if line[-1:] == b"\n"])
        asked = len(server.counted)
        assert 0 < done < 40
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        assert len(server.counted) - asked == 40 - done
    assert len(read(files[1])) == 40
    assert f"answered {40 - done} questions" in finished.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="limits files by the shell")
def test_a_full_disk_ends_it_in_words_and_loses_nothing(files: tuple[Path, Path]) -> None:
    with ScriptedOllama("Fine.") as server:
        words = ["-m", "azent", "batch", str(files[0]), "-o", str(files[1]), "-m", "scripted"]
        command = [sys.executable, *words, "--host", server.url, "--no-tools"]
        limited = ["sh", "-c", 'ulimit -f 2; exec "$@"', "sh", *command]
        full = subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (full.returncode, "cannot be written" in full.stderr) == (2, True), full.stderr
        assert 0 < files[1].stat().st_size <= 2048
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert len(read(files[1])) == 40


# ---- the command ---------------------------------------------------------------------------------


def invoke(*words: object) -> Any:
    return CliRunner().invoke(app, ["batch", *map(str, words)])


def test_the_command_sums_up(files: tuple[Path, Path]) -> None:
    with files[0].open("ab") as file:
        file.write(b"oops\n")
    with ScriptedOllama("Fine.") as server:
        done = invoke(files[0], "-o", files[1], "-m", "scripted", "--host", server.url)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "answered 40 questions" in done.stderr
    assert "line 41 was left out: it is not JSON" in done.stderr
    assert len(read(files[1])) == 40


def test_the_command_uses_all_hosts(files: tuple[Path, Path]) -> None:
    with (
        ScriptedOllama(Say("a", before=0.01)) as one,
        ScriptedOllama(Say("b", before=0.01)) as two,
    ):
        hosts = ["--host", one.url, "--host", two.url]
        done = invoke(files[0], "-o", files[1], "-m", "scripted", *hosts, "-q")
        assert one.requests
        assert two.requests
    assert done.exit_code == 0, done.stderr


def test_the_command_without_a_server(files: tuple[Path, Path]) -> None:
    done = invoke(files[0], "-o", files[1], "-m", "scripted", "--host", "http://127.0.0.1:9")
    assert done.exit_code == azent.ModelUnreachable.exit_code
    assert "cannot reach Ollama" in done.stderr
