"""What an agent keeps to: early calls, consent, endings, agents within agents, many at once."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import azent
from azent.messages import (
    Answer,
    Call,
    CallFinished,
    CallStarted,
    Delta,
    End,
    Event,
    Note,
    Replied,
    Result,
)
from azent.tools.files import load_tools
from tests.scripted_ollama import Say, ScriptedOllama

NONE = '{"tools": []}'
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def calling(*calls: tuple[str, str]) -> str:
    """A reply with calls, each a tool and its input as JSON."""
    made = (f'{{"tool": "{tool}", "tool_input": {given}}}' for tool, given in calls)
    return f'{{"tools": [{", ".join(made)}]}}'


def by_stream(agent: azent.Agent, question: str = "?", **more: Any) -> list[Event]:
    return list(agent.stream(question, **more))


def by_astream(agent: azent.Agent, question: str = "?", **more: Any) -> list[Event]:
    async def all_of() -> list[Event]:
        return [event async for event in agent.astream(question, **more)]

    return asyncio.run(all_of())


Way = Callable[..., list[Event]]


@pytest.fixture(params=[by_stream, by_astream])
def events(request: pytest.FixtureRequest) -> Way:
    """Both ways to ask: what holds for one holds for the other."""
    way: Way = request.param
    return way


def answer_of(events: list[Event]) -> Answer:
    assert isinstance(events[-1], Answer)
    return events[-1]


# ---- calls that begin before their reply has ended -----------------------------------------------


class Halting:
    """A model that waits in the middle of its first reply, until it may go on."""

    name = "halting"
    num_ctx = None

    def __init__(self, before: str, after: str, may_go_on: Callable[[], object]) -> None:
        self.replies = [(before, after), (NONE, ""), ("done", "")]
        self.may_go_on = may_go_on

    def stream(self, request: azent.Request) -> Iterator[Delta | End]:
        before, after = self.replies.pop(0)
        yield Delta(before)
        if after:
            self.may_go_on()
            yield Delta(after)
        yield End()


FIRST = '{"tools": [{"tool": "look", "tool_input": {"n": 1}}'
LAST = ', {"tool": "look", "tool_input": {"n": 2}}]}'


def looking(**options: Any) -> tuple[threading.Event, Any]:
    begun = threading.Event()

    @azent.tool(**options)
    def look(n: int) -> int:
        """Look."""
        begun.set()
        return n

    return begun, look


def started_early(events: list[Event]) -> list[str]:
    """The ids of the calls that began before their reply was read."""
    replied = next(at for at, event in enumerate(events) if isinstance(event, Replied))
    return [event.call.id for event in events[:replied] if isinstance(event, CallStarted)]


def test_a_readonly_call_begins_while_its_reply_streams(events: Way) -> None:
    begun, look = looking(readonly=True)
    waited: list[bool] = []
    model = Halting(FIRST, LAST, lambda: waited.append(begun.wait(10)))
    seen = events(azent.Agent(model, [look]))
    assert waited == [True]
    assert started_early(seen) == ["1", "2"]
    assert [result.value for result in answer_of(seen).results] == [1, 2]
    assert [call.id for call in answer_of(seen).calls] == ["1", "2"]


@pytest.mark.parametrize(
    ("options", "agent"),
    [
        ({}, {}),
        ({"readonly": True, "confirm": True}, {"approval": "tool"}),
        ({"readonly": True}, {"approval": "always"}),
    ],
    ids=["not readonly", "to be confirmed", "all to be confirmed"],
)
def test_others_wait_for_its_end(
    options: dict[str, Any], agent: dict[str, Any], events: Way
) -> None:
    _, look = looking(**options)
    model = Halting(FIRST, LAST, lambda: None)
    seen = events(azent.Agent(model, [look], **agent), approve=lambda call: True)
    assert started_early(seen) == []
    assert [result.value for result in answer_of(seen).results] == [1, 2]


def test_a_call_that_began_in_a_reply_that_broke_off_is_not_begun_again(events: Way) -> None:
    ran: list[int] = []

    @azent.tool(readonly=True)
    def look(n: int) -> int:
        """Look."""
        ran.append(n)
        return n

    cut = Say(pieces=[FIRST, LAST], breaks=True)
    with ScriptedOllama(cut, FIRST + LAST, NONE, "done") as server:
        model = azent.open_model("scripted", host=server.url)
        answer = answer_of(events(azent.Agent(model, [look])))
    assert sorted(ran) == [1, 2]
    assert [result.value for result in answer.results] == [1, 2]


# ---- consent -------------------------------------------------------------------------------------

PAY = calling(("pay", '{"amount": 500}'))


class Till:
    """A tool that must be confirmed, and what it was called with."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []

        @azent.tool(**{"confirm": True, **options})
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        self.pay = pay


