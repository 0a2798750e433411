"""Words that go together though they are not alike: what is asked for, and what functions say.

Only for what is asked of functions most: sums, dates, weather, money, ways, files, reminders. A
question that says one of the first words is near to a function that says one of the second in its
name or description.
"""

from __future__ import annotations

import re

TOKEN = re.compile(r"[a-z]+")
ARITHMETIC = re.compile(r"\d\s*+\)*+\s*+[-+*/×÷^%]\s*+\(*+\s*+\d|\d\s*+%")


def _pair(asked: str, called: str) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(asked.split()), frozenset(called.split())


PAIRS = (
    _pair(
        "add added adding sum plus subtract minus difference multiply multiplied times product "
        "divide divided quotient percent percentage squared cubed root power half twice",
        "arithmetic calculator expression expressions",
    ),
    _pair(
        "today tomorrow yesterday time day days week weeks weekday month months year years "
        "date hour hours clock ago monday tuesday wednesday thursday friday saturday sunday",
        "date dates time clock calendar now today weekday",
    ),
    _pair(
        "rain raining rains rainy snow snowing cold hot warm sunny wind windy umbrella degrees "
        "humid storm cloudy outside",
        "weather forecast temperature climate",
    ),
    _pair(
        "usd eur gbp jpy chf dollar dollars euro euros yen pound pounds franc francs cents",
        "currency currencies exchange money",
    ),
    _pair(
        "km kilometer kilometers kilometre kilometres mile miles far distance",
        "distance distances route road roads far",
    ),
    _pair("plus sum total add added adding", "add adds sum plus addition"),
    _pair("minus subtract subtracted difference less", "subtract subtracts minus subtraction"),
    _pair("times product multiply multiplied", "multiply multiplies product multiplication"),
    _pair("divide divided quotient half", "divide divides quotient division"),
    _pair("odds chance chances likely likelihood", "probability probabilities"),
    _pair("average averages typical", "mean"),
    _pair(
        "file files folder folders directory desktop drive shortcut installed docker dir",
        "command commands shell terminal",
    ),
    _pair("remember remind forget", "todo todos reminder reminders task tasks note notes"),
    _pair("loud louder quiet quieter", "volume"),
)


def topics_asked(question: str) -> frozenset[int]:
    """The pairs of which a question says a first word; a sum in figures is one too."""
    tokens = frozenset(TOKEN.findall(question.lower()))
    sums = {0} if ARITHMETIC.search(question) else set()
    return frozenset(sums | {at for at, (asked, _) in enumerate(PAIRS) if asked & tokens})


def topics_called(name: str, description: str) -> frozenset[int]:
    """The pairs of which a function says a second word."""
    tokens = frozenset(TOKEN.findall(f"{name} {description}".lower().replace("_", " ")))
    return frozenset(at for at, (_, called) in enumerate(PAIRS) if called & tokens)
