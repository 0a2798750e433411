"""The file of answers is the user's: its mode and links stay, and what is no file is refused."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import azent
from azent.batch import run_batch
from azent.values.files import LONGEST_LINE
from tests.attacks.running import command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and links are POSIX's")

DONE = [{"id": n, "answer": f"{n}"} for n in range(20)]
FAILED = [{"id": n, "error": "it broke off", "kind": "ReplyBroken"} for n in range(20, 30)]
MIXED = [each for pair in zip(DONE, FAILED * 2, strict=True) for each in pair][:35]


def lines(records: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def ask(answers: Path, questions: Path | None = None) -> None:
    """Answer thirty questions, of which the file has answers already, errors, and a torn line."""
    if questions is None:
        questions = answers.parent / "questions"
        asked = [{"id": n, "question": f"{n}?"} for n in range(30)]
        questions.write_bytes(lines(asked))
    run_batch(questions, answers, azent.Agent(azent.Scripted(*["new"] * 30)), parallel=1)


def begun(path: Path) -> Path:
    path.write_bytes(lines(DONE + FAILED) + b'{"id": 99, "ans')
    return path


def check(path: Path) -> None:
    """All thirty are answered once, the old ones as they were."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert records[:20] == DONE
    assert sorted(record["id"] for record in records) == list(range(30))
    assert all("error" not in record for record in records)


# ---- what stays ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o644, 0o620, 0o700])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    answers = begun(tmp_path / "answers")
    answers.chmod(mode)
    before = answers.stat()
    ask(answers)
    check(answers)
    after = answers.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_ino, after.st_uid) == (
        mode,
        before.st_ino,
        before.st_uid,
    )


def link_to_a_link(link: Path, file: Path) -> None:
    link.with_name("between").symlink_to(file)
    link.symlink_to("between")


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "a link": lambda link, file: link.symlink_to(file),
    "a link by a short way": lambda link, file: link.symlink_to(Path("far") / file.name),
    "a hard link": lambda link, file: link.hardlink_to(file),
    "a link to a link": link_to_a_link,
}