def saying(verdict: Any) -> Callable[[Call], Any]:
    return lambda call: verdict


def saying_later(verdict: Any) -> Callable[[Call], Any]:
    async def approve(call: Call) -> Any:
        await asyncio.sleep(0)
        return verdict

    return approve


@pytest.mark.parametrize("says", [saying, saying_later])
@pytest.mark.parametrize(
    ("verdict", "paid", "text", "stopped"),
    [
        (True, [500], "paid 500", None),
        ({"amount": 50}, [50], '(a person changed the input of this call to {"amount": 50})', None),
        ({"amount": "50"}, [50], "paid 50", None),
        ({"amount": 500}, [500], "paid 500", None),
        ({"amount": "much"}, [], "amount", None),
        ({}, [], "amount", None),
        ("first ask Kim", [], "first ask Kim", None),
        (False, [], "the user did not allow this call", "refused"),
        (None, [], "the user did not allow this call", "refused"),
        ("", [], "the user did not allow this call", "refused"),
        (1, [], "the user did not allow this call", "refused"),
    ],
)
def test_verdicts(
    says: Any, verdict: Any, paid: list[int], text: str, stopped: str | None, events: Way
) -> None:
    till = Till()
    model = azent.Scripted(PAY, *([] if stopped else [NONE]), "done")
    seen = events(azent.Agent(model, [till.pay]), approve=says(verdict))
    answer = answer_of(seen)
    assert till.paid == paid
    assert text in answer.results[0].text
    assert (answer.text, answer.stopped) == ("done", stopped)
    assert len([event for event in seen if isinstance(event, CallFinished)]) == 1


def test_a_word_with_the_refusal_lets_the_model_try_otherwise(events: Way) -> None:
    till = Till()
    model = azent.Scripted(PAY, calling(("pay", '{"amount": 5}')), NONE, "done")
    agent = azent.Agent(model, [till.pay])
    answer = answer_of(
        events(agent, approve=lambda call: call.tool_input["amount"] < 10 or "at most 9")
    )
    assert till.paid == [5]
    assert (answer.text, answer.stopped) == ("done", None)
    assert "at most 9" in model.heard[1].messages[-1]["content"]


def test_what_is_allowed_still_runs(events: Way) -> None:
    till = Till()
    model = azent.Scripted(calling(("pay", '{"amount": 1}'), ("pay", '{"amount": 2}')), "done")
    agent = azent.Agent(model, [till.pay])
    answer = answer_of(events(agent, approve=lambda call: call.tool_input["amount"] == 2))
    assert till.paid == [2]
    assert [result.ok for result in answer.results] == [False, True]
    assert answer.stopped == "refused"


def test_a_person_is_asked_once_about_twins(events: Way) -> None:
    till, asked = Till(), list[Call]()

    def approve(call: Call) -> bool:
        asked.append(call)
        return True

    model = azent.Scripted(calling(*[("pay", '{"amount": 1}')] * 3), NONE, "done")
    answer = answer_of(events(azent.Agent(model, [till.pay]), approve=approve))
    assert (len(asked), till.paid, len(answer.results)) == (1, [1], 3)


@pytest.mark.parametrize(
    ("approval", "confirm", "asked"),
    [
        ("tool", True, 1),
        ("tool", False, 0),
        ("always", False, 1),
        ("never", True, 0),
    ],
)
def test_when_a_person_is_asked(approval: Any, confirm: bool, asked: int, events: Way) -> None:
    till, calls = Till(confirm=confirm), list[Call]()

    def approve(call: Call) -> bool:
        calls.append(call)
        return True

    agent = azent.Agent(azent.Scripted(PAY, NONE, "done"), [till.pay], approval=approval)
    events(agent, approve=approve)
    assert (len(calls), till.paid) == (asked, [500])


