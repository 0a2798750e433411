"""Conversations on disk: real files, real processes, real damage."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azent import Store
from azent.errors import SessionError, UsageError
from azent.messages import Call, Log, Note, Question, Reply, Result, Usage

CALL = Call("send", {"to": "Kim"}, id="1")
TURN: Log = (
    Question("Write to Kim"),
    Reply(calls=(CALL,), move="decide", usage=Usage(12, 3, 1, 0.5)),
    Result("send", "sent", id="1"),
    Reply(text="Done.", move="answer"),
)
AGAIN: Log = (Question("And to Jo \ud83d \x00 你好"), Reply(text="No.", move="answer"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "deep" / "sessions.db")


def filled(store: Store, name: str = "a", *logs: Log) -> Log:
    log: Log = ()
    with store.hold(name) as held:
        for message in sum(logs or (TURN, AGAIN), ()):
            log = (*log, message)
            held.keep(log)
    return log


def test_what_is_kept_is_read_again(store: Store) -> None:
    log = filled(store)
    assert store.log("a") == log
    with store.hold("a") as held:
        assert held.log == log


texts = st.text(st.characters(exclude_categories=[]))
messages = st.one_of(
    texts.map(Question),
    st.builds(Result, tool=texts, text=texts, ok=st.booleans(), id=texts),
    st.builds(Note, what=st.just("shrunk"), text=texts, turns=st.integers(0, 99)),
    st.builds(Reply, text=texts, raw=texts, thinking=texts),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=st.lists(messages, max_size=5).map(tuple))
def test_any_messages_are_read_as_they_were_kept(store: Store, log: Log) -> None:
    with store.hold("any") as held:
        held.keep((*held.log, *log))
        before = held.log
    assert store.log("any") == (*before, *log)
    store.delete("any")


def test_the_list_names_the_last_used_first(store: Store) -> None:
    assert store.sessions() == []
    filled(store, "a")
    filled(store, "b", AGAIN)
    assert [(each.name, each.turns) for each in store.sessions()] == [("b", 1), ("a", 2)]
    assert store.sessions()[1].question == "Write to Kim"


def test_undo_takes_turns_back(store: Store) -> None:
    filled(store)
    assert store.undo("a") == TURN == store.log("a")
    assert store.undo("a", 5) == ()
    assert store.undo("a") == ()
    assert filled(store) == store.log("a")


def test_undo_forgets_what_began_with_the_turn(store: Store) -> None:
    with store.hold("a") as held:
        held.keep(TURN[:2])
        held.begin([CALL])
    store.undo("a")
    with store.hold("a") as held:
        assert held.begun == frozenset()


def test_a_branch_goes_its_own_way(store: Store) -> None:
    log = filled(store)
    assert store.branch("a", "b", 1) == TURN
    assert store.branch("a", "c") == log
    filled_b = store.log("b")
    store.delete("a")
    assert store.log("b") == filled_b
    with pytest.raises(SessionError, match="'c' already"):
        store.branch("b", "c")


def test_calls_that_began_are_remembered(store: Store) -> None:
    with store.hold("a") as held:
        held.keep(TURN[:2])
        held.begin([CALL])
        held.begin([CALL])
    with store.hold("a") as held:
        assert held.begun == {"1"}


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.log("none"),
        lambda store: store.undo("none"),
        lambda store: store.delete("none"),
        lambda store: store.branch("none", "b"),
    ],
)
def test_a_conversation_that_there_is_not(store: Store, act: Callable[[Store], object]) -> None:
    with pytest.raises(SessionError, match="no conversation 'none'"):
        act(store)


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "\x1b[31m", "x" * 201])
def test_what_is_no_name(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="is no name"), store.hold(name):
        pass


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_only_its_owner_can_read_it(store: Store) -> None:
    filled(store)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.rglob("*")}
    assert modes <= {0o600, 0o700}


# ---- files that cannot be used -------------------------------------------------------------------


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database\n" * 500)


def cut_short(path: Path) -> None:
    filled(Store(path))
    path.write_bytes(path.read_bytes()[:5000])


def of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE recipes (name)")
    database.close()


def newer(path: Path) -> None:
    filled(Store(path))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def with_an_unknown_message(path: Path) -> None:
    filled(Store(path))
    with sqlite3.connect(path) as database:
        database.execute("""UPDATE messages SET body = '{"kind": "dream"}' WHERE position = 1""")
    database.close()


def a_folder(path: Path) -> None:
    path.mkdir()


def under_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("no folder")


@pytest.mark.parametrize(
    "damage",
    [
        garbage,
        cut_short,
        of_another_program,
        newer,
        with_an_unknown_message,
        a_folder,
        under_a_file,
    ],
)
def test_what_cannot_be_used_is_refused_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "store" / "sessions.db"
    path.parent.mkdir()
    damage(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(SessionError) as caught, Store(path).hold("a"):
        pass
    assert caught.value.hint
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_store_that_another_program_locks(store: Store) -> None:
    filled(store)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SessionError, match="locked") as caught:
        filled(Store(store.path, wait=0.1))
    other.close()
    assert "try again" in caught.value.hint


# ---- many at once --------------------------------------------------------------------------------


def test_two_runs_cannot_go_on_with_one_conversation(store: Store) -> None:
    with store.hold("a"):
        with pytest.raises(SessionError, match="another run"), store.hold("a"):
            pass
        with pytest.raises(SessionError, match="another run"):
            store.undo("a")
        filled(store, "b")
        assert len(store.sessions()) == 2
    filled(store, "a")


WRITER = """
import sys
from azent.messages import Question, Reply
from azent import Store
store, name, log = Store(sys.argv[1]), sys.argv[2], ()
with store.hold(name) as held:
    for n in range(20):
        log = (*log, Question(f"{name} {n}"))
        held.keep(log)
"""


def writer(path: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_ten_processes_on_a_store_that_they_make(store: Store) -> None:
    writers = [writer(store.path, f"p{n}") for n in range(10)]
    assert [each.communicate()[1] for each in writers] == [""] * 10
    for n in range(10):
        assert store.log(f"p{n}") == tuple(Question(f"p{n} {each}") for each in range(20))


def test_threads_on_one_store(store: Store) -> None:
    threads = [threading.Thread(target=filled, args=(store, f"t{n}")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.name for each in store.sessions()} == {f"t{n}" for n in range(8)}


HOLDER = """
import sys, time
from azent.messages import Question
from azent import Store
with Store(sys.argv[1]).hold("a") as held:
    held.keep((Question("?"),))
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_leaves_neither_lock_nor_loss(store: Store) -> None:
    command = [sys.executable, "-c", HOLDER, str(store.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SessionError, match="another run"), store.hold("a"):
            pass
        holder.kill()
    with store.hold("a") as held:
        assert held.log == (Question("?"),)
