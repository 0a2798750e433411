"""Agents that keep their conversations, and go on with them whatever befell them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import azent
from azent.conversation.replies import INTERRUPTED
from azent.messages import Answer, Call, Correction, Log, Note, Problem, Question, Reply, Result

NONE = '{"tools": []}'
SEND = '{"tools": [{"tool": "send", "tool_input": {"to": "Kim"}}]}'


def by_ask(agent: azent.Agent, question: str | None, **more: Any) -> Answer:
    return agent.ask(question, **more)


def by_aask(agent: azent.Agent, question: str | None, **more: Any) -> Answer:
    return asyncio.run(agent.aask(question, **more))


@pytest.fixture(params=[by_ask, by_aask])
def ask(request: pytest.FixtureRequest) -> Callable[..., Answer]:
    way: Callable[..., Answer] = request.param
    return way


@pytest.fixture
def store(tmp_path: Path) -> azent.Store:
    return azent.Store(tmp_path / "sessions.db")


class Sender:
    """A function with a side effect, and what it did."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, to: str) -> str:
        """Send a message."""
        self.sent.append(to)
        return "sent"


def kept(store: azent.Store, log: Log, begun: tuple[str, ...] = ()) -> azent.Session:
    """A session as a run leaves it that was killed."""
    with store.hold("a") as held:
        held.keep(log)
        held.begin([Call("send", {}, id=id) for id in begun])
    return azent.Session("a", store)


def called(*ids: str, tool: str = "send") -> Log:
    calls = tuple(Call(tool, {"to": id}, id=id) for id in ids)
    return (Question("go"), Reply(calls=calls, move="decide"))


# ---- memory --------------------------------------------------------------------------------------


def test_a_session_remembers(ask: Callable[..., Answer], store: azent.Store) -> None:
    session = azent.Session("work", store)
    ask(azent.Agent(azent.Scripted("Hello Logan.")), "My name is Logan.", session=session)
    model = azent.Scripted("Logan.")
    answer = ask(azent.Agent(model), "What is my name?", session=session)
    assert [message["content"] for message in model.heard[0].messages] == [
        "My name is Logan.",
        "Hello Logan.",
        "What is my name?",
    ]
    assert store.log("work") == answer.log


def test_a_name_alone_means_the_users_own_store() -> None:
    azent.Agent(azent.Scripted("hello")).ask("hi", session="work")
    assert [each.name for each in azent.Store().sessions()] == ["work"]


def test_log_and_session_cannot_go_together(store: azent.Store) -> None:
    agent = azent.Agent(azent.Scripted())
    with pytest.raises(ValueError, match="log and session"):
        agent.ask("?", (Question("hi"),), session=azent.Session("a", store))


def test_all_is_kept_before_the_next_step(store: azent.Store) -> None:
    """What stands in the store when a function runs, and when the model is asked."""
    seen: list[Log] = []

    def look() -> str:
        """Look."""
        seen.append(store.log("a"))
        return "seen"

    class Watching(azent.Scripted):
        def stream(self, request: azent.Request) -> Any:
            seen.append(store.log("a"))
            return super().stream(request)

    model = Watching('{"tools": [{"tool": "look", "tool_input": {}}]}', NONE, "done")
    answer = azent.Agent(model, [look]).ask("go", session=azent.Session("a", store))
    assert [len(log) for log in seen] == [1, 2, 3, 4]
    assert all(log == answer.log[: len(log)] for log in seen)
    assert store.log("a") == answer.log


def test_a_long_stream_keeps_nobody_from_another_session(store: azent.Store) -> None:
    waiting, go_on = threading.Event(), threading.Event()

    class Slow:
        name = "slow"
        num_ctx = None

        def stream(self, request: azent.Request) -> Any:
            yield azent.Delta("one ")
            waiting.set()
            go_on.wait(30)
            yield azent.Delta("two")
            yield azent.End()

    first = threading.Thread(
        target=lambda: azent.Agent(Slow()).ask("go", session=azent.Session("slow", store))
    )
    first.start()
    assert waiting.wait(30)
    answer = azent.Agent(azent.Scripted("ok")).ask("go", session=azent.Session("b", store))
    assert answer.text == "ok"
    with pytest.raises(azent.SessionError, match="another run"):
        azent.Agent(azent.Scripted("no")).ask("go", session=azent.Session("slow", store))
    go_on.set()
    first.join()
    assert len(store.log("slow")) == 2