def test_nobody_to_ask_means_no(events: Way) -> None:
    till = Till()
    answer = answer_of(events(azent.Agent(azent.Scripted(PAY, "I may not."), [till.pay])))
    assert (till.paid, answer.stopped, answer.text) == ([], "refused", "I may not.")


def test_the_time_of_a_person_is_not_the_runs(events: Way) -> None:
    till = Till()

    def approve(call: Call) -> bool:
        time.sleep(0.5)
        return True

    agent = azent.Agent(azent.Scripted(PAY, NONE, "done"), [till.pay], timeout=0.4)
    assert answer_of(events(agent, approve=approve)).stopped is None
    assert till.paid == [500]


def test_an_error_of_the_one_who_is_asked_is_theirs(events: Way) -> None:
    def approve(call: Call) -> bool:
        raise RuntimeError("no terminal")

    with pytest.raises(RuntimeError, match="no terminal"):
        events(azent.Agent(azent.Scripted(PAY), [Till().pay]), approve=approve)


def test_the_person_may_go_on_at_the_end() -> None:
    """AutoGen's TERMINATE mode is a loop around `ask`."""
    agent = azent.Agent(azent.Scripted("One.", "Two.", "Three."))
    log: Any = ()
    for said in ["Count.", "Go on.", "Go on."]:
        answer = agent.ask(said, log)
        log = answer.log
    assert answer.text == "Three."
    assert len(log) == 6


# ---- endings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["TERMINATE", lambda reply: reply.text.endswith("TERMINATE")])
def test_a_reply_may_end_the_conversation(until: Any, events: Way) -> None:
    till = Till(confirm=False)
    model = azent.Scripted(PAY, f"All done. TERMINATE\n{PAY}")
    answer = answer_of(events(azent.Agent(model, [till.pay], until=until), "Pay."))
    assert (answer.stopped, answer.text) == ("terminated", "All done. TERMINATE")
    assert till.paid == [500]
    assert [result.ok for result in answer.results] == [True, False]


def test_the_next_question_begins_anew(events: Way) -> None:
    agent = azent.Agent(azent.Scripted("Bye. TERMINATE", "Hello again."), until="TERMINATE")
    first = answer_of(events(agent))
    second = answer_of(events(agent, log=first.log))
    assert (first.stopped, second.stopped, second.text) == ("terminated", None, "Hello again.")


@pytest.mark.parametrize("place", ["the first token", "the stream", "a call", "a call on the loop"])
def test_a_run_ends_at_its_limit(place: str, events: Way) -> None:
    release = threading.Event()

    def hang() -> None:
        """Hang."""
        release.wait(30)

    async def ahang() -> None:
        """Hang."""
        await asyncio.sleep(30)

    item: Any = {
        "the first token": Say("late", before=60),
        "the stream": Say(pieces=["a "] * 1000, pause=0.05),
    }.get(place, calling(("f", "{}")))
    function = azent.tool(name="f")(ahang if place == "a call on the loop" else hang)
    with ScriptedOllama(item, decides=False) as server:
        model = azent.open_model("scripted", host=server.url)
        began = time.monotonic()
        answer = answer_of(events(azent.Agent(model, [function], timeout=0.5)))
        assert time.monotonic() - began < 10  # and not half a minute
        assert place.startswith("a call") or server.saw_disconnect()
    release.set()
    assert answer.stopped == "timeout"
    assert answer.log[-1] == Note("stopped", "timeout")
    assert all(not result.ok for result in answer.results)


# ---- agents within agents ------------------------------------------------------------------------


def test_an_agent_is_a_function_of_another(events: Way) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    inner = azent.Agent(azent.Scripted(calling(("add", '{"a": 2, "b": 3}')), NONE, "5"), [add])
    counting = inner.as_tool(name="count", description="Ask one who can count.")
    outer = azent.Agent(
        azent.Scripted(calling(("count", '{"question": "2 + 3?"}')), NONE, "It is 5."), [counting]
    )
    answer = answer_of(events(outer, "How much is 2 + 3?"))
    assert (answer.text, answer.results[0].text) == ("It is 5.", "5")
    value = answer.results[0].value
    assert isinstance(value, Answer)
    assert [message.text for message in value.log if isinstance(message, Result)] == ["5"]
    assert outer.toolbox.specs["count"]["parameters"]["required"] == ["question"]


def test_it_can_stand_among_the_tools_as_it_is() -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    toolbox = azent.Toolbox([azent.Agent(azent.Scripted(), [add])])
    (tool,) = toolbox
    assert tool.name == "ask_agent"
    assert "add" in tool.spec["description"]


