"""Which functions are offered, whether any is meant, and whether more calls are due."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import azent
from azent import prompt
from azent.conversation.next_step import Ask, Rank, Run, next_step
from azent.conversation.replies import Listening, further_calls, hear, ranked
from azent.conversation.requests import Terms
from azent.errors import EncoderFailed
from azent.messages import Call, Delta, End, Log, Question, Ranking, Reply, Warning
from azent.models import Scripted
from azent.models.encoder import Kind, Vector
from azent.prompt import PromptSet, SelectionRules
from azent.selection import (
    adds_to,
    decides_by_meaning,
    description_of,
    queries_of,
    ranking,
    scope_of,
    uncovered,
)
from azent.selection.coverage import values_of
from azent.selection.numbers import is_mostly_numbers
from azent.testing import WordEncoder

BANK = prompt.load("small").bank


def weather(city: str) -> str:
    """Weather of a city today."""
    return f"sunny in {city}"


def pay(name: str, amount: float) -> str:
    """Pay a person some money."""
    return f"{name} has {amount}"


def stop() -> str:
    """Stop everything."""
    return "stopped"


SPECS = {f.__name__: azent.function_to_json(f) for f in (weather, pay, stop)}


def set_with(name: str = "medium", **rules: Any) -> PromptSet:
    return replace(prompt.load(name), selection=SelectionRules(**rules), bank=BANK)


def log_with(**scores: float) -> Log:
    """A question whose functions have these scores."""
    order = sorted(scores.items(), key=lambda pair: -pair[1])
    return (Question("How is the weather in Oslo?"), Ranking(tuple(order)))


# ---- scores --------------------------------------------------------------------------------------

coordinates = st.floats(-1, 1).filter(lambda x: abs(x) > 1e-3)
vectors = st.lists(coordinates, min_size=4, max_size=4)


@given(vectors, st.lists(vectors, min_size=1, max_size=4), st.floats(0.1, 0.9))
def test_scores_do_not_depend_on_the_scale_of_an_encoder(
    query: list[float], functions: list[list[float]], share: float
) -> None:
    """Encoders differ in how near all texts are to each other; what is nearer stays so."""
    bank = [[n % 7 - 3, n % 5 - 2, n % 3 - 1, 1.0] for n in range(30)]

    def shifted(vector: list[float]) -> list[float]:
        return [*((1 - share) ** 0.5 * x for x in vector), share**0.5]

    names = {str(n): vector for n, vector in enumerate(functions)}
    plain = ranking([query], names, bank)
    other = ranking(
        [shifted(query)], {n: shifted(v) for n, v in names.items()}, list(map(shifted, bank))
    )
    assert dict(other.scores) == pytest.approx(dict(plain.scores), abs=0.002)
    assert [score for _, score in plain.scores] == sorted(dict(plain.scores).values(), reverse=True)


def test_a_follow_up_is_near_to_what_it_takes_up() -> None:
    bank = [[0.0, 1.0, n / 40] for n in range(20)]
    alone, context = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]
    rank = ranking([alone, context], {"f": [1.0, 0.0, 0.0]}, bank)
    assert rank.in_context is not None
    assert rank.in_context > 0 > dict(rank.scores)["f"]
    assert ranking([alone], {"f": [1.0, 0.0, 0.0]}, bank).in_context is None
    assert ranking([], {}, bank) == Ranking()


@pytest.mark.parametrize(
    ("log", "queries"),
    [
        ((), ()),
        ((Question("Hi"),), ("Hi",)),
        ((Question("Hi"), Reply(text="Hello."), Question("Wetter?")),
         ("Wetter?", "Hi\nHello.\nWetter?")),
        ((Question("Oslo?"), Reply(calls=(Call("weather", {}),)), Question("And Rome?")),
         ("And Rome?", "Oslo?\nAnd Rome?")),
        ((Question("a" * 999), Question("b")), ("b", "a" * 300 + "\nb")),
    ],
)  # fmt: skip
def test_texts_that_stand_for_the_last_question(log: Log, queries: tuple[str, ...]) -> None:
    assert queries_of(log) == queries


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"name": "getWeather_now", "description": "Tell it."}, "get weather now: Tell it."),
        ({"name": "a.b-c"}, "a b c: "),
        ({"name": "f", "description": None}, "f: "),
        ({"name": "f", "description": "x" * 5000}, "f: " + "x" * 997),
    ],
)
def test_text_that_stands_for_a_function(spec: dict[str, Any], text: str) -> None:
    assert description_of(spec) == text


# ---- what is offered -----------------------------------------------------------------------------

RULES: dict[str, Any] = {"relevance": True, "none_below": -1.0, "call_above": 1.0}


@pytest.mark.parametrize(
    ("scores", "rules", "choice", "offered", "least", "relevance"),
    [
        # clearly one, none, and between
        ({"weather": 1.0, "pay": -2.0, "stop": -3.0}, RULES, "auto", 3, 1, "one"),
        ({"weather": -1.1, "pay": -2.0, "stop": -3.0}, RULES, "auto", 0, 0, "none"),
        ({"weather": -1.0, "pay": -2.0, "stop": -3.0}, RULES, "auto", 3, 0, "unclear"),
        # a set that leaves it to the model, and one without a ranking
        ({"weather": -9.0, "pay": -9.0, "stop": -9.0}, {"shown": 2}, "auto", 2, 0, ""),
        ({}, {**RULES, "shown": 1, "within": 1.0}, "auto", 3, 0, ""),
        # the nearest, and those about as near as the best
        ({"weather": 2.0, "pay": 1.0, "stop": -3.0}, {**RULES, "shown": 2}, "auto", 2, 1, "one"),
        ({"weather": 2.0, "pay": 1.0, "stop": -3.0}, {**RULES, "within": 1.0}, "auto", 2, 1, "one"),
        ({"weather": 2.0, "pay": 0.9, "stop": -3.0}, {**RULES, "within": 1.0}, "auto", 1, 1, "one"),
        # what the caller demands stays
        ({"weather": -5.0, "pay": -6.0, "stop": -9.0}, RULES, "required", 3, 0, ""),
        ({"weather": 2.0, "pay": 1.0, "stop": -3.0}, {"shown": 1}, "stop", 2, 0, ""),
        ({"weather": 2.0, "pay": 1.0, "stop": -3.0}, {"within": 0.5}, "stop", 2, 0, ""),
    ],
)  # fmt: skip
def test_what_a_first_decision_may_be(
    scores: dict[str, float],
    rules: dict[str, Any],
    choice: str,
    offered: int,
    least: int,
    relevance: str,
) -> None:
    scope = scope_of(log_with(**scores), SPECS, set_with(**rules), choice)
    assert (len(scope.specs), scope.least, scope.relevance) == (offered, least, relevance)
    assert set(scope.specs) <= set(SPECS)
    assert bool(scope.why) == (relevance in ("one", "none"))
    assert choice not in SPECS or choice in scope.specs


@pytest.mark.parametrize(
    ("rules", "number", "needed"),
    [
        ({}, 3, False),
        ({"relevance": True}, 1, True),
        ({"relevance": True}, 0, False),
        ({"shown": 3}, 3, False),
        ({"shown": 2}, 3, True),
        ({"within": 1.0}, 1, False),
        ({"within": 1.0}, 2, True),
        ({"more": True}, 3, False),
    ],
)
def test_an_encoder_is_used_where_it_can_decide_something(
    rules: dict[str, Any], number: int, needed: bool
) -> None:
    specs = dict(list(SPECS.items())[:number])
    assert decides_by_meaning(specs, SelectionRules(**rules)) is needed
    terms = Terms(specs, set_with(**rules), encoded=True)
    assert isinstance(next_step((Question("Hi"),), terms), Rank) is needed
    assert not isinstance(next_step((Question("Hi"),), replace(terms, encoded=False)), Rank)
    without_bank = replace(terms, prompts=replace(terms.prompts, bank=()))
    assert not isinstance(next_step((Question("Hi"),), without_bank), Rank)


@pytest.mark.parametrize(("score", "move"), [(2.0, "decide"), (0.0, "gate"), (-2.0, "answer")])
def test_the_gate_is_asked_where_meaning_leaves_it_open(score: float, move: str) -> None:
    step = next_step(log_with(weather=score), Terms(SPECS, set_with(**RULES), encoded=True))
    assert isinstance(step, Ask)
    assert step.move == move
    assert bool(step.warning) == (move == "answer")


def test_a_ranking_in_the_log_is_kept_and_gives_the_same_request() -> None:
    log, terms = log_with(weather=1.5, pay=0.25), Terms(SPECS, set_with(**RULES), encoded=True)
    stored = tuple(
        azent.messages.json_forms.from_json(azent.messages.json_forms.to_json(each)) for each in log
    )
    assert stored == log
    assert repr(next_step(stored, terms)) == repr(next_step(log, terms))


# ---- values that no call has used ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "used", "left"),
    [
        ("Weather in Oslo and in Rome?", {"city": "Oslo"}, ("Rome",)),
        ("Wie ist es in Köln und in Bern?", {"city": "Köln"}, ("Bern",)),
        ("Météo à Paris et à Nîmes ?", {"city": "Paris"}, ("Nîmes",)),
        ("¿Tiempo en León y en Ávila?", {"city": "León"}, ("Ávila",)),
        ("Погода: в Киеве и в Минске", {"city": "Минске"}, ("Киеве",)),
        ("播放「夜曲」和「晴天」", {"name": "夜曲"}, ("晴天",)),
        ("Spiel „Angie“ und „Yesterday“", {"name": "Angie"}, ("Yesterday",)),
        ("Joue « Aline » puis « Belle »", {"name": "Aline"}, (" Belle ",)),
        ("Add 12 and 30", {"a": 12}, ("30",)),
        ("2,5 % und 3,5 %", {"a": 0.025}, ("3,5",)),
        ("Weather in Oslo at 9", {"city": "Oslo"}, ()),  # no number was used yet
        ("Weather in Oslo?", {"city": "Oslo, Norway"}, ()),
        ("what is it like outside", {"city": "x"}, ()),
    ],
)
def test_values_that_are_left(question: str, used: dict[str, Any], left: tuple[str, ...]) -> None:
    assert uncovered(question, [Call("weather", used)], SPECS) == left


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1,250", 1250),
        ("1.250", 1250),
        ("1.250,50", 1250.5),
        ("1,250.50", 1250.5),
        ("12,50,000", 1250000),
        ("1'250'000", 1250000),
        ("1\u202f250\u00a0000", 1250000),
        ("2,5", 2.5),
        ("٤٥", 45),
        ("２５", 25),
        ("٢٫٥", 2.5),
        ("007", 7),
        ("5", -5),
        ("5", 0.05),
        ("5", 5_000_000),
        ("2023.10.1", "2023-10-1"),
        ("7", "07:30"),
    ],
)
def test_a_number_is_the_same_in_every_script_and_grouping(written: str, value: Any) -> None:
    question = f"a {written} b 77.77 c"
    [left] = uncovered(question, [Call("f", {"x": value})], {})
    assert left == "77.77"


@pytest.mark.parametrize(
    ("further", "question", "kept"),
    [
        ({"name": "Bo", "amount": 7}, "Pay Al 5 and Bo 7", True),
        ({"name": "Bo", "amount": 9}, "Pay Al 5 and Bo 7", False),  # 9 is made up
        ({"name": "Al", "amount": 5}, "Pay Al 5 and Bo 7", False),  # adds nothing
        ({"name": "Bo", "amount": 1}, "Pay Al 5 and Bo 7", True),  # 1 is said by an article
        ({"name": "Bo", "amount": 1250.5}, "Zahle Al 5 und Bo 1.250,50", True),
        ({"name": "Bo", "amount": 1250}, "Paie Al 5 et Bo 1 250", True),
        ({"name": "", "amount": 10}, "Pay 5,10,15", False),
        ({"name": "Bo", "amount": 10**400}, "Pay Al 5 and Bo 7", False),
        ({"name": "Bo", "amount": [10**5000]}, "Pay Al 5 and Bo 7", False),
    ],
)
def test_a_further_call_uses_what_is_left_and_makes_no_number_up(
    further: dict[str, Any], question: str, kept: bool
) -> None:
    first = Call("pay", {"name": "Al", "amount": 5})
    assert adds_to(Call("pay", further), question, [first], SPECS) is kept


@given(st.text(max_size=300), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8,
))  # fmt: skip
def test_no_question_and_no_input_raises(question: str, value: Any) -> None:
    call = Call("pay", {"name": value})
    assert set(uncovered(question, [call], SPECS)) <= set(values_of(question))
    assert isinstance(adds_to(call, question, [call], SPECS), bool)


@pytest.mark.parametrize(
    "piece", ["1 ", "A b ", '"a" ', "1.", "1'000", '"', "A", "\u202f1", "1 000"]
)
def test_long_texts_take_no_longer_than_short_ones(piece: str) -> None:
    calls = [Call("pay", {"name": piece * 20_000, "amount": list(range(2000))})]
    began = time.process_time()
    adds_to(calls[0], piece * 100_000, calls, SPECS)
    assert time.process_time() - began < 5


# ---- further calls -------------------------------------------------------------------------------

TERMS = Terms(SPECS, set_with(more=True))
ASKED = (Question("Weather in Oslo, in Rome and in Bern?"),)


def cities(*names: str) -> tuple[Call, ...]:
    return tuple(Call("weather", {"city": name}) for name in names)


def wire(*names: str) -> str:
    calls = ", ".join(f'{{"tool": "weather", "tool_input": {{"city": "{n}"}}}}' for n in names)
    return f'{{"tools": [{calls}]}}'


@pytest.mark.parametrize(
    ("changes", "made", "due"),
    [
        ({}, ("Oslo",), True),
        ({}, ("Oslo", "Rome", "Bern"), False),
        ({}, ("Kyiv",), False),  # a call that uses no city of the question tells nothing of others
        ({"parallel": False}, ("Oslo",), False),
        ({"choice": "weather"}, ("Oslo",), False),
        ({"prompts": set_with()}, ("Oslo",), False),
        ({"prompts": replace(set_with(more=True), held=False)}, ("Oslo",), False),
    ],
)
def test_more_calls_are_due_while_values_are_left(
    changes: dict[str, Any], made: tuple[str, ...], due: bool
) -> None:
    terms = replace(TERMS, **changes)
    step = next_step(hear(ASKED, Reply(cities(*made), move="decide"), terms), terms)
    assert (isinstance(step, Ask) and step.move == "more") is due
    assert due or isinstance(step, Run)


@given(st.lists(st.sampled_from(["Oslo", "Rome", "Bern", "Kyiv"]), max_size=8))
def test_first_calls_stay_and_the_first_that_adds_nothing_is_the_last(more: list[str]) -> None:
    first = hear(ASKED, Reply(cities("Oslo"), move="decide"), TERMS)
    log = hear(first, Reply(cities(*more), move="more"), TERMS)
    step = next_step(log, TERMS)
    assert isinstance(step, Run)  # more is asked for once
    made = [call.tool_input["city"] for call in step.calls]
    assert made[0] == "Oslo"
    assert len(set(made)) == len(made)
    assert "Kyiv" not in made
    expected = list(dict.fromkeys(["Oslo", *more]))
    assert made == expected[: len(made)]
    kept, over = further_calls(cities(*more), first[:2], TERMS)
    assert len(kept) == len(made) - 1
    assert over or len(more) < 3 or set(more) == {"Oslo"} or made != ["Oslo", "Rome", "Bern"]


@pytest.mark.parametrize(
    ("written", "kept", "stops_early"),
    [
        (("Oslo", "Rome", "Bern", "Bern", "Bern"), ["Rome", "Bern"], True),
        (("Oslo", "Rome", "Oslo", "Bern"), ["Rome"], True),
        (("Oslo", "Kyiv", "Bern"), [], True),
        (("Oslo", "Rome"), ["Rome"], False),
    ],
)
def test_a_reply_for_more_is_stopped_when_it_has_enough(
    written: tuple[str, ...], kept: list[str], stops_early: bool
) -> None:
    log = hear(ASKED, Reply(cities("Oslo"), move="decide"), TERMS)
    step = next_step(log, TERMS)
    assert isinstance(step, Ask)
    listening, text, taken = Listening(step, TERMS, log), wire(*written), 0
    for character in text:
        listening.take(Delta(character))
        taken += 1
        if listening.over:
            break
    if not stops_early:
        listening.take(End())
    assert (taken < len(text)) is stops_early
    heard = hear(log, listening.close(), TERMS)
    made = [c for m in heard if isinstance(m, Reply) and m.move == "more" for c in m.calls]
    assert [call.tool_input["city"] for call in made] == kept


# ---- with an encoder -----------------------------------------------------------------------------

MEANT, NOT_MEANT = "Weather of a city today in Oslo", "Wherefore art thou Romeo"


class Broken:
    """An encoder that fails at its first, second, ... request."""

    name = "broken"

    def __init__(self, after: int) -> None:
        self.left = after

    def encode(self, texts: Any, kind: Kind) -> list[Vector]:
        self.left -= 1
        if self.left < 0:
            raise EncoderFailed("the encoder has gone")
        return WordEncoder().encode(texts, kind)


CLEAR: dict[str, Any] = {"relevance": True, "none_below": 0.0, "call_above": 0.0}


@pytest.mark.parametrize(("question", "made"), [(MEANT, ["weather"]), (NOT_MEANT, [])])
def test_meaning_decides_without_a_request(question: str, made: list[str]) -> None:
    model = Scripted(*([wire("Oslo")] if made else []))
    rules = set_with(**CLEAR)
    encoder = WordEncoder()
    reply = azent.select(question, [weather, pay], model, prompts=rules, encoder=encoder)
    assert [call.tool for call in reply.calls] == made
    assert len(model.heard) == len(made)
    assert encoder.encoded[0] == question


@pytest.mark.parametrize("after", [0, 1])
def test_an_encoder_that_fails_leaves_it_to_the_model(
    after: int, caplog: pytest.LogCaptureFixture
) -> None:
    rules = set_with("default", **CLEAR, shown=1)
    reply = azent.select(
        NOT_MEANT, [weather, pay], Scripted(wire("Oslo")), prompts=rules, encoder=Broken(after)
    )
    assert [call.tool for call in reply.calls] == ["weather"]
    assert "the encoder has gone" in caplog.text
    model = Scripted('{"tools": []}', "Hello.")
    agent = azent.Agent(model, [weather, pay], prompts=rules, encoder=Broken(after))
    events = list(agent.stream("Hi"))
    assert any(isinstance(e, Warning) and "all functions" in e.text for e in events)
    assert "pay" in str(model.heard[0])


@pytest.mark.parametrize("address", ["nonsense", "openai:", "gguf:x", ""])
def test_an_encoder_that_there_is_not_is_an_error_with_a_way_out(address: str) -> None:
    with pytest.raises(azent.AzentError) as caught:
        azent.Agent(Scripted(), [weather], encoder=address)
    assert caught.value.hint


def test_an_agent_ranks_once_a_question_and_tells_what_it_held_back() -> None:
    encoder = WordEncoder()
    model = Scripted("A tragedy.")
    agent = azent.Agent(model, [weather, pay], prompts=set_with(**CLEAR), encoder=encoder)
    answer = agent.ask(NOT_MEANT)
    assert (answer.text, len(model.heard)) == ("A tragedy.", 1)
    assert any("no function" in warning for warning in answer.warnings)
    assert [type(message) for message in answer.log[:2]] == [Question, Ranking]


def test_the_asynchronous_twin_asks_the_same() -> None:
    heard = []
    for is_async in (False, True):
        model = Scripted(wire("Oslo"), "Sunny.")
        agent = azent.Agent(model, [weather, pay], prompts=set_with(**CLEAR), encoder=WordEncoder())
        answer = asyncio.run(agent.aask(MEANT)) if is_async else agent.ask(MEANT)
        assert answer.text == "Sunny."
        heard.append([request.messages for request in model.heard])
    assert heard[0] == heard[1]


def test_a_stored_conversation_goes_on(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZENT_HOME", str(tmp_path))
    rules = set_with(**CLEAR)
    for question, text in ((MEANT, "Sunny."), ("and today?", "Sunny again.")):
        model = Scripted(wire("Oslo"), text)
        agent = azent.Agent(model, [weather, pay], prompts=rules, encoder=WordEncoder())
        answer = agent.ask(question, session="s")
    rankings = [message for message in answer.log if isinstance(message, Ranking)]
    assert [rank.in_context is None for rank in rankings] == [True, False]


def test_a_ranking_without_vectors_is_empty() -> None:
    terms = Terms(SPECS, set_with(**CLEAR), encoded=True)
    step = next_step((Question("Hi"),), terms)
    assert isinstance(step, Rank)
    assert len(step.passages) == len(SPECS) + len(BANK)
    assert ranked((Question("Hi"),), step, [], []) == (Question("Hi"), Ranking())


# ---- questions of figures ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "says_it"),
    [
        ("What is (2123 + 2321) * 312?", True),
        ("Was ist 17 mal 23?", True),
        ("17乘以23等于多少", True),
        ("Ile to jest 17 razy 23?", True),
        ("How much is 20% of 345?", True),
        ("Who won the cup in 2018?", False),
        ("Set a timer for 5 minutes", False),
        ("Tell me a joke", False),
        ("", False),
    ],
)
def test_of_a_question_of_figures_only_the_model_can_tell(question: str, says_it: bool) -> None:
    assert is_mostly_numbers(question) == says_it
    log = (Question(question), Ranking((("weather", -3.0),)))
    scope = scope_of(log, SPECS, set_with(**RULES), "auto")
    assert scope.relevance == ("unknown" if says_it else "none")
    assert bool(scope.specs) == says_it


@pytest.mark.parametrize(
    ("system", "relevance"),
    [
        ("Always use `pay` first.", "unknown"),
        ("Call pay() where money is due.", "unknown"),
        ("Help people pay their bills.", "none"),
        ("", "none"),
    ],
)
def test_a_system_text_may_say_itself_when_to_call(system: str, relevance: str) -> None:
    log = (Question("Who wrote Hamlet?"), Ranking((("weather", -3.0),)))
    assert scope_of(log, SPECS, set_with(**RULES), "auto", system).relevance == relevance


# ---- values that nobody named --------------------------------------------------------------------


def paid(name: str, amount: float) -> str:
    call = {"tool": "pay", "tool_input": {"name": name, "amount": amount}}
    return json.dumps({"tools": [call]})


PAY = "Pay a person some money"


@pytest.mark.parametrize(
    ("question", "amount", "is_asked"),
    [
        (PAY, 70.0, True),
        (f"{PAY}: 70 to Ann", 70.0, False),
        (f"{PAY}, 1.500,00 € please", 1500.0, False),
        (PAY, 1.0, False),
        (PAY, 0.0, False),
    ],
)
def test_a_call_with_a_number_that_nobody_named_is_asked_about(
    question: str, amount: float, is_asked: bool
) -> None:
    for said, made in (("yes", ["pay"]), ("no", [])):
        model = Scripted(paid("Ann", amount), *([said] if is_asked else []))
        reply = azent.select(
            question, [weather, pay], model, prompts=set_with(**CLEAR), encoder=WordEncoder()
        )
        assert len(model.heard) == 1 + is_asked
        assert [call.tool for call in reply.calls] == (made if is_asked else ["pay"])


def test_a_call_that_was_declined_afterwards_is_not_run_and_a_warning_says_so() -> None:
    model = Scripted(paid("Ann", 70.0), "no", "Whom, and how much?")
    ran: list[str] = []

    def pay(name: str, amount: float) -> None:
        """Pay a person some money."""
        ran.append(name)

    agent = azent.Agent(model, [weather, pay], prompts=set_with(**CLEAR), encoder=WordEncoder())
    answer = agent.ask(PAY)
    assert (answer.text, ran) == ("Whom, and how much?", [])
    assert any("pay was not called" in warning for warning in answer.warnings)
    assert "70" not in str(model.heard[-1].messages)


def test_a_number_from_earlier_in_the_conversation_was_named() -> None:
    log = (Question("I owe Ann 70"), Reply(text="Noted.", move="answer"))
    model = Scripted(paid("Ann", 70.0), "Paid.")
    agent = azent.Agent(model, [weather, pay], prompts=set_with(**CLEAR), encoder=WordEncoder())
    assert agent.ask(PAY, log).text == "Paid."


def test_a_long_system_text_hides_no_number_of_the_question() -> None:
    told = [
        {"role": "system", "content": "Be kind. " * 2000},
        {"role": "user", "content": f"{PAY}: 70"},
    ]
    model = Scripted(paid("Ann", 70.0))
    reply = azent.select(
        told, [weather, pay], model, prompts=set_with(**CLEAR), encoder=WordEncoder()
    )
    assert [call.tool for call in reply.calls] == ["pay"]
