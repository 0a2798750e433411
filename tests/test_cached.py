"""Replies kept in a file: the same pieces again, nothing half, and strictness for tests."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import azent
from azent.errors import ModelError, NotRecorded, UsageError
from azent.messages import Call, Delta, End, Request, Usage
from azent.models import Scripted
from azent.models.recorded import Cached, Recorded, _asked, _key, _packed, _unpacked

pytest_plugins = ["pytester"]

HELLO = Request(({"role": "user", "content": "Hello"},))
PIECES: list[str | Delta | End] = [
    Delta("Hi"),
    Delta(" there", thinking="hm"),
    Delta(calls=(Call("f", {"a": 1}),)),
    End("length", Usage(3, 4, 1, 0.5)),
]


def test_a_reply_comes_again_in_the_same_pieces(tmp_path: Path) -> None:
    model = Scripted(PIECES)
    cached = Cached(model, tmp_path / "new" / "replies.db")
    assert [list(cached.stream(HELLO)), list(cached.stream(HELLO))] == [PIECES, PIECES]
    assert len(model.heard) == 1


def test_half_a_character_is_kept_too(tmp_path: Path) -> None:
    cached = Cached(Scripted("Hm \ud83d"), tmp_path / "replies.db")
    assert list(cached.stream(HELLO)) == list(cached.stream(HELLO))


PIECE = st.builds(
    Delta,
    st.text(),
    st.text(),
    st.lists(st.builds(Call, st.text(), st.dictionaries(st.text(), st.integers()))).map(tuple),
)


@given(st.lists(PIECE), st.builds(End, st.text(), st.builds(Usage, st.integers())))
def test_pieces_survive_being_kept(pieces: list[Delta], end: End) -> None:
    assert list(_unpacked(_packed([*pieces, end]))) == [*pieces, end]


@pytest.mark.parametrize(
    ("other_model", "other_request"),
    [
        ({"name": "other"}, HELLO),
        ({}, Request(({"role": "user", "content": "Hello!"},))),
        ({}, Request(HELLO.messages, {"type": "object"})),
        ({}, Request(HELLO.messages, options={"seed": 7})),
        ({}, Request(HELLO.messages, tools=({"name": "f"},))),
    ],
)
def test_what_a_reply_depends_on_makes_another_request(
    tmp_path: Path, other_model: dict[str, Any], other_request: Request
) -> None:
    file = tmp_path / "replies.db"
    list(Cached(Scripted("one"), file).stream(HELLO))
    other = Scripted("two", **other_model)
    assert next(Cached(other, file).stream(other_request)) == Delta("two")


def test_options_are_part_of_the_request_and_the_server_is_not() -> None:
    def key(**settings: Any) -> str:
        return _key(_asked(azent.open_model("m", **settings), HELLO))

    assert key(host="http://one:1") == key(host="http://two:2")
    assert key(options={"seed": 1}) != key()


def test_the_time_limit_is_no_part_of_the_request(tmp_path: Path) -> None:
    cached = Cached(Scripted("one"), tmp_path / "replies.db")
    list(cached.stream(HELLO))
    assert next(cached.stream(Request(HELLO.messages, timeout=3.0))) == Delta("one")


def test_a_reply_that_fails_or_is_left_is_not_kept(tmp_path: Path) -> None:
    model = Scripted(ModelError("down"), ["a", "b"], "whole")
    cached = Cached(model, tmp_path / "replies.db")
    with pytest.raises(ModelError, match="down"):
        list(cached.stream(HELLO))
    pieces = cached.stream(HELLO)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]  # it is a generator
    assert next(cached.stream(HELLO)) == Delta("whole")


def test_a_recorded_model_asks_nothing(tmp_path: Path) -> None:
    file = tmp_path / "replies.db"
    list(Cached(Scripted("kept"), file).stream(HELLO))
    silent = Scripted()
    assert next(Recorded(silent, file).stream(HELLO)) == Delta("kept")
    with pytest.raises(NotRecorded, match=r"ends in 'Good night'") as caught:
        list(Recorded(silent, file).stream(Request(({"role": "user", "content": "Good night"},))))
    assert "--azent-record" in caught.value.hint
    assert silent.heard == []


def test_nothing_recorded_at_all(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded):
        list(Recorded("no-such-model", tmp_path / "none.db").stream(HELLO))
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("These are notes, and long enough ones to be told from a database." * 9)
    with pytest.raises(UsageError, match=r"notes\.txt cannot be used to keep replies"):
        list(Cached(Scripted("one"), file).stream(HELLO))
    assert file.read_text().startswith("These are notes")


def test_a_database_of_another_kind_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as other:
        other.execute("create table notes (text)")
    other.close()
    before = file.read_bytes()
    with pytest.raises(UsageError, match=r"other\.db is a database of another kind"):
        list(Cached(Scripted("one"), file).stream(HELLO))
    assert file.read_bytes() == before


def test_a_file_that_sqlite_was_asked_about_is_one_of_replies_still(tmp_path: Path) -> None:
    cached = Cached(Scripted("one"), tmp_path / "replies.db")
    list(cached.stream(HELLO))
    with sqlite3.connect(cached.path) as file:
        file.execute("analyze")
    file.close()
    assert next(iter(cached.stream(HELLO))) == Delta("one")


@pytest.mark.parametrize("reply", ["{", "3", '[{"done_reason": "stop", "usage": 3}]', '["a", 3]'])
def test_a_kept_reply_that_cannot_be_read_is_told(tmp_path: Path, reply: str) -> None:
    file = tmp_path / "replies.db"
    list(Cached(Scripted("one"), file).stream(HELLO))
    with sqlite3.connect(file) as replies:
        replies.execute("update replies set reply = ?", (reply,))
    replies.close()
    with pytest.raises(UsageError, match="has a reply that cannot be read"):
        list(Cached(Scripted("one"), file).stream(HELLO))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be used to keep replies"):
        list(Cached(Scripted("one"), tmp_path / "file" / "replies.db").stream(HELLO))


def test_the_file_can_be_read_by_anyone(tmp_path: Path) -> None:
    file = tmp_path / "replies.db"
    list(Cached(Scripted(["Ja", " wohl"], name="m"), file).stream(HELLO))
    ((request, reply),) = sqlite3.connect(file).execute("select request, reply from replies")
    assert json.loads(request)["messages"] == list(HELLO.messages)
    assert json.loads(request)["model"] == "m"
    assert json.loads(reply)[:2] == ["Ja", " wohl"]


def test_many_threads_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "replies.db"

    def ask(number: int) -> str:
        request = Request(({"role": "user", "content": str(number)},))
        reply = next(iter(Cached(Scripted(f"reply {number}"), file).stream(request)))
        assert isinstance(reply, Delta)
        return reply.text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == [f"reply {number}" for number in range(40)]


def test_an_agent_is_served_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "replies.db"
    asked = azent.Agent(Cached(Scripted("It is 5."), file)).ask("What is 2 + 3?")
    again = azent.Agent(Recorded(Scripted(), file)).ask("What is 2 + 3?")
    assert again.text == asked.text == "It is 5."


CONFTEST = 'pytest_plugins = ["azent.testing"]'
PROGRAM_TEST = """
import azent

def test_it(recorded):
    agent = azent.Agent(recorded(azent.Scripted({replies})))
    assert agent.ask("Hello").text == "Hi"
"""


def test_the_fixture_records_and_replays(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_program=PROGRAM_TEST.format(replies='"Hi"'))
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
    pytester.runpytest_inprocess("--azent-record").assert_outcomes(passed=1)
    pytester.makepyfile(test_program=PROGRAM_TEST.format(replies=""))
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    assert (pytester.path / "replies.db").exists()