def test_the_context_goes_along(events: Way) -> None:
    def whoami(context: azent.Context[str]) -> str:
        """Tell who asks."""
        return context.value

    inner = azent.Agent(azent.Scripted(calling(("whoami", "{}")), NONE, "Kim."), [whoami])
    outer = azent.Agent(
        azent.Scripted(calling(("ask_agent", '{"question": "Who?"}')), NONE, "Kim."), [inner]
    )
    answer = answer_of(events(outer, context="Kim"))
    assert answer.results[0].value.results[0].value == "Kim"


class Recursing:
    """A model that asks its own agent for as long as it is asked itself."""

    name = "recursing"
    num_ctx = None

    def stream(self, request: azent.Request) -> Iterator[Delta | End]:
        told = request.messages[-1]["content"]
        first = "error" not in told and "result" not in told
        yield Delta(calling(("me", '{"question": "?"}')) if request.format and first else told)
        yield End()


def test_agents_that_ask_themselves_come_to_an_end(events: Way) -> None:
    agent = azent.Agent(Recursing(), [], rounds=1)
    agent.toolbox.add(agent.as_tool(name="me"))
    value: Any = answer_of(events(agent))
    depth = 0
    while value.results and isinstance(value.results[0].value, Answer):
        value, depth = value.results[0].value, depth + 1
    assert depth == 5
    assert "end at a depth of 5" in value.results[0].text


def test_a_run_inside_of_a_tool_that_blocks_its_loop_comes_to_an_end(events: Way) -> None:
    async def later(n: int) -> int:
        """Come later."""
        await asyncio.sleep(0)
        return n

    async def block(n: int) -> str:
        """Ask another agent, as no asynchronous function should."""
        if n == 0:
            return "bottom"
        calls = calling(("later", '{"n": 1}'), ("block", f'{{"n": {n - 1}}}'))
        return azent.Agent(azent.Scripted(calls, NONE, "done"), [later, block]).ask("?").text

    script = (calling(("block", '{"n": 3}')), NONE, "done")
    answer = answer_of(events(azent.Agent(azent.Scripted(*script), [block], timeout=20)))
    assert (answer.stopped, answer.results[0].text) == (None, "done")


def test_what_fails_inside_is_told_outside(events: Way) -> None:
    inner = azent.Agent(azent.Scripted())  # its script is empty, so that asking it fails
    script = (calling(("ask_agent", '{"question": "?"}')), NONE, "It failed.")
    answer = answer_of(events(azent.Agent(azent.Scripted(*script), [inner])))
    assert (answer.text, answer.results[0].ok) == ("It failed.", False)


# ---- what it costs, and what is said of it -------------------------------------------------------


def test_usage_per_round_and_in_total(events: Way) -> None:
    with ScriptedOllama(Say("one", prompt_tokens=10)) as server:
        model = azent.open_model("scripted", host=server.url)
        seen = events(azent.Agent(model))
    (replied,) = (event for event in seen if isinstance(event, Replied))
    usage = replied.reply.usage
    assert usage is not None
    assert answer_of(seen).usage == usage
    assert (usage.prompt_tokens, usage.reply_tokens, usage.requests) == (10, 1, 1)
    assert (usage.prompt_seconds, usage.reply_seconds) == (0.001, 0.002)
    assert usage.seconds > 0


def test_warnings_go_to_the_log_too(events: Way, caplog: pytest.LogCaptureFixture) -> None:
    cut: list[str | Delta | End] = [Delta("An answer that was c"), End("length")]
    with caplog.at_level(logging.WARNING, "azent"):
        answer = answer_of(events(azent.Agent(azent.Scripted(cut))))
    assert "num_predict" in answer.warnings[0]
    assert [record.message for record in caplog.records] == list(answer.warnings)


# ---- replies that go in circles ------------------------------------------------------------------

ENDLESS = 10_000


def going_on(head: str, lap: str, taken: list[int]) -> Iterator[str]:
    """A reply that says the same until someone stops it."""
    yield head
    for count in range(ENDLESS):
        taken.append(count)
        yield lap


