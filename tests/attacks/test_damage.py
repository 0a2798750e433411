"""Files that were damaged, or that no longer fit on the disk, are told in azent's own words."""

from __future__ import annotations

import errno
import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import azent
from azent.errors import AzentError, SessionError, UsageError
from azent.messages import Call, Log, Note, Problem, Question, Reply, Result, Usage
from azent.messages.json_forms import to_json
from azent.models.recorded import Cached
from azent.sessions import Store
from azent.sessions.database import in_words, locked
from tests.attacks.running import command, python
from tests.test_messages import values

CALL = Call("add", {"a": 1, "b": 2}, id="1")
BAD = Call("ad", {}, Problem("unknown_tool", "there is no ad"), id="2")
LOG: Log = (
    Question("What is 1 + 2?", ("aGk=",)),
    Reply((CALL, BAD), "Well.", repairs=("a comma",), usage=Usage(12, 3, 1, 0.5), move="decide"),
    Result("add", "3", id="1"),
    Result("ad", "none", ok=False, problem=BAD.problem, id="2"),
    Note("shrunk", "", ("1",), 0, 5),
    Reply(text="Three.", move="answer"),
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    kept = Store(tmp_path / "sessions.db")
    with kept.hold("a") as held:
        held.keep(LOG)
    with kept.hold("b") as held:
        held.keep(LOG)
    return kept


def changed(store: Store, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute(statement, values)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def used(store: Store) -> None:
    """Do all that can be done with a conversation; only errors of azent's may come of it."""
    agent = azent.Agent(azent.Scripted(*["hello"] * 9), [add])
    acts: list[Callable[[], Any]] = [
        lambda: [to_json(message) for message in store.log("a")],
        lambda: agent.ask("And?", session=azent.Session("a", store)),
        lambda: agent.ask(None, session=azent.Session("a", store)),
        lambda: store.branch("a", "c"),
        lambda: store.undo("a"),
        lambda: store.delete("c"),
    ]
    for act in acts:
        with suppress(AzentError):
            act()
    assert any(each.name == "b" for each in store.sessions())
    assert store.log("b") == LOG


BODIES = {
    "no object": "[]",
    "a number": "7",
    "nothing": "null",
    "no JSON": "{",
    "an empty text": "",
    "bytes": b"\xff\x00",
    "no text at all": 5,
    "lists 100,000 deep": "[" * 100_000,
    "no kind": "{}",
    "an unknown kind": '{"kind": "poem"}',
    "a kind that is none": '{"kind": ["question"]}',
    "an unknown field": '{"kind": "question", "text": "x", "colour": "red"}',
    "a number for a text": '{"kind": "question", "text": 5}',
    "nothing for a text": '{"kind": "question", "text": null}',
    "a text for a list": '{"kind": "question", "text": "x", "images": "abc"}',
    "calls that are none": '{"kind": "reply", "calls": [7]}',
    "an input that is none": '{"kind": "reply", "calls": [{"tool": "add", "tool_input": []}]}',
    "a tool that is none": '{"kind": "result", "tool": {}, "text": "x"}',
    "an unknown move": '{"kind": "reply", "move": "dance"}',
    "a cost that is none": '{"kind": "reply", "usage": {"prompt_tokens": "many"}}',
    "a problem that is none": '{"kind": "correction", "problem": "x"}',
}


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_damaged_message_is_told(store: Store, position: int, body: Any) -> None:
    where = "(SELECT id FROM sessions WHERE name = 'a')"
    statement = f"UPDATE messages SET body = ? WHERE position = ? AND session = {where}"
    changed(store, statement, body, position)
    with pytest.raises(SessionError, match="cannot be read"):
        store.log("a")
    used(store)


@pytest.mark.parametrize("column", ["created", "updated"])
@pytest.mark.parametrize("value", ["then", 1e300, -1.0, float("inf"), b"\xff", 1 << 62])
def test_a_damaged_time_keeps_nobody_from_the_list(
    store: Store, tmp_path: Path, column: str, value: Any
) -> None:
    changed(store, f"UPDATE sessions SET {column} = ? WHERE name = 'a'", value)
    listed = Store(store.path).sessions()
    assert {each.name for each in listed} == {"a", "b"}
    used(store)


def parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values in a JSON value."""
    yield path
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    for key in keys:
        yield from parts(value[key], (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_value_in_place_of_another_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    store = Store(tmp_path_factory.mktemp("store") / "sessions.db")
    bodies = [to_json(message) for message in LOG]
    position = data.draw(st.integers(0, len(LOG) - 1))
    path = data.draw(st.sampled_from(list(parts(bodies[position]))))
    bodies[position] = put(bodies[position], path, data.draw(values))
    dropped = data.draw(st.sets(st.integers(0, len(LOG) - 1), max_size=2))
    for name, log in (("a", LOG), ("b", LOG)):
        with store.hold(name) as held:
            held.keep(log)
    for at, body in enumerate(bodies):
        statement = "UPDATE messages SET body = ? WHERE position = ? AND session = 1"
        changed(store, statement, json.dumps(body), at)
        if at in dropped:
            changed(store, "DELETE FROM messages WHERE position = ? AND session = 1", at)
    used(store)


def test_commands_tell_it(store: Store) -> None:
    changed(store, "UPDATE messages SET body = '[]' WHERE position = 0 AND session = 1")
    changed(store, "UPDATE sessions SET updated = 'then' WHERE name = 'a'")
    for arguments in (["list"], ["list", "--json"], ["show", "a"], ["export", "a"]):
        run = command("sessions", *arguments, "--store", str(store.path))
        assert "Traceback" not in run.stderr
        assert run.returncode == (0 if arguments[0] == "list" else SessionError.exit_code)


# ---- kept replies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kept",
    [
        *("5", "null", "{}", '{"a": 1}', "[", "[5]", "[[]]", "[null]", '[{"calls": [5]}]', b"\xff"),
        *('[{"text": 5}]', '[{"usage": 5}]', '[{"usage": {"colour": 1}}]', "[" * 100_000, 7),
        *('[{"calls": [{"tool": 5, "tool_input": {}}]}]', '[{"done_reason": 1, "usage": {}}]'),
    ],
)
def test_a_damaged_reply_is_told(tmp_path: Path, kept: Any) -> None:
    file = tmp_path / "replies.db"
    azent.Agent(Cached(azent.Scripted("hello"), file)).ask("?")
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE replies SET reply = ?", (kept,))
    with pytest.raises(UsageError, match="cannot be read"):
        azent.Agent(Cached(azent.Scripted("hello"), file)).ask("?")


# ---- no room -------------------------------------------------------------------------------------


NO_ROOM = """
import resource, sys
from pathlib import Path
from azent.batch.files import Answers
from azent.sessions import Store
store = Store(sys.argv[1])
with store.hold("a"):
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (0, -1))  # no file can grow: the disk is full
try:
    {act}
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits files as POSIX does")
@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("store.hold('a').__enter__()", "SessionError"),
        ("store.hold('b').__enter__()", "SessionError"),
        ("store.branch('a', 'b')", "SessionError"),
        ("store.delete('a')", "SessionError"),
        ("Answers(Path(sys.argv[1] + '.jsonl')).__enter__()", "UsageError"),
    ],
)
def test_a_full_disk_is_no_other_run(tmp_path: Path, act: str, words: str) -> None:
    run = python("-c", NO_ROOM.format(act=act), str(tmp_path / "sessions.db"))
    assert run.stdout.startswith(words), run.stderr
    assert "another run" not in run.stdout


def test_a_lock_that_another_holds_is_another_run(tmp_path: Path) -> None:
    lock = locked(tmp_path / "lock")
    assert lock is not None
    with closing(lock):
        assert locked(tmp_path / "lock") is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "Make room"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "Make room"),
        (OSError(errno.EACCES, "Permission denied"), "Name another file"),
    ],
)
def test_the_way_out_fits_the_trouble(error: OSError, words: str) -> None:
    with pytest.raises(SessionError) as caught, in_words(Path("sessions.db")):
        raise error
    assert words in caught.value.hint
