"""What speaks for a tuned set: where it came from, and how it did on the cases set aside. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from azent import __version__
from azent.evaluate import Row, as_json
from azent.prompt import PromptSet
from azent.tune.board import Score
from azent.tune.run import Tuned
from azent.wording import counted

PATTERN_SIGNS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class About:
    """What a tuned set is called, and how it came about: the day, and what was typed."""

    name: str
    date: str
    command: str = ""


def tuned_set(tuned: Tuned, about: About) -> PromptSet:
    """The winner under its new name, for the model that it was tuned for."""
    return replace(
        tuned.prompts,
        name=about.name,
        description=f"tuned for {tuned.model}: {_figures(tuned.winner)}",
        models=patterns(tuned.model),
        folder=None,
    )


def patterns(model: str) -> tuple[str, ...]:
    """The patterns that fit a model's name and no other; a name without a tag means latest."""
    bare = model.removesuffix(":latest")
    names = (model,) if ":" in bare else (bare, f"{bare}:latest")
    return tuple(PATTERN_SIGNS.sub(r"[\g<0>]", name) for name in names)


def remark(tuned: Tuned, about: About) -> str:
    """The evidence in a few lines, for the head of the settings."""
    return "\n".join(_lines(tuned, about))


def _lines(tuned: Tuned, about: About) -> Iterator[str]:
    found = tuned.found
    yield f"Tuned by azent {__version__} on {about.date}. All figures are in evidence.json."
    yield f"The best of {counted(len(found.tried), 'set')} tried: {found.winner.name}"
    yield f"On {counted(tuned.winner.all.count, 'case')} set aside: {_figures(tuned.winner)}"
    for verdict in tuned.verdicts:
        yield f"The set {tuned.start.prompts} on the same: {_figures(tuned.start)}"
        yield str(verdict)
    if about.command:
        yield about.command


def _figures(row: Row) -> str:
    low, high = row.interval
    return f"mean {row.mean:.2f} ({low:.2f}-{high:.2f}), {row.prompt_tokens:.0f} prompt tokens"


def evidence(tuned: Tuned, about: About) -> dict[str, Any]:
    """All of the evidence, as plain JSON values."""
    found = tuned.found
    return {
        "name": about.name,
        "date": about.date,
        "azent": __version__,
        "command": about.command,
        "model": {"name": tuned.model, "digest": tuned.digest},
        "start": tuned.start.prompts,
        "winner": found.winner.name,
        "set_aside": {
            "cases": len(tuned.halves.aside),
            **as_json(tuned.judged, tuned.verdicts),
        },
        "search": {
            "cases": len(tuned.halves.search),
            "asked": found.spent,
            "tried": [_score(each) for each in found.tried],
        },
    }


def _score(score: Score) -> dict[str, Any]:
    return {
        "prompts": score.candidate.name,
        "cases": score.cases,
        "mean": score.mean,
        "prompt_tokens": score.tokens,
    }