@pytest.mark.parametrize(
    "lap", ["0, ", "0", '{"a": 0}, ', "\\n", "and so on, " * 6, "长", "\n    0,\n    1,"]
)
def test_a_call_that_goes_in_circles_is_stopped_and_not_run(events: Way, lap: str) -> None:
    ran: list[Any] = []

    def mean(numbers: list[Any]) -> float:
        """The mean of numbers."""
        ran.append(numbers)
        return 1.0

    taken: list[int] = []
    head = '{"tools": [{"tool": "mean", "tool_input": {"numbers": [3, '
    model = azent.Scripted(going_on(head, lap, taken), NONE, "No idea.")
    answer = answer_of(events(azent.Agent(model, [mean])))
    assert (answer.text, ran) == ("No idea.", [])
    assert len(taken) < ENDLESS / 2
    assert answer.warnings == ("the model went in circles, so its reply was stopped",)


def test_a_decision_alone_is_stopped_in_circles_too() -> None:
    def mean(numbers: list[float]) -> float:
        """The mean of numbers."""
        return sum(numbers)

    taken: list[int] = []
    head = '{"tools": [{"tool": "mean", "tool_input": {"numbers": [3, '
    model = azent.Scripted(going_on(head, "0, ", taken), NONE)
    reply = azent.select("The mean of 3 and some zeros?", [mean], model, prompts="default")
    assert (reply.calls, len(model.heard)) == ((), 2)
    assert len(taken) < ENDLESS / 2


def test_calls_before_the_circle_run(events: Way) -> None:
    def now() -> str:
        """The time."""
        return "noon"

    taken: list[int] = []
    head = '{"tools": [{"tool": "now", "tool_input": {}}, {"tool": "now", "tool_input": {"a": ['
    model = azent.Scripted(going_on(head, "0, ", taken), NONE, "Noon.")
    answer = answer_of(events(azent.Agent(model, [now])))
    assert [result.text for result in answer.results if result.ok] == ["noon"]


@pytest.mark.parametrize("lap", ["I do not know. ", "-", Delta(thinking="Wait. No. ")])
def test_words_and_thoughts_that_go_in_circles_are_stopped(events: Way, lap: Any) -> None:
    taken: list[int] = []
    answer = answer_of(events(azent.Agent(azent.Scripted(going_on("Well: ", lap, taken)))))
    assert answer.text.startswith("Well:")
    assert len(taken) < ENDLESS / 2


def test_what_a_person_may_want_is_not_taken_for_a_circle(events: Way) -> None:
    table = "| a | b |\n|---|---|\n" + "| 0 | 0 |\n" * 100
    answer = answer_of(events(azent.Agent(azent.Scripted(table))))
    assert (answer.text, answer.warnings) == (table.strip(), ())


def test_a_call_of_many_equal_values_is_not_taken_for_a_circle(events: Way) -> None:
    def mean(numbers: list[int]) -> int:
        """The mean of numbers."""
        return len(numbers)

    zeros = ", ".join(["0"] * 150)
    script = [calling(("mean", f'{{"numbers": [{zeros}]}}')), NONE, "Zero."]
    pieces = [list(script[0]), *script[1:]]
    answer = answer_of(events(azent.Agent(azent.Scripted(*pieces), [mean])))
    assert [result.value for result in answer.results] == [150]


def test_a_call_says_how_long_it_took(events: Way) -> None:
    def nap() -> None:
        """Nap."""
        time.sleep(0.05)

    seen = events(azent.Agent(azent.Scripted(calling(("nap", "{}")), NONE, "ok"), [nap]))
    (finished,) = (event for event in seen if isinstance(event, CallFinished))
    assert finished.seconds >= 0.05


# ---- who offers a function, and who runs it ------------------------------------------------------


def test_another_agents_toolbox_may_run_what_one_offers(events: Way) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        raise AssertionError("only offered here")

    def sum_up(a: int, b: int) -> int:
        return a + b

    runner = azent.Agent(azent.Scripted(), [azent.tool(name="add")(sum_up)])
    model = azent.Scripted(calling(("add", '{"a": 2, "b": 3}')), NONE, "5")
    answer = answer_of(events(azent.Agent(model, [add], run=runner.toolbox)))
    assert [result.value for result in answer.results] == [5]


