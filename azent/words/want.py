"""How many calls a question asks for, by the words that join its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST = 8
JOINING = re.compile(
    r"\b(and|also|additionally|then|finally|after that|plus|as well as|both|respectively|another"
    r"|second|third|secondly|thirdly|next|lastly|followed by|each)\b",
    re.IGNORECASE,
)
STRONG = re.compile(
    r"\b(also|additionally|then|finally|after that|as well as|both|respectively|another|second"
    r"|third|secondly|thirdly|lastly|moreover|furthermore|each)\b",
    re.IGNORECASE,
)
# Words in quotes are a value: what they join are no things to do.
QUOTED = re.compile(r"(?<!\w)\"[^\"\n]*\"(?!\w)|(?<!\w)'[^'\n]*'(?!\w)|“[^”\n]*”")
WHOLLY_QUOTED = re.compile(r"[\"'“](.*)[\"'”]", re.DOTALL)
ORDINALS = {
    "second": 2,
    "secondly": 2,
    "2nd": 2,
    "third": 3,
    "thirdly": 3,
    "3rd": 3,
    "fourth": 4,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many calls are asked for, at least and at most."""

    least: int
    most: int


def _is_sure(question: str) -> bool:
    """Do the joining words, three or two and a strong one, leave no doubt of several things?"""
    found = len(JOINING.findall(question))
    return found > 2 or (found == 2 and bool(STRONG.search(question)))


def wanted(
    question: str,
    scores: Mapping[str, float],
    joins: int,
    mentioned: float,
    *,
    strict: bool = False,
) -> Wanted:
    """One call where nothing is joined; several from so many joining words on.

    Where it is `strict`, they have to leave no doubt. Then at least as many as there are functions
    with a score of `mentioned` times the best one, and as the highest ordinal says.
    """
    question = _without_quotes(question)
    found = len(JOINING.findall(question))
    if found < joins or (strict and not _is_sure(question)):
        return Wanted(1, MOST if found else 1)
    best = max(scores.values(), default=0.0)
    near = sum(score >= mentioned * best for score in scores.values()) if best else 1
    said = max((ORDINALS.get(word, 1) for word in re.findall(r"\w+", question.lower())), default=1)
    least = max(2, near, said)
    return Wanted(least, max(MOST, least))


def _without_quotes(question: str) -> str:
    whole = WHOLLY_QUOTED.fullmatch(question.strip())
    return QUOTED.sub(" ", whole.group(1) if whole else question)
