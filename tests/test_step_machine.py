"""The pure core under random replies, results and interruptions: it always ends, in good order."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from azent import prompt
from azent.conversation.next_step import Ask, Done, Run, Step, next_step
from azent.conversation.replies import early, hear, refuse, take
from azent.conversation.requests import Terms
from azent.errors import BadReply
from azent.messages import Call, Log, Move, Note, Problem, Question, Reply, Result
from azent.messages.json_forms import from_json, to_json

NAMES = ("look", "pay", "roll")
SPECS = {
    name: {
        "name": name,
        "description": "",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }
    for name in NAMES
}
PROMPTS = prompt.load("default")
ILLEGAL = Problem("invalid_argument", "n is no number")
BROKEN = Problem("malformed", "it is no JSON")

some_names = st.frozensets(st.sampled_from(NAMES))
calls = st.lists(
    st.builds(
        Call,
        st.sampled_from(NAMES),
        st.fixed_dictionaries({"n": st.integers(0, 2)}),
        st.sampled_from([None, None, None, ILLEGAL]),
    ),
    max_size=4,
)
made = st.builds(Reply, calls.map(tuple), st.sampled_from(["", "Let me look."]))
replies = st.one_of(
    made,
    made,
    made,
    st.builds(Reply, text=st.sampled_from(["It is 5.", "STOP"])),
    st.just(Reply()),
    st.just(Reply(problem=BROKEN)),
    st.builds(Reply, calls.map(tuple), problem=st.just(BROKEN)),
)
outcomes = st.sampled_from(["5", "[]", "failed", "refused"])


class Conversation(RuleBasedStateMachine):
    """One conversation, moved on by whatever a model, tools and people may do."""

    log: Log = ()
    terms = Terms(SPECS, PROMPTS)
    requests = 0
    gave_up = False

    @initialize(
        rounds=st.integers(0, 3),
        repairs=st.integers(0, 2),
        readonly=some_names,
        repeatable=some_names,
        confirm=some_names,
        choice=st.sampled_from(["auto", "none", "required", "look"]),
        until=st.sampled_from([None, "STOP"]),
    )
    def begin(self, **changes: Any) -> None:
        self.terms = Terms(SPECS, PROMPTS, **changes)
        self.log = (Question("How much?"),)

    @property
    def step(self) -> Step | None:
        """What is next, None where it was given up."""
        try:
            return next_step(self.log, self.terms)
        except BadReply:
            return None

    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        """Do what is next, in one of the ways that it may go."""
        match self.step:
            case Ask(move=move):
                self.hear(data.draw(replies), move)
            case Run(calls):
                self.take(data.draw(st.sampled_from(calls)), data.draw(outcomes))
            case None | Done():
                self.requests = 0
                self.log = (*self.log, Question("And now?"))

    def hear(self, reply: Reply, move: Move) -> None:
        self.requests += 1
        made = () if move == "answer" else reply.calls
        said = Reply(made, reply.text, problem=reply.problem, move=move)
        begun = early(self.log, [call for call in made if not call.problem], self.terms)
        self.log = hear(self.log, said, self.terms)
        if not any(call.problem for call in made):
            self.check_early(begun)

    def take(self, call: Call, outcome: str) -> None:
        if outcome == "refused":
            self.log = refuse(self.log, call, self.terms)
            return
        taken = Result(call.tool, outcome, outcome != "failed", id=call.id)
        self.log = take(self.log, taken, self.terms)
        assert take(self.log, taken, self.terms) == self.log  # it comes once

    def check_early(self, begun: tuple[Call, ...]) -> None:
        """What began early is in the reply, under the same id, unless all of it was refused."""
        heard = [message for message in self.log if isinstance(message, Reply)][-1]
        if heard.calls:
            assert set(map(repr, begun)) <= set(map(repr, heard.calls))
        assert all(call.tool in self.terms.readonly - self.terms.confirm for call in begun)

    @rule()
    def result_of_nothing(self) -> None:
        assert take(self.log, Result("look", "?", id="no such call"), self.terms) == self.log

    @precondition(lambda self: isinstance(self.step, Run))
    @rule()
    def time_is_up(self) -> None:
        while isinstance(step := self.step, Run):
            late = Result(step.calls[0].tool, "late", ok=False, id=step.calls[0].id)
            self.log = take(self.log, late, self.terms)
        self.log = (*self.log, Note("stopped", "timeout"))

    @rule()
    def store_and_load(self) -> None:
        self.log = tuple(from_json(to_json(message)) for message in self.log)

    # ---- what always holds -----------------------------------------------------------------------

    @invariant()
    def each_call_has_one_result_at_most(self) -> None:
        ids = [message.id for message in self.log if isinstance(message, Result)]
        assert len(ids) == len(set(ids))
        assert set(ids) <= set(self.call_ids())

    @invariant()
    def when_it_is_done_each_has_one(self) -> None:
        if isinstance(self.step, Done):
            assert {m.id for m in self.log if isinstance(m, Result)} == set(self.call_ids())

    @invariant()
    def ids_are_unique(self) -> None:
        assert len(self.call_ids()) == len(set(self.call_ids()))

    @invariant()
    def requests_are_bounded(self) -> None:
        # before each round, and before the answer, as many failures as are allowed and one more
        assert self.requests <= (self.terms.rounds + 3) * (self.terms.repairs + 1)

    @invariant()
    def the_same_log_gives_the_same_step(self) -> None:
        assert self.step == self.step

    @invariant()
    def roles_take_turns(self) -> None:
        step = self.step
        if isinstance(step, Ask):
            roles = [message["role"] for message in step.messages if message["role"] != "system"]
            assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
            assert roles[-1] == "user"
            assert all(message["content"] for message in step.messages)

    def call_ids(self) -> list[str]:
        return [call.id for m in self.log if isinstance(m, Reply) for call in m.calls]

    def teardown(self) -> None:
        """Whatever was, a model that only ever says the same thing comes to an end."""
        for n in range(200):
            match self.step:
                case None | Done():
                    return
                case Run(calls):
                    self.log = take(
                        self.log, Result(calls[0].tool, "5", id=calls[0].id), self.terms
                    )
                case Ask(move=move):
                    made = () if move == "answer" else (Call("roll", {"n": n}),)
                    said = Reply(made, "" if made else "5", move=move)
                    self.log = hear(self.log, said, self.terms)
        raise AssertionError("it goes on for ever")


TestConversation = Conversation.TestCase
TestConversation.settings = settings(
    max_examples=80,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
