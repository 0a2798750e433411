"""What a value came to as calls, and how several such become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from azent.messages import Call
from azent.reply import keys


@dataclass(slots=True)
class Shape:
    """The calls that a value holds, raw; and the words and reasoning beside them."""

    calls: list[Call] = field(default_factory=list)
    words: str = ""
    thinking: str = ""
    bent: list[str] = field(default_factory=list)
    wrapper: bool = False
    broken: str = ""


def joined(shapes: Iterable[Shape]) -> Shape:
    """Several shapes as one: all their calls, and the first words and reasoning among them."""
    whole = Shape()
    for shape in shapes:
        whole.calls += shape.calls
        whole.bent += [told for told in shape.bent if told not in whole.bent]
        whole.thinking = whole.thinking or shape.thinking
        whole.words = whole.words or shape.words
        whole.broken = whole.broken or shape.broken
    return whole


def add_words(shape: Shape, value: Mapping[str, Any]) -> None:
    """Put the words and the reasoning that stand beside calls into their shape."""
    for key, item in value.items():
        if isinstance(item, str) and key.casefold() in keys.THOUGHTS:
            shape.thinking = shape.thinking or item
        elif isinstance(item, str) and key.casefold() in keys.WORDS:
            shape.words = shape.words or item