def test_conversations_do_not_leak_into_each_other(store: azent.Store) -> None:
    def converse(number: int) -> None:
        def secret() -> str:
            """Tell the secret."""
            return f"secret {number}"

        script = ['{"tools": [{"tool": "secret", "tool_input": {}}]}', NONE, f"answer {number}"]
        agent = azent.Agent(azent.Scripted(*script * 3), [secret], system=f"user {number}")
        for _ in range(3):
            agent.ask(f"question {number}", session=azent.Session(f"s{number}", store))

    threads = [threading.Thread(target=converse, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        log = store.log(f"s{number}")
        assert [m for m in log if isinstance(m, Question)] == [Question(f"question {number}")] * 3
        assert {m.text for m in log if isinstance(m, Result)} == {f"secret {number}"}


# ---- going on after a crash ----------------------------------------------------------------------


def test_a_call_that_began_is_not_begun_again(
    ask: Callable[..., Answer], store: azent.Store
) -> None:
    sender = Sender()
    session = kept(store, called("1", "2"), begun=("1",))
    model = azent.Scripted(NONE, "It may have been sent.")
    answer = ask(azent.Agent(model, [sender.send]), "go", session=session)
    assert sender.sent == ["2"]
    assert [result.text for result in answer.results] == [INTERRUPTED, "sent"]
    assert Note("interrupted", ids=("1",)) in answer.log
    assert ["not begun again: send" in warning for warning in answer.warnings] == [True]
    assert INTERRUPTED in model.heard[0].messages[-1]["content"]
    assert [m for m in answer.log if isinstance(m, Question)] == [Question("go")]


def test_twins_of_a_call_that_began_share_its_end(store: azent.Store) -> None:
    sender = Sender()
    twins = tuple(Call("send", {"to": "Kim"}, id=id) for id in ("1", "2"))
    log: Log = (Question("go"), Reply(calls=twins, move="decide"))
    session = kept(store, log, begun=("1",))
    agent = azent.Agent(azent.Scripted(NONE, "ok"), [sender.send])
    assert [r.text for r in agent.ask("go", session=session).results] == [INTERRUPTED] * 2
    assert sender.sent == []


@pytest.mark.parametrize("options", [{"readonly": True}, {"retries": 1}])
def test_what_may_begin_again_does(store: azent.Store, options: dict[str, Any]) -> None:
    sender = Sender()
    session = kept(store, called("1"), begun=("1",))
    agent = azent.Agent(azent.Scripted(NONE, "ok"), [azent.tool(**options)(sender.send)])
    assert [result.text for result in agent.ask("go", session=session).results] == ["sent"]
    assert sender.sent == ["1"]


def test_none_goes_on_and_another_question_is_put_after(store: azent.Store) -> None:
    sender = Sender()
    session = kept(store, called("1"), begun=("1",))
    model = azent.Scripted("Something else.")
    answer = azent.Agent(model).ask("What else?", session=session)
    assert answer.text == "Something else."
    assert "interrupted" in model.heard[0].messages[-1]["content"]
    store.delete("a")
    session = kept(store, called("1"))
    answer = azent.Agent(azent.Scripted(NONE, "Sent."), [sender.send]).ask(None, session=session)
    assert (answer.text, sender.sent) == ("Sent.", ["1"])


def test_going_on_with_what_is_answered_gives_the_answer(store: azent.Store) -> None:
    session = kept(store, (Question("hi"), Reply(text="hello", move="answer")))
    assert azent.Agent(azent.Scripted()).ask(None, session=session).text == "hello"
    with pytest.raises(azent.UsageError, match="no conversation"):
        azent.Agent(azent.Scripted()).ask(None)


def test_the_same_question_is_asked_anew_once_it_was_answered(store: azent.Store) -> None:
    session = azent.Session("a", store)
    agent = azent.Agent(azent.Scripted("one", "two"))
    assert [agent.ask("go", session=session).text for _ in range(2)] == ["one", "two"]


def test_a_question_on_which_the_model_gave_up_is_asked_anew(store: azent.Store) -> None:
    problem = Problem("malformed", "no JSON")
    bad = (Reply(problem=problem, move="answer"), Correction(problem))
    session = kept(store, (Question("go"), *bad * 3))
    answer = azent.Agent(azent.Scripted("ok"), repairs=2).ask("go", session=session)
    assert answer.text == "ok"


def test_a_run_that_fails_can_be_repeated(store: azent.Store) -> None:
    sender = Sender()
    session = azent.Session("a", store)
    down = azent.ModelUnreachable("cannot reach it")
    agent = azent.Agent(azent.Scripted(SEND, down, NONE, "Sent."), [sender.send])
    with pytest.raises(azent.ModelUnreachable):
        agent.ask("go", session=session)
    assert agent.ask("go", session=session).text == "Sent."
    assert sender.sent == ["Kim"]


def test_leaving_a_stream_leaves_the_session(store: azent.Store) -> None:
    session = azent.Session("a", store)
    events = azent.Agent(azent.Scripted(["one ", "two"])).stream("go", session=session)
    next(events)
    events.close()
    assert azent.Agent(azent.Scripted("ok")).ask("go", session=session).text == "ok"


# ---- stores that cannot be used ------------------------------------------------------------------


def garbage(path: Path) -> None:
    path.write_bytes(b"no database\n" * 99)


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("damage", [garbage, a_folder])
@pytest.mark.parametrize("required", [True, False])
def test_a_broken_store_is_refused_where_named_and_warned_of_where_not(
    ask: Callable[..., Answer],
    store: azent.Store,
    damage: Callable[[Path], None],
    required: bool,
) -> None:
    damage(store.path)
    session = azent.Session("a", store, required=required)
    agent = azent.Agent(azent.Scripted("ok"))
    if required:
        with pytest.raises(azent.SessionError, match="database"):
            ask(agent, "go", session=session)
        assert agent.model.heard == []  # type: ignore[attr-defined]  # it is Scripted
        return
    answer = ask(agent, "go", session=session)
    assert answer.text == "ok"
    assert ["without keeping" in warning for warning in answer.warnings] == [True]


def test_a_store_that_breaks_in_mid_run_is_warned_of_once(
    store: azent.Store, caplog: pytest.LogCaptureFixture
) -> None:
    def spoil() -> str:
        """Spoil the store."""
        import sqlite3

        database = sqlite3.connect(store.path)
        database.execute("DROP TABLE messages")
        database.commit()
        database.close()
        return "spoilt"

    script = ('{"tools": [{"tool": "spoil", "tool_input": {}}]}', NONE, "ok")
    session = azent.Session("a", store, required=False)
    answer = azent.Agent(azent.Scripted(*script), [spoil]).ask("go", session=session)
    assert answer.text == "ok"
    assert len(answer.warnings) == 1
    assert "without keeping" in caplog.text


# ---- the context of a run ------------------------------------------------------------------------


def greeting(user: str) -> str:
    return f"You talk to {user}."


@pytest.mark.parametrize(
    ("system", "context", "said"),
    [
        ("plain", None, "plain"),
        (greeting, "Kim", "You talk to Kim."),
        (greeting, azent.Context("Kim"), "You talk to Kim."),
        (lambda: "now", None, "now"),
    ],
)
def test_the_system_text_can_be_made_of_the_context(system: Any, context: Any, said: str) -> None:
    model = azent.Scripted("ok")
    azent.Agent(model, system=system).ask("hi", context=context)
    assert model.heard[0].messages[0] == {"role": "system", "content": said}
