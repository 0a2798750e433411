"""What the words of a question tell: which functions, how many calls, which inputs were said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import azent
from azent import prompt
from azent.log import turn_of
from azent.messages import Log, Question, Reply, Result
from azent.models import Scripted
from azent.prompt import PromptSet, WordRules
from azent.request import Terms
from azent.scope import Scope, scope_of
from azent.step import Ask, early, next_step
from azent.words import (
    brings_news,
    grounded,
    in_order,
    is_foreign,
    nearness,
    said,
    says_nothing_else,
    spoken_of,
    wanted,
    without_invented,
)
from azent.words.plain import content_words, question_words, same
from tests.test_prompt import write_set


def weather(city: str, unit: str = "celsius") -> str:
    """Get the current weather of a city."""
    return city + unit


def forecast(city: str, days: int) -> str:
    """Get the forecast of the weather for some days."""
    return f"{city}{days}"


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


SPECS = {f.__name__: azent.function_to_json(f) for f in (weather, forecast, multiply, add)}
RULES = WordRules(decline=True, always=True, nearest=2, joins=2, grounded="all", given=True)
CALL = '{"tools": [{"tool": "weather", "tool_input": {"city": "Oslo"}}]}'


def set_of(rules: WordRules = RULES) -> PromptSet:
    return replace(prompt.load("default"), words=rules)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("movie", "movies", True),
        ("divide", "division", False),
        ("multiply", "multiplying", True),
        ("sign", "signing", False),
        ("tax", "taxes", False),
        ("car", "cars", True),
        ("car", "care", False),
        ("weather", "whether", False),
        ("calculate", "calculator", True),
    ],
)
def test_forms_of_a_word(one: str, other: str, alike: bool) -> None:
    assert same(one, other) == same(other, one) == alike


@given(st.text(st.characters(categories=["Ll"]), min_size=1))
def test_a_word_is_itself(word: str) -> None:
    assert same(word, word)


def test_names_are_taken_apart_and_empty_words_left_out() -> None:
    assert content_words("getUserBalance of the account_id") == {"balance", "account"}


@pytest.mark.parametrize(
    ("question", "word", "there"),
    [
        ("What is (2123 + 2321) * 312?", "multiply", True),
        ("What is 2+3?", "sum", True),
        ("either/or", "divide", False),
        ("a * b", "multiply", False),
        ("How much is $5 in euro?", "currency", True),
    ],
)
def test_signs_are_words(question: str, word: str, there: bool) -> None:
    assert (word in question_words(question)) is there


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("What is the weather?", False),
        ("北京今天天气怎么样？", True),
        ("Wie heißt du?", False),
        ("", False),
    ],
)
def test_other_scripts(text: str, foreign: bool) -> None:
    assert is_foreign(text) is foreign


@pytest.mark.parametrize(
    ("question", "nearest"),
    [
        ("What is the weather like in Oslo?", "weather"),
        ("The forecast for the next three days, please", "forecast"),
        ("What is 17 * 23?", "multiply"),
        ("What is 17 + 23?", "add"),
    ],
)
def test_the_nearest_function(question: str, nearest: str) -> None:
    scores = nearness(question, SPECS).scores
    assert max(scores, key=lambda name: scores[name]) == nearest


@pytest.mark.parametrize(
    ("question", "function", "near"),
    [
        ("What is on my desktop?", "run: Executes a command in a shell.", True),
        ("Remind me to call Ann", "create: Adds a todo.", True),
        ("The odds of three heads?", "binomial: Probability of so many successes.", True),
        ("It is too loud", "set: Sets the volume.", True),
        ("What is on my desktop?", "create: Adds a todo.", False),
    ],
)
def test_what_goes_together_is_near(question: str, function: str, near: bool) -> None:
    name, _, description = function.partition(": ")
    spec = {"name": name, "description": description, "parameters": {}}
    assert bool(nearness(question, {name: spec}).shared) is near


@pytest.mark.parametrize(
    ("question", "near"),
    [
        ("Is it cold in Oslo?", {"weather", "forecast"}),
        ("What is the sum of 3 and 4?", {"add"}),
        ("What do I get for 3 times 4?", {"multiply"}),
    ],
)
def test_words_that_go_together(question: str, near: set[str]) -> None:
    scores = nearness(question, SPECS).scores
    assert {name for name, score in scores.items() if score} == near


@pytest.mark.parametrize("question", ["Who wrote Hamlet?", "", "Hello there!", "???"])
def test_nothing_in_common(question: str) -> None:
    assert nearness(question, SPECS).shared == 0


@pytest.mark.parametrize(
    ("question", "least", "most"),
    [
        ("Weather in Oslo?", 1, 1),
        ("Weather in Oslo and Rome?", 1, 8),
        ("Weather in Oslo and also in Rome?", 2, 8),
        ("First Oslo, second Rome, third Lima and then Paris", 3, 8),
    ],
)
def test_how_many_calls(question: str, least: int, most: int) -> None:
    count = wanted(question, {"weather": 1.0}, 2, 0.3)
    assert (count.least, count.most) == (least, most)


@pytest.mark.parametrize(
    ("question", "least"),
    [
        ("salt and pepper and oil", 1),
        ("salt and pepper and oil and vinegar", 2),
        ("three kinds of salt and pepper and oil", 1),
        ("salt and also pepper", 2),
        # What stands in quotes is a value, unless everything does.
        ("the film 'Salt and also Pepper and Oil'", 1),
        ('"salt and also pepper"', 2),
        ("it's salt and he's also 5'11\" and pepper", 2),
        ('a 11" pan and also a 12" pot', 2),
    ],
)
def test_a_strict_count_wants_a_strong_word_or_one_more(question: str, least: int) -> None:
    assert wanted(question, {"mix": 1.0}, 2, 0.3, strict=True).least == least


def test_functions_that_are_spoken_of_count() -> None:
    assert wanted("this and that and more", {"a": 2, "b": 1, "c": 0.1}, 2, 0.3).least == 2
    assert wanted("this and that and more", {"a": 2, "b": 1, "c": 1}, 2, 0.3).least == 3


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        (5, "five apples", True),
        (0.05, "at 5 %", True),
        (2000, "two thousand, or 2,000", True),
        (3, "the list 1,2,3", True),
        (7200, "in 2 hours", True),
        (17, "some apples", False),
        (-5, "minus 5", True),
        ("Oslo", "weather in oslo", True),
        ("Oslo, Norway", "weather in Oslo", True),
        ("2024-05-01", "on May 1st 2024", True),
        ("Paris", "weather in Oslo", False),
        ("", "anything", None),
        (None, "anything", None),
        (True, "anything", None),
        (["Oslo", "Rome"], "Oslo and Rome", True),
        (["Oslo", "Rome", "Lima"], "Oslo", False),
        ({"city": "Oslo"}, "Oslo", True),
        ([], "anything", None),
        # Numbers beyond those of the machine.
        (10**400, f"all {10**400} of them", True),
        (-(10**400), "a few", False),
        (17, "9" * 400, False),
        # Short words have forms too.
        ("as is", "a s", True),
        ("ox", "two oxs", True),
        ("(2 + 3) * 4", "how warm is it", False),
        ("(2 + 3) * 4", "what is 2 and 3, times 4", True),
        ("???", "how warm is it", True),
        # Codes and units for words, and the other way about.
        ("CAD", "150 euros to Canadian dollars", True),
        ("JPY", "How much are 5 dollars in yen?", True),
        ("GBP", "I have £20", True),
        ("USD", "I have £20", False),
        ("USD", "Tell us what 20 pounds are", False),
        ("cm", "24 inches in centimeters", True),
        ("in", "24 inches", True),
        ("kg", "24 inches", False),
        ("imperial", "in Fahrenheit, please", True),
        # Dates.
        ("2024-03-07", "on the 7th", True),
        ("03/04/2023", "some day in March", True),
        ("2024-03-07", "on the 8th of April", False),
        ("2024-03-07 09:00:00", "It is 2024/02/21. Somebody of 25", False),
        ("2024-03-07", "It is 2024/02/21. Somebody for tomorrow", True),
        ("2024-03-07", "on 3/7/2024", True),
        # Initials.
        ("Los Angeles, CA", "a hotel in LA", True),
        ("San Francisco", "around SF", True),
        ("Lake Anna", "a hotel in LA, then SF", True),
        ("Santiago", "a hotel in LA", False),
        # Numbers in words, and bounds.
        ("2", "two smoking rooms", True),
        ("2", "ten smoking rooms", False),
        (90, "ninety dollars", True),
        (3600, "the last hour", True),
        (0, "it starts from rest", True),
        (0, "it starts from a standstill", True),
        # Months by name, hours in the evening, powers of ten.
        (2, "the hosts of February", True),
        (5, "You may come", False),
        ("23:00", "an alarm for 11 pm", True),
        ("23:00", "an alarm for 11 am", False),
        (-1.6e-19, "a charge of 1.6 x 10^-19", True),
        (1.6e-18, "a charge of 1.6 x 10^-19", False),
        # Typing errors, and names whose parts are set apart.
        ("Berkeley", "a hotel in Berkley", True),
        ("Chicago", "the weather in Chcicago", True),
        ("Paris", "the weather in Pairs", False),
        ("McDonald's", "order from mc donalds", True),
        # An article is one, and nothing else.
        (1, "a product", True),
        (100, "a product", False),
        (0, "a product", False),
        (12, "compounded monthly", True),
        (4, "fewer than 5 ingredients", True),
        (6, "fewer than 4 ingredients", False),
    ],
)
def test_what_was_said(value: Any, text: str, found: bool | None) -> None:
    assert said(value, text) is found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, st.text(), JSON)
def test_no_value_and_no_schema_raises(value: Any, text: str, schema: Any) -> None:
    parameters = {"properties": {"p": schema}, "required": ["p"]}
    assert grounded({"p": value}, parameters, text) in (True, False)
    assert without_invented({"p": value}, parameters, text) == {"p": value}


@given(JSON, JSON, JSON)
def test_no_shape_of_a_schema_raises(properties: Any, required: Any, part: Any) -> None:
    """Schemas come from anywhere; what is wrong with one is told where it is rendered."""
    inner = {"enum": part, "description": part, "items": part, "required": part}
    for known in (properties, {"p": inner}, {"p": {"properties": properties, **inner}}):
        parameters = {"properties": known, "required": required}
        specs: Any = {"f": {"name": "f", "description": part, "parameters": parameters}}
        assert nearness("What is f?", specs).scores.keys() == {"f"}
        grounded({"p": {"p": 1}}, parameters, "p is 1")
        without_invented({"p": {"p": 1}}, parameters, "p is 1")


def test_a_function_without_a_description_has_no_words_in_it() -> None:
    parameters = {"properties": {"p": {"description": None}}}
    specs: Any = {"f": {"name": "f", "description": None, "parameters": parameters}}
    assert nearness("None of them", specs).shared == 0


LONG = " ".join(f"word{at} {at}" for at in range(3_000))


@pytest.mark.parametrize(
    "text", [f"5{' ' * 200_000}", f"5{')' * 200_000}", "5 )" * 50_000, "a" * 200_000, LONG]
)
def test_long_texts_take_no_longer_than_their_length(text: str) -> None:
    """Were each word or gap held against each other one, this would go on for minutes."""
    question_words(text)
    nearness(text, SPECS)
    in_order(text, SPECS)
    assert said(" ".join(f"other{'x' * at}" for at in range(300)), text) is False
    assert not brings_news({"city": "Oslo"}, [], text)


PARAMETERS = {
    "properties": {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "default": 3},
        "loud": {"type": "boolean"},
        "tags": {"type": "array"},
    },
    "required": ["city", "unit"],
}


@pytest.mark.parametrize(
    ("tool_input", "held"),
    [
        ({"city": "Oslo", "unit": "celsius"}, True),
        ({"city": "Paris", "unit": "celsius"}, False),
        ({"unit": "fahrenheit"}, True),
        ({"city": "Oslo", "unit": "celsius", "days": 99}, True),
    ],
)
def test_required_inputs_have_to_be_said(tool_input: dict[str, Any], held: bool) -> None:
    assert grounded(tool_input, PARAMETERS, "Weather in Oslo") is held


@pytest.mark.parametrize(
    ("tool_input", "before", "text", "news"),
    [
        ({"city": "Rome"}, [{"city": "Oslo"}], "Oslo or Rome", True),
        ({"city": "Lima"}, [{"city": "Oslo"}], "Oslo or Rome", False),
        ({"city": "Oslo", "days": 3}, [{"city": "Oslo"}], "Oslo, 3 days", True),
        ({"city": "Oslo", "days": 3.0}, [{"city": "Oslo", "days": 3}], "Oslo, 3 days", False),
        ({"in": ["Oslo", {"and": "Rome"}]}, [{"city": "Oslo"}], "Oslo or Rome", True),
        ({"loud": True, "none": None, "empty": ""}, [], "true", False),
        # Said as a part of another word or figure is not said.
        ({"mass": 0}, [{"mass": 10}], "10 kg and 20 kg", False),
        ({"mass": 20}, [{"mass": 10}], "10 kg and 20 kg", True),
        ({"place": "Canada"}, [{"place": "the forests of Canada"}], "forests of Canada", False),
        ({"place": "Chicago, IL"}, [{"place": "Boston, MA"}], "Boston and Chicago", True),
        # Names that are not in plain letters.
        # Codes for what the text says in words.
        ({"to": "GBP"}, [{"to": "USD"}], "5 euros in dollars, and in pounds", True),
        ({"to": "JPY"}, [{"to": "USD"}], "5 euros in dollars, and in pounds", False),
        ({"to": "USD"}, [{"to": "USD"}], "5 euros in dollars, and in pounds", False),
        ({"city": "大阪"}, [{"city": "東京"}], "Weather in 東京 and 大阪", True),
        ({"city": "東京"}, [{"city": "東京"}], "Weather in 東京 and 大阪", False),
        ({"city": "Łódź"}, [{"city": "Kraków"}], "Weather in Kraków and Łódź", True),
        # Numbers in another unit, or with thousands set apart; an article is none.
        ({"sum": 700000}, [{"sum": 500000}], "$500,000, then $700,000", True),
        ({"share": 0.3}, [{"share": 0.2}], "20% and 30%", True),
        ({"count": 1}, [{"count": 5}], "a box of 5", False),
        # Lists of numbers that stand in the text as they are.
        ({"v": [3, 2, 1]}, [{"v": [1, 2, 3]}], "[1, 2, 3] and [3, 2, 1]", True),
        ({"v": [2, 1, 3]}, [{"v": [1, 2, 3]}], "[1, 2, 3] and [3, 2, 1]", False),
        ({"a": 1, "b": 2, "c": 1}, [{"a": 2, "b": 1, "c": 2}], "2, 1, 2, then 1, 2, 1", True),
        ({"a": 36, "b": 60}, [{"a": 36, "b": 48}, {"a": 60, "b": 96}], "36, 48; 60, 96", False),
        ({"v": [], "n": 10**400}, [{"v": [1]}], "1, then 5", False),
        ({"v": [[3, 2], [1, 0]]}, [{"v": [[0, 1], [2, 3]]}], "0, 1, 2, 3 or 3, 2, 1, 0", True),
    ],
)
def test_a_further_call_brings_news(
    tool_input: dict[str, Any], before: list[dict[str, Any]], text: str, news: bool
) -> None:
    assert brings_news(tool_input, before, text) is news


def test_codes_say_nothing_that_their_words_do_not() -> None:
    asked = "Convert 100 euros to pounds and to yen"
    assert says_nothing_else({"amount": 100, "from": "EUR", "to": "JPY"}, asked)
    assert not says_nothing_else({"amount": 100, "from": "EUR", "to": "CHF"}, asked)


@pytest.mark.parametrize(
    ("tool_input", "held"),
    [
        ({"city": "Lima, Peru"}, True),
        ({"cities": ["Oslo, Norway", "Lima"]}, True),
        ({"at": {"city": "Oslo, New York"}}, True),
        ({"city": "Tokyo, Japan"}, False),
        ({"city": "Oslo, lima beans"}, False),
        ({"city": "Oslo, Rome, Lima"}, False),
    ],
)
def test_where_a_place_lies_need_not_be_said(tool_input: dict[str, Any], held: bool) -> None:
    assert says_nothing_else(tool_input, "Weather in Oslo and in Lima") is held


def test_choices_need_not_be_said_by_their_names() -> None:
    sizes = {"type": "string", "enum": ["small", "large"]}
    properties = {"one": sizes, "many": {"type": "array", "items": sizes}, "free": {}}
    order = {"properties": properties, "required": list(properties)}
    assert grounded({"one": "large", "many": ["small"]}, order, "the biggest, please")
    assert not grounded({"free": "large"}, order, "the biggest, please")


def test_what_is_known_of_a_place_need_not_be_said() -> None:
    properties = {"city": {"type": "string"}, "state": {"type": "string"}}
    place = {"properties": properties, "required": ["city", "state"]}
    assert grounded({"city": "Miami", "state": "Florida"}, place, "sights of Miami")
    assert not grounded({"city": "Tampa", "state": "Florida"}, place, "sights of Miami")
    alone = {"properties": properties, "required": ["state"]}
    assert not grounded({"state": "Florida"}, alone, "sights of Miami")


@pytest.mark.parametrize(
    ("description", "held"),
    [
        ("Allows one of: 5m|15m|1d|1wk", True),
        ("Possible options [1d, 1wk]", True),
        ("Either '1wk' or '1d'", True),
        ("How long, e.g. 1wk", False),
        ("One of 1mo, 3mo", False),
        ("How long", False),
    ],
)
def test_what_a_description_lists_need_not_be_said(description: str, held: bool) -> None:
    interval = {"type": "string", "description": description}
    history = {"properties": {"interval": interval}, "required": ["interval"]}
    assert grounded({"interval": "1wk"}, history, "the weekly prices") is held


def test_half_of_the_inputs_may_be_enough() -> None:
    required = {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}
    for share, held in [(1.0, False), (0.5, True), (0.0, True)]:
        assert grounded({"a": "Oslo", "b": "Rome"}, required, "Oslo", share) is held


def optional(schema: dict[str, Any], name: str = "p") -> dict[str, Any]:
    return {"properties": {name: schema}, "required": []}


SWITCH = {"type": "boolean"}
WORDED_SWITCH = {"type": "string", "enum": ["True", "False", "dontcare"]}
CODES = {"type": "integer", "description": "Kind of work. For example, 1 for cleaning, 2: ironing"}
UNIT = {"type": "string", "default": "celsius"}
BODY = {
    "type": "object",
    "properties": {"mode": {"type": "string"}, "swing": SWITCH, "id": {"type": "string"}},
    "required": ["id"],
}


@pytest.mark.parametrize(
    ("name", "schema", "value", "text", "left"),
    [
        ("days", {"type": "integer"}, 5, "for 5 days", 5),
        ("days", {"type": "integer"}, 3, "for 5 days", None),
        ("tags", {"type": "array"}, [], "no tags", None),
        ("unknown", None, 1, "anything", 1),
        # A switch has no value that could be said: what it is for is spoken of.
        ("include_hidden", SWITCH, True, "all files", None),
        ("include_hidden", SWITCH, True, "all files, hidden ones too", True),
        ("has_garage", SWITCH, False, "there is no need for a garage", False),
        ("has_laundry_service", WORDED_SWITCH, "True", "with laundry service", "True"),
        ("has_laundry_service", WORDED_SWITCH, "True", "with a garden", None),
        ("fast", {**SWITCH, "description": "whether speed matters"}, True, "at full speed", True),
        # A code in capitals may stand for a name.
        ("state", {"type": "string"}, "CA", "in San Jose, California", "CA"),
        ("city", {"type": "string"}, "NYC", "in New York City", "NYC"),
        ("country", {"type": "string"}, "US", "focus on London", None),
        ("airport", {"type": "string"}, "SFO", "a flight from San Francisco", "SFO"),
        ("airport", {"type": "string"}, "JFK", "a flight from San Francisco", None),
        ("stock", {"type": "string"}, "AAPL", "the stock of Apple", "AAPL"),
        # A formula may be written in other signs.
        ("f", {"type": "string"}, "lambda x: 3*x**2", "f(x) = 3x^2", "lambda x: 3*x**2"),
        ("f", {"type": "string"}, "lambda x: 3*x**5", "f(x) = 3x^2", None),
        # What was said stays, also where it is what would be taken anyway.
        ("unit", UNIT, "celsius", "Weather in Oslo", None),
        ("unit", UNIT, "celsius", "Weather in Oslo in Celsius", "celsius"),
        # An article is no number, but before a time.
        ("count", {"type": "integer"}, 1, "book a room at 10 a.m.", None),
        ("hours", {"type": "integer"}, 1, "in an hour", 1),
        # A number may stand for what its description says.
        ("kind", CODES, 2, "an ironing service", 2),
        ("kind", CODES, 1, "an ironing service", None),
        ("kind", CODES, 3, "an ironing service", None),
        # A choice is read as the words that it is made of.
        ("mode", {"enum": ["AIR_DRY", "COOL"]}, "AIR_DRY", "the dry mode please", "AIR_DRY"),
        # A choice may be said in words of its own, where what it is for is spoken of.
        ("windStrength", {"enum": ["LOW", "HIGH"]}, "HIGH", "with the strongest wind", None),
        ("windStrength", {"enum": ["LOW", "HIGH"]}, "HIGH", "strongest wind strength", "HIGH"),
        ("windStrength", {"type": "string"}, "HIGH", "strongest wind strength", None),
        # What stands inside an object is judged in the same way.
        ("body", BODY, {"id": "7", "swing": True}, "cool number 7", {"id": "7"}),
        ("body", BODY, {"id": "7", "mode": "cool"}, "cool 7", {"id": "7", "mode": "cool"}),
    ],
)  # fmt: skip
def test_optional_inputs_that_were_not_said_are_left_out(
    name: str, schema: Any, value: Any, text: str, left: Any
) -> None:
    kept = without_invented({name: value}, optional(schema, name), text)
    assert kept == ({} if left is None else {name: left})


def test_words_that_one_input_surely_takes_are_not_given_to_another() -> None:
    song = {"properties": {key: {"type": "string"} for key in ("title", "album", "artist")}}
    told = {"artist": "Captured", "album": "Captured"}
    assert without_invented(told, song, "a song from the album Captured") == {"album": "Captured"}
    assert without_invented(told, song, "something of Captured") == told
    assert without_invented(told, song, "Captured, the album of that artist") == told
    required = {**song, "required": ["title"]}
    told = {"title": "Captured", "album": "Captured"}
    assert without_invented(told, required, "play Captured") == {"title": "Captured"}


def test_what_other_inputs_are_described_by_too_tells_nothing_of_a_switch() -> None:
    files = {"type": "string", "description": "the kind of files"}
    hidden = {**SWITCH, "description": "whether hidden files are listed"}
    parameters = {"properties": {"kind": files, "hidden": hidden}, "required": []}
    assert without_invented({"hidden": True}, parameters, "show all files") == {}


@pytest.mark.parametrize(
    ("question", "order", "spoken"),
    [
        ("the news, then the weather", ["get_news", "get_weather"], {"get_news", "get_weather"}),
        ("weather in Oslo, and the news", ["get_weather", "get_news"], {"get_weather", "get_news"}),
        ("hello", ["get_weather", "get_news"], set()),
    ],
)
def test_functions_as_a_question_speaks_of_them(
    question: str, order: list[str], spoken: set[str]
) -> None:
    names = ("get_weather", "get_news")
    specs: dict[str, Any] = {name: {"name": name, "parameters": {}} for name in names}
    assert in_order(question, specs) == order
    assert spoken_of(question, specs) == spoken


def test_what_a_code_stands_for_is_said() -> None:
    required = {"properties": {"kind": CODES}, "required": ["kind"]}
    assert grounded({"kind": 2}, required, "somebody for the ironing")
    assert not grounded({"kind": 1}, required, "somebody for the ironing")


# ---- what becomes of a decision ------------------------------------------------------------------


def scope(question: str, rules: WordRules = RULES, *before: str, choice: str = "auto") -> Scope:
    log = tuple(Question(text) for text in (*before, question))
    return scope_of(log, SPECS, set_of(rules), choice)


@pytest.mark.parametrize(
    ("question", "names", "least", "most"),
    [
        ("What is 17 * 23?", ["multiply"], 1, 1),
        ("Who wrote Hamlet?", [], 0, None),
        ("Weather in Oslo and also the forecast for Rome", ["weather", "forecast"], 2, 8),
        ("北京今天天气怎么样？", list(SPECS), 0, None),
    ],
)
def test_a_decision_is_narrowed_down(
    question: str, names: list[str], least: int, most: int | None
) -> None:
    found = scope(question)
    assert (list(found.specs), found.least, found.most) == (names, least, most)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("What is 17 * 23?", "by its words the question asks for one call, of: multiply"),
        ("Who wrote Hamlet?", "the question shares no word with a function, so none is called"),
        (
            "Weather in Oslo and also the forecast for Rome",
            "by its words the question asks for several calls, of: weather, forecast",
        ),
        ("北京今天天气怎么样？", ""),
    ],
)
def test_what_words_decided_is_said(question: str, why: str) -> None:
    assert scope(question).why == why


def test_without_rules_everything_is_open() -> None:
    assert scope("Who wrote Hamlet?", WordRules()) == Scope(SPECS)


def test_what_the_caller_demands_is_not_narrowed_down() -> None:
    assert scope("Who wrote Hamlet?", choice="required") == Scope(SPECS)


@pytest.mark.parametrize(
    ("before", "question", "name"),
    [
        (["What is the weather in Oslo?"], "And in Rome?", "weather"),
        (["What is 3 times 4?", "What is the weather in Oslo?"], "And in Rome?", "weather"),
        (["What is the weather in Oslo?"], "What is 3 times 4?", "multiply"),
        (["What is 2 + 3?"], "And 40?", "add"),
    ],
)
def test_the_question_before_tells_what_it_is_about(
    before: list[str], question: str, name: str
) -> None:
    assert list(scope(question, replace(RULES, nearest=1), *before).specs) == [name]


@pytest.mark.parametrize("question", ["Thanks!", "Thank you very much, that is great.", "Ok."])
def test_a_word_of_thanks_takes_nothing_up(question: str) -> None:
    assert scope(question, RULES, "What is the weather in Oslo?").specs == {}
    assert scope("And in Rome?").specs == {}


@pytest.mark.parametrize(
    ("question", "declined"),
    [
        ("Wer hat den Hamlet geschrieben, und wann?", False),
        ("Quel temps fait-il à Oslo ?", False),
        ("¿Qué tiempo hace en Oslo?", False),
        ("Hoe warm is het in Oslo?", False),
        ("Who was Molière?", True),
        ("Hello!", True),
        ("sghrtejtrjrj", True),
    ],
)
def test_a_question_in_another_language_is_left_to_the_model(question: str, declined: bool) -> None:
    assert (scope(question).specs == {}) is declined


def test_a_system_text_that_names_functions_decides() -> None:
    log = (Question("Who wrote Hamlet?"),)
    name = next(iter(SPECS))
    assert not scope_of(log, SPECS, set_of(RULES), "auto", "You are a poet.").specs
    assert scope_of(log, SPECS, set_of(RULES), "auto", f"Else call `{name}`.") == Scope(SPECS)
    assert not scope_of(log, SPECS, set_of(RULES), "auto", "You know the weather.").specs


def test_what_a_model_has_to_write_it_may_write() -> None:
    rules = replace(RULES, pressed=12, doubted=11)
    sure = scope("Weather in Oslo and also the forecast for Rome", rules)
    doubted = scope("Weather in Oslo and Rome", rules)
    assert [(each.pressed, each.most) for each in (sure, doubted)] == [(12, 12), (11, 11)]


def test_a_function_that_shares_nothing_is_not_offered() -> None:
    assert list(scope("Is it raining?", replace(RULES, nearest=2)).specs) == ["weather", "forecast"]
    left = scope("Multiply six by seven", replace(RULES, nearest=3, lead=9.0)).specs
    assert list(left) == ["multiply"]


def test_no_request_is_made_where_nothing_is_in_common() -> None:
    model = Scripted()
    assert azent.select("Who wrote Hamlet?", [weather], model, prompts=set_of()).calls == ()
    assert model.heard == []
    agent = azent.Agent(Scripted("Shakespeare."), [weather], prompts=set_of())
    assert agent.ask("Who wrote Hamlet?").text == "Shakespeare."


def calls(question: str, reply: str, *functions: Any) -> list[Any]:
    selected = azent.select(question, functions or [weather], Scripted(reply), prompts=set_of())
    return [(call.tool, call.tool_input) for call in selected.calls]


def test_calls_with_invented_inputs_are_not_made() -> None:
    assert calls("What is the weather in Oslo?", CALL) == [("weather", {"city": "Oslo"})]
    assert calls("How does weather come about?", CALL) == []


def test_optional_inputs_and_doubles_are_left_out() -> None:
    one = '{"tool": "weather", "tool_input": {"city": "Oslo", "unit": "kelvin"}}'
    found = calls("The weather in Oslo and then and then?", f'{{"tools": [{one}, {one}]}}')
    assert found == [("weather", {"city": "Oslo"})]


def kept(question: str, *inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """What is left of calls of `weather`, where further calls have to add something."""
    made = [{"tool": "weather", "tool_input": each} for each in inputs]
    model = Scripted(json.dumps({"tools": made}))
    prompts = set_of(replace(RULES, news=True, strict=True))
    return [
        call.tool_input for call in azent.select(question, [weather], model, prompts=prompts).calls
    ]


DOUBT, SURE = "The weather in Oslo and in Rome, in kelvin", "In Oslo and then in Rome, in kelvin"


@pytest.mark.parametrize("question", [DOUBT, f"The weather? {SURE}"])
def test_a_further_call_has_to_add_something(question: str) -> None:
    oslo, rome = {"city": "Oslo"}, {"city": "Rome"}
    assert kept(question, oslo, {"city": "oslo "}) == [oslo]
    assert kept(question, oslo, rome, oslo) == [oslo, rome]


def test_where_one_may_be_due_a_call_that_only_adds_to_another_is_left_out() -> None:
    oslo, kelvin = {"city": "Oslo"}, {"city": "Oslo", "unit": "kelvin"}
    assert kept(DOUBT, oslo, kelvin) == [oslo]
    assert kept(f"The weather? {SURE}", oslo, kelvin) == [oslo, kelvin]


def test_what_is_left_out_is_told() -> None:
    reply = azent.select(
        "How does weather come about?", [weather], Scripted(CALL), prompts=set_of()
    )
    assert reply.repairs == ("a call of weather was left out: nothing said asks for it",)


def test_later_decisions_are_free() -> None:
    more = '{"tools": [{"tool": "add", "tool_input": {"a": 10, "b": 99}}]}'
    model = Scripted(CALL, more, '{"tools": []}', "Done.")
    answer = azent.Agent(model, [weather, add], prompts=set_of()).ask(
        "What is the weather in Oslo?"
    )
    assert [call.tool for call in answer.calls] == ["weather", "add"]


def test_what_begins_early_is_held_to_the_same() -> None:
    terms = Terms(SPECS, set_of(), readonly=frozenset(SPECS))
    log: Log = (Question("How does weather come about?"),)
    certain = [azent.Call("weather", {"city": "Oslo"})]
    assert early(log, certain, terms) == ()
    assert early((Question("Weather in Oslo?"),), certain, terms)[0].tool_input == {"city": "Oslo"}


def test_results_and_the_system_text_count_as_said() -> None:
    before = (
        Question("Where am I?"),
        Reply(calls=(azent.Call("here", {}, id="1"),)),
        Result("here", "Oslo", id="1"),
        Reply(text="In Oslo.", move="answer"),
    )
    terms = Terms(SPECS, set_of(), readonly=frozenset(SPECS))
    certain = [azent.Call("weather", {"city": "Oslo"})]
    log = (*before, Question("And the weather?"))
    assert len(early(log, certain, terms)) == 1
    assert len(early(log[-1:], certain, replace(terms, system="The user is in Oslo."))) == 1
    assert turn_of(log) == log[-1:]


def test_held_to_as_many_calls_as_the_words_want() -> None:
    terms = Terms(SPECS, set_of())
    step = next_step((Question("Weather in Oslo and also the forecast for Rome"),), terms)
    assert isinstance(step, Ask)
    assert step.format is not None
    assert step.format["properties"]["tools"]["minItems"] == 2


@pytest.mark.parametrize(
    ("settings", "said_"),
    [
        ("[words]\nnearest = 2.5", r"toml:2: nearest is 2.5, and must be a whole number"),
        ("[words]\nlead = true", r"toml:2: lead is True, and must be a number"),
        ("[words]\nnearest = -1", r"toml:2: nearest is -1, and must be a whole number, 0 or more"),
        ("[words]\nlead = -0.5", r"toml:2: lead is -0.5, and must be a number, 0 or more"),
        ("[words]\nnear = nan", r"toml:2: near is nan, and must be a number, 0 or more"),
        ("[words]\nmany = 1", r"toml:2: there is no setting 'many'"),
        ("words = 3", r"toml:1: words is 3, and must be a table"),
    ],
)
def test_rules_that_are_none(tmp_path: Any, settings: str, said_: str) -> None:
    with pytest.raises(azent.PromptError, match=said_):
        prompt.load(write_set(tmp_path / "mine", settings))


def test_rules_are_read(tmp_path: Any) -> None:
    folder = write_set(tmp_path / "mine", "[words]\nnearest = 3\nlead = 2\ndecline = true")
    assert prompt.load(folder).words == WordRules(nearest=3, lead=2.0, decline=True)