def test_the_example_of_two_agents() -> None:
    (team,) = load_tools(f"{EXAMPLES / 'two_agents.py'}:team")
    dollars = '{"base_amount": 123.45, "base_currency": "USD", "quote_currency": "EUR"}'
    model = azent.Scripted(
        calling(("ask_clerk", '{"question": "123.45 USD in EUR?"}')),
        calling(("currency_calculator", dollars)),
        NONE,
        "It is 112.23 EUR.",
        NONE,
        "112.23 euros.",
    )
    answer = team(model).ask("How much is 123.45 USD in EUR?")
    assert (answer.text, answer.results[0].text) == ("112.23 euros.", "It is 112.23 EUR.")
    assert answer.results[0].value.results[0].text == "112.23 EUR"


def test_the_example_of_consent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    converse, pay = load_tools(f"{EXAMPLES / 'consent.py'}:converse,pay")
    twenty = calling(("pay", '{"name": "Kim", "euros": 20}'))
    model = azent.Scripted(twenty, NONE, "Paid.", twenty, "I did not pay.")
    monkeypatch.setattr("sys.stdin", io.StringIO("15\nAgain.\n\n\n"))
    answer = converse(azent.Agent(model, [pay]), "Pay Kim 20 euros.")
    assert answer.stopped == "refused"
    assert [m.text for m in answer.log if isinstance(m, Result)] == [
        '(a person changed the input of this call to {"name": "Kim", "euros": 15.0}) '
        "paid 15.00 euros to Kim",
        "the user did not allow this call",
    ]


def test_its_functions_get_the_context(events: Way) -> None:
    def offered(key: str) -> str:
        """Look a key up."""
        raise AssertionError("only offered here")

    def found(key: str, context: azent.Context[dict[str, str]]) -> str:
        return context.value[key]

    desk = azent.Toolbox([azent.tool(name="offered")(found)])
    model = azent.Scripted(calling(("offered", '{"key": "a"}')), NONE, "ok")
    seen = events(azent.Agent(model, [offered], run=desk), context={"a": "alpha"})
    assert answer_of(seen).results[0].value == "alpha"


def test_what_it_has_not_is_told(events: Way) -> None:
    def offered(key: str) -> str:
        """Look a key up."""
        return key

    model = azent.Scripted(calling(("offered", '{"key": "a"}')), NONE, "ok")
    seen = events(azent.Agent(model, [offered], run=azent.Toolbox([])))
    assert "no function 'offered'" in answer_of(seen).results[0].text


# ---- many at once --------------------------------------------------------------------------------

MANY = 50


def served(body: dict[str, Any]) -> str:
    """A model that reads who is asking, and answers with what their function says."""
    said = [message["content"] for message in body["messages"]]
    who = re.findall(r"I am number (\d+)", "\n".join(said))[-1]
    results = re.findall(r'"result": "?secret of (\d+)', said[-1])
    if body.get("format") and not results:
        return calling(("secret", f'{{"number": {who}}}'))
    return NONE if body.get("format") else f"{who} has {results[-1]}"


def secret(number: int, context: azent.Context[int]) -> str:
    """Tell the secret of a number."""
    time.sleep(0.001)
    return f"secret of {number * 1000 + context.value}"


def expected(n: int) -> str:
    return f"{n} has {n * 1000 + n}"


def test_fifty_conversations_in_threads_do_not_cross() -> None:
    with ScriptedOllama(served, decides=False) as server, ThreadPoolExecutor(MANY) as pool:
        agent = azent.Agent(azent.open_model("scripted", host=server.url), [secret])
        asked = [pool.submit(agent.ask, f"I am number {n}", context=n) for n in range(MANY)]
        assert [future.result().text for future in asked] == [expected(n) for n in range(MANY)]


def test_fifty_conversations_on_one_loop_do_not_cross() -> None:
    async def all_of(agent: azent.Agent) -> list[Answer]:
        asked = (agent.aask(f"I am number {n}", context=n) for n in range(MANY))
        return await asyncio.gather(*asked)

    with ScriptedOllama(served, decides=False) as server:
        agent = azent.Agent(azent.open_model("scripted", host=server.url), [secret])
        answers = asyncio.run(all_of(agent))
    assert [answer.text for answer in answers] == [expected(n) for n in range(MANY)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": -1},
        {"repairs": -1},
        {"timeout": -0.5},
        {"width": 0},
        {"result_chars": 0},
        {"approval": "sometimes"},
        {"choice": "perhaps"},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(azent.UsageError, match=next(iter(wrong))):
        azent.Agent(azent.Scripted(), **wrong)
