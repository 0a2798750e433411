"""What the recognisers hand to one another: where something was found, and what it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from azent.messages import Call, Problem, Specs


@dataclass(frozen=True, slots=True)
class Terms:
    """What a text is read by: the tools, and whether the text is all there.

    `more` is true while further text may come: what depends on it is then reported as `open`.
    `cut` is true where the length limit ended the text. `words_only`: nothing is taken for a call.
    """

    specs: Specs
    trusted: bool = True
    more: bool = False
    cut: bool = False
    words_only: bool = False


@dataclass(frozen=True, slots=True)
class Mode:
    """What text is until `closer` comes: reasoning, or a listing (words that hold no calls)."""

    listing: bool
    closer: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a reply, ending at `end`: prose, reasoning or calls.

    `words` and `thinking` are what it adds to the text and to the reasoning. An `open` block ran
    out of text: while more may come, nothing about it is certain. A `missed` one began like a value
    and is none; `vain` counts the characters that were read for nothing. `wrapper` marks a whole
    reply in the protocol's own form, which some models write twice. `mode` is what the text after
    it is in. A `mark` is the end of a turn or of a call: a call may follow it on its line. `stop`
    ends the reading: what follows is the model playing the other side. `undo` makes reasoning of
    all that came before.
    """

    end: int
    calls: tuple[Call, ...] = ()
    words: str = ""
    thinking: str = ""
    problem: Problem | None = None
    repairs: tuple[str, ...] = ()
    open: bool = False
    missed: bool = False
    vain: int = 0
    wrapper: bool = False
    mode: Mode | None = None
    stop: bool = False
    undo: bool = False
    mark: bool = False

    @property
    def says_something(self) -> bool:
        """Is it more than words: calls, a problem, or the sign that no call is needed?"""
        return bool(self.calls or self.problem or self.wrapper)


def joined_blocks(one: Block, other: Block) -> Block:
    """Two blocks that follow one another as one, with the calls of both."""
    return replace(
        other,
        calls=one.calls + other.calls,
        repairs=one.repairs + other.repairs,
        words=one.words or other.words,
        thinking=one.thinking or other.thinking,
        problem=one.problem or other.problem,
        wrapper=one.wrapper and other.wrapper,
    )


Recogniser = Callable[[str, int, Terms], Block | None]
