"""Which functions a question is near to: how many of its words they share, and how rare these are.

A word in a function's name counts more than one in its description, and that more than one in the
description of an input. A word that all functions share tells little about which one is meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from azent.messages import Spec, Specs
from azent.words.plain import by_beginning, content_words, question_words, same
from azent.words.related import topics_asked, topics_called

LONGEST_KEPT = 20_000  # characters: clients may send functions of any size
IN_NAME, IN_DESCRIPTION, ELSEWHERE = 2.0, 1.0, 0.5


@dataclass(frozen=True, slots=True)
class Near:
    """How near a question is to each function, by name; `shared`, the most words in common."""

    scores: Mapping[str, float]
    shared: int

    @property
    def ranked(self) -> tuple[str, ...]:
        """The functions that the question is near to at all, the nearest first."""
        near = filter(self.scores.get, self.scores)
        return tuple(sorted(near, key=lambda name: -self.scores[name]))


Words: TypeAlias = Mapping[str, list[str]]  # by how they begin


@dataclass(frozen=True, slots=True)
class _Known:
    """The words of a function."""

    name: Words
    description: Words
    anywhere: Words
    topics: frozenset[int]


def nearness(question: str, specs: Specs) -> Near:
    """How near a question is to each function."""
    asked = by_beginning(sorted(question_words(question)))
    known = {name: _known(spec) for name, spec in specs.items()}
    scores = {name: _share_of_name(asked, words) for name, words in known.items()}
    shared = dict.fromkeys(specs, 0)
    for word in _all(asked):
        weights = {name: _weight(word, words) for name, words in known.items()}
        having = [name for name, weight in weights.items() if weight]
        for name in having:
            shared[name] += 1
            scores[name] += weights[name] * math.log(1 + len(specs) / len(having))
    for topic in topics_asked(question):
        for name in [name for name, words in known.items() if topic in words.topics]:
            shared[name] += 1
            scores[name] += ELSEWHERE
    return Near(scores, max(shared.values(), default=0))


def spoken_of(question: str, specs: Specs) -> frozenset[str]:
    """The names of functions of which a question has a word that no other one has."""
    return frozenset(
        name for names in _bearers(question, specs) if len(names) == 1 for name in names
    )


def in_order(question: str, specs: Specs) -> list[str]:
    """The names of functions in the order in which a question speaks of them.

    A function is spoken of by the first word that it shares with no other one, else by the first
    that it shares at all.
    """
    bearers = _bearers(question, specs)

    def place(name: str) -> int:
        own = [at for at, names in enumerate(bearers) if names == {name}]
        shared = [at for at, names in enumerate(bearers) if name in names]
        return (own or shared or [len(bearers)])[0]

    return sorted(specs, key=place)


def _bearers(question: str, specs: Specs) -> list[set[str]]:
    """For each word of a question, the functions that have it in their name or description."""
    known = {name: _known(spec) for name, spec in specs.items()}
    return [
        {name for name, words in known.items() if _weight(word, words) >= IN_DESCRIPTION}
        for word in _in_turn(question)
    ]


def _in_turn(question: str) -> list[str]:
    """The words of a question that carry meaning, by where each comes first; signs come last."""
    meant = question_words(question)
    words = dict.fromkeys(re.findall(r"[a-z]+", question.lower()))
    return [word for word in words if word in meant] + sorted(meant - words.keys())


def _weight(word: str, known: _Known) -> float:
    """How much a word in common counts; 0 where it is not in common."""
    described = _among(word, known.description)
    elsewhere = not described and _among(word, known.anywhere)
    return IN_NAME * _among(word, known.name) + IN_DESCRIPTION * described + ELSEWHERE * elsewhere


def _share_of_name(asked: Words, known: _Known) -> float:
    """How much of a function's name is in the question."""
    name = _all(known.name)
    return sum(_among(word, asked) for word in name) / max(1, len(name))


def _among(word: str, words: Words) -> bool:
    return any(same(word, other) for other in words.get(word[:3], ()))


def _all(words: Words) -> list[str]:
    return [word for alike in words.values() for word in alike]


def _known(spec: Spec) -> _Known:
    name = str(spec["name"]).replace(".", " ")
    description = str(spec.get("description") or "")
    inputs: list[str] = []
    _add_texts(spec.get("parameters") or {}, inputs)
    texts = (name, description, " ".join(inputs))
    return _kept(*texts) if sum(map(len, texts)) < LONGEST_KEPT else _known_by(*texts)


@lru_cache(maxsize=1024)
def _kept(name: str, description: str, inputs: str) -> _Known:
    """Kept, because a decision looks at the same functions many times."""
    return _known_by(name, description, inputs)


def _known_by(name: str, description: str, inputs: str) -> _Known:
    return _Known(
        name=_words(name),
        description=_words(description),
        anywhere=_words(f"{name} {description} {inputs}"),
        topics=topics_called(name, description),
    )


def _words(text: str) -> Words:
    return by_beginning(sorted(content_words(text)))


def _add_texts(schema: Any, found: list[str]) -> None:
    """Add the names, descriptions and choices of all that a schema holds.

    A schema may be misshapen: that is told where it is rendered, not here. Into one list, because
    each decision goes through all functions several times.
    """
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        found.append(str(name))
        if isinstance(part, Mapping):
            choices = part.get("enum")
            found.append(str(part.get("description") or ""))
            found += map(str, choices if isinstance(choices, list | tuple) else ())
            _add_texts(part, found)
            _add_texts(part.get("items"), found)