@pytest.mark.parametrize("make", LINKS.values(), ids=LINKS)
def test_links_stay(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    (tmp_path / "far").mkdir()
    file = begun(tmp_path / "far" / "file")
    make(link := tmp_path / "link", file)
    before = link.lstat()
    ask(link)
    check(file)
    assert link.lstat().st_ino == before.st_ino
    assert sorted(os.listdir(tmp_path / "far")) == ["file"]


def test_a_link_to_a_file_that_is_not_there_makes_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    ask(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert len((tmp_path / "file").read_bytes().splitlines()) == 30


@pytest.mark.parametrize("place", [0, 1, 100, 300, 700])
def test_a_kill_while_lines_are_taken_out_loses_none(tmp_path: Path, place: int) -> None:
    """So is the folder left when the lines that are kept are written back up to some byte."""
    answers = tmp_path / "answers"
    kept, before = lines(DONE), lines(MIXED)
    (tmp_path / "answers.azent-saved").write_bytes(kept)
    answers.write_bytes(kept[:place] + before[place:])
    ask(answers)
    check(answers)
    assert sorted(os.listdir(tmp_path)) == ["answers", "questions"]


def test_lines_that_were_saved_of_a_file_that_is_gone_do_not_come_back(tmp_path: Path) -> None:
    (tmp_path / "answers.azent-saved").write_bytes(lines([{"id": 1, "answer": "old"}]))
    for _ in range(2):
        ask(tmp_path / "answers")
    assert b"old" not in (tmp_path / "answers").read_bytes()
    assert len((tmp_path / "answers").read_bytes().splitlines()) == 30


# ---- what others may have put there --------------------------------------------------------------


@pytest.mark.parametrize("ending", [".azent-part", ".azent-saved", ".azent-lock"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_link_in_the_place_of_a_helper_leads_nowhere(
    tmp_path: Path, ending: str, whole: bool
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"the secret")
    (tmp_path / f"answers{ending}").symlink_to(secret)
    answers = begun(tmp_path / "answers")
    try:
        ask(answers)
    except azent.UsageError:  # a lock cannot be had there
        assert ending == ".azent-lock"
    assert secret.read_bytes() == b"the secret"
    assert b"secret" not in answers.read_bytes()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file away")
def test_lines_that_another_user_saved_are_not_taken(tmp_path: Path) -> None:
    (tmp_path / "answers.azent-saved").write_bytes(lines([{"id": 1, "answer": "theirs"}]))
    os.chown(tmp_path / "answers.azent-saved", 65534, 65534)
    answers = begun(tmp_path / "answers")
    ask(answers)
    check(answers)


@pytest.mark.parametrize("ending", [".azent-part", ".azent-saved", ".azent-lock"])
@pytest.mark.parametrize("begins", [False, True])
def test_questions_that_bear_the_name_of_a_helper_are_not_removed(
    tmp_path: Path, ending: str, begins: bool
) -> None:
    questions = tmp_path / f"answers{ending}"
    questions.write_bytes(body := lines([{"id": 1, "question": "1?"}]))
    if begins:
        begun(tmp_path / "answers")
    with pytest.raises(azent.UsageError, match="has the name of a file"):
        ask(tmp_path / "answers", questions)
    assert questions.read_bytes() == body


@pytest.mark.parametrize("ending", [".part", ".saved", ".lock", ".bak", "~", ".tmp"])
def test_a_users_copy_beside_the_answers_stays(tmp_path: Path, ending: str) -> None:
    copy = tmp_path / f"answers{ending}"
    copy.write_bytes(body := lines([{"id": 1, "answer": "an older one"}]))
    answers = begun(tmp_path / "answers")
    ask(answers)
    check(answers)
    assert copy.read_bytes() == body


# ---- what is no file -----------------------------------------------------------------------------


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def endless(path: Path, before: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(before)
        file.truncate(len(before) + LONGEST_LINE + 2)


NO_FILES: dict[str, Callable[[Path], None]] = {
    "zeros without an end": lambda path: path.symlink_to("/dev/zero"),
    "noise without an end": lambda path: path.symlink_to("/dev/urandom"),
    "nowhere": lambda path: path.symlink_to("/dev/null"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a pipe": lambda path: os.mkfifo(path),
    "a socket": bound,
    "a folder": lambda path: path.mkdir(),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a line without an end": endless,
    "a line without an end after some": lambda path: endless(path, lines(DONE)),
}


@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_file_of_answers_is_refused(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    make(Path("answers"))
    with pytest.raises(azent.UsageError, match="cannot be written"):
        ask(Path("answers"))
    assert not list(tmp_path.glob("answers.*"))


@pytest.mark.parametrize(
    "what", ["zeros without an end", "noise without an end", "a folder", "a line without an end"]
)
def test_what_is_no_file_of_questions_is_refused(tmp_path: Path, what: str) -> None:
    NO_FILES[what](tmp_path / "questions")
    with pytest.raises(azent.UsageError, match="cannot be read"):
        ask(tmp_path / "answers", tmp_path / "questions")


def test_the_command_counts_no_lines_without_an_end(tmp_path: Path) -> None:
    run = command("batch", "/dev/zero", "-o", str(tmp_path / "answers"), "-m", "none", "--no-tools")
    assert (run.returncode, "Traceback" in run.stderr) == (2, False), run.stderr


def test_questions_may_come_by_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    body = lines([{"id": 1, "question": "1?"}])
    writer = threading.Thread(target=pipe.write_bytes, args=(body,))
    writer.start()
    ask(tmp_path / "answers", pipe)
    writer.join()
    assert json.loads((tmp_path / "answers").read_bytes())["answer"] == "new"


def test_questions_are_not_written_over_by_a_hard_link(tmp_path: Path) -> None:
    (tmp_path / "questions").write_bytes(b"")
    (tmp_path / "answers").hardlink_to(tmp_path / "questions")
    with pytest.raises(azent.UsageError, match="same file"):
        ask(tmp_path / "answers", tmp_path / "questions")


def test_an_answer_that_the_next_run_could_not_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "questions").write_bytes(lines([{"id": 1, "question": "1?"}]))
    agent = azent.Agent(azent.Scripted("x" * (LONGEST_LINE + 1)))
    run_batch(tmp_path / "questions", tmp_path / "answers", agent)
    assert "its answer takes" in json.loads((tmp_path / "answers").read_bytes())["error"]
