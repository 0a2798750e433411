"""Find every reading of a text as calls, and choose the cheapest legal one.

A reading costs what had to be bent for it. Among those whose calls the schemas accept, the cheapest
counts; two that cost the same and differ are a problem, because one of them would be a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from azent.messages import Call, Problem, Specs
from azent.parsing.shapes import TRUNCATED, Shape, Shaper
from azent.schema.validate import checked, resolved_tool
from azent.values.json_tokens import Fault
from azent.values.lenient_json import Lenient, Reading, literal, readings
from azent.values.strict_json import TooDeep, strict

_HINTS = re.compile(
    r"""["'“‘]?\b(?:tools?|tool_calls?|tool_input|tool_name|function_call|action_input)\b["'”’]?\s*[:：]"""
)
_NAMED = re.compile(r"""["'“]?(?:name|function|action)["'”]?\s*[:：]\s*["'“]?([\w.:/-]{1,80})""")
_EFFORT = 40  # what it takes to look at all, in characters
_SHUT = re.compile(r"(?:[}\])]\s*)+(?:</?[|｜]?[\w▁]+[|｜]?>\s*|```\s*)*\Z")
_BRACKET = re.compile(r"[}\])]")
_AHEAD = re.compile(r"(?:\s*+\S){100}")  # no decision on a value looks farther than that ahead
_AGAIN = (
    'Write the call as one JSON object, with straight quotes (") around strings, '
    "and quotes and backslashes inside them escaped."
)


@dataclass(frozen=True, slots=True)
class Option:
    """One way to read a stretch of text: its checked calls, and what it costs.

    `reading` and `shape` are what it was made of, where it was a value.
    """

    calls: tuple[Call, ...]
    cost: int
    bent: tuple[str, ...]
    reading: Reading | None = None
    shape: Shape | None = None

    @property
    def legal(self) -> bool:
        return all(call.problem is None for call in self.calls)


def weighed(options: list[Option]) -> Option | None:
    """The cheapest legal option, or else the cheapest; None where two equally cheap ones differ."""
    legal = [option for option in options if option.legal] or options
    least = min(option.cost for option in legal)
    cheapest = [option for option in legal if option.cost == least]
    if any(option.calls != cheapest[0].calls for option in cheapest):
        return None
    return cheapest[0]


def option(calls: Iterable[Call], terms: Terms, cost: int = 0, bent: Iterable[str] = ()) -> Option:
    """An option out of raw calls: each is checked."""
    told = list(bent)
    made = []
    for call in calls:
        legal, more = checked(call, terms.specs, trusted=terms.trusted)
        made.append(legal)
        told += more
    return Option(tuple(made), cost, tuple(told))


def values_at(text: str, at: int, **how: Any) -> list[Reading]:
    """Every reading of the value at `at`: the strict one alone where there is one.

    Raises Fault.
    """
    try:
        found = strict(text, at)
    except TooDeep:
        found = None  # the lenient reader says where it is too deep
    return [Reading(*found)] if found else readings(text, at, **how)


def _check_quotes(likeliest: Reading, text: str, at: int, terms: Terms) -> None:
    """Raises Fault where a string has no end though its call has: then its quotes are wrong."""
    if terms.more or terms.cut or not likeliest.cut:
        return
    shut = _SHUT.search(text, max(at, len(text) - 80))
    if shut is None:
        return
    Lenient(text, at, naive=True).read()
    if len(_BRACKET.findall(shut.group())) >= len(likeliest.unclosed):
        raise Fault("a string in it has no end", len(text), reach=len(text))


def call_with(name: str, text: str, at: int, terms: Terms, **how: Any) -> Block:
    """The call of `name` whose input is the value at `at`."""
    try:
        found = values_at(text, at, **how)
        _check_quotes(found[0], text, at, terms)
    except Fault as fault:
        known = resolved_tool(name, terms.specs) or name
        return Block(len(text), problem=broken(fault, at, known), open=terms.more)
    if terms.more and not _is_settled(found, text):
        return Block(len(text), open=True)
    options = []
    for reading in found:
        shaper = Shaper(terms.specs, reading.unclosed, cut=True, walled=_is_walled(reading, text))
        call = shaper.call(name, reading.value)
        made = option([call], terms, reading.cost, reading.bent)
        options.append(replace(made, reading=reading))
    return _block(weighed(options), found[0], text)


def protocol(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in the JSON value at `at`; a block of plain words where it is a value but no call.

    None where there is no value at all.
    """
    try:
        found = values_at(text, at)
        _check_quotes(found[0], text, at, terms)
    except Fault as fault:
        return _no_value(text, at, fault, terms)
    if terms.more and not _is_settled(found, text):
        return Block(len(text), open=True)
    shapes = [_shape(reading, text, terms) for reading in found]
    if shapes[0] is None:
        return _no_call(text, at, found[0], terms)
    options = [
        _shaped(shape, reading, terms)
        for shape, reading in zip(shapes, found, strict=True)
        if shape is not None
    ]
    chosen = weighed(options)
    return _with_shape(_block(chosen, found[0], text), chosen or options[0])


def broken(fault: Fault, begin: int, name: str = "") -> Problem:
    """The problem of a call that cannot be read."""
    of = f"{name}: " if name else ""
    if fault.deep:
        return Problem("too_deep", f"{of}The input is nested too deep.")
    place = f"at character {fault.at - begin}"
    return Problem("malformed", f"{of}The call could not be read: {fault.what} {place}. {_AGAIN}")


def truncated(name: str = "") -> Problem:
    return Problem("truncated", f"{name}: {TRUNCATED}" if name else TRUNCATED)


def without_object(name: str = "") -> Problem:
    """The problem of a call whose input is no object, or that has none."""
    of = f"{name}: " if name else ""
    return Problem("malformed", f"{of}The call could not be read: its input is no object. {_AGAIN}")


def looks_like_call(text: str, begin: int, end: int, terms: Terms) -> bool:
    """Do the keys and names in a stretch of damaged text say that it was meant as a call?"""
    head = text[begin : max(begin + 1, _line_end(text, min(end, begin + 2000)))]
    if _HINTS.search(head):
        return True
    return any(match.group(1) in terms.specs for match in _NAMED.finditer(head))


def _line_end(text: str, at: int) -> int:
    """The end of the line at `at`, a few words on at most."""
    end = text.find("\n", at, at + 40)
    return min(len(text), at + 40) if end < 0 else end


def _ran_out(reading: Reading, text: str) -> bool:
    return not reading.ended and reading.end >= len(text)


def _is_walled(reading: Reading, text: str) -> bool:
    """Does it lack its end where the text goes on, with the end of its call?"""
    return not reading.ended and reading.end < len(text)


def is_settled(text: str, reach: int) -> bool:
    """Is what was found out by reading as far as `reach` so, whatever text is still to come?

    Whether a quote ends a string, or a word is a key, is told by what follows it.
    """
    return _AHEAD.match(text, reach) is not None


def _is_settled(found: list[Reading], text: str) -> bool:
    """As `is_settled`, for all readings of a value; JSON is what it is wherever the text ends."""
    if any(_ran_out(reading, text) for reading in found):
        return False
    if not (found[0].bent or found[0].reach):
        return True
    return is_settled(text, max(max(reading.end, reading.reach) for reading in found))


def _shaped(shape: Shape, reading: Reading, terms: Terms) -> Option:
    made = option(shape.calls, terms, reading.cost, [*reading.bent, *shape.bent])
    return replace(made, reading=reading, shape=shape)


def _shape(reading: Reading, text: str, terms: Terms) -> Shape | None:
    cut = reading.cut or (terms.cut and _ran_out(reading, text))
    shaper = Shaper(terms.specs, reading.unclosed, cut=cut, walled=_is_walled(reading, text))
    return shaper.shape(reading.value)


def _block(chosen: Option | None, first: Reading, text: str) -> Block:
    reading = (chosen and chosen.reading) or first
    if chosen is None:
        message = "The call can be read in two ways; quotes and backslashes in it must be escaped."
        return Block(reading.end, problem=Problem("malformed", message))
    told = [_told(what) for what in chosen.bent]
    if not reading.ended and chosen.legal:
        told.append(_told("missing closing brackets"))
    return Block(reading.end, chosen.calls, repairs=tuple(told), open=_ran_out(reading, text))


def _with_shape(block: Block, chosen: Option) -> Block:
    problem, shape, reading = block.problem, chosen.shape, chosen.reading
    if shape is None or reading is None:
        return block
    cut_short = shape.broken == "truncated" or (reading.cut and _all_legal(block))
    if cut_short and problem is None:
        problem = truncated()
    elif shape.broken and problem is None:
        problem = Problem("malformed", f"The call could not be read: {shape.broken}. {_AGAIN}")
    return replace(
        block, words=shape.words, thinking=shape.thinking, wrapper=shape.wrapper, problem=problem
    )


def _all_legal(block: Block) -> bool:
    return all(call.problem is None for call in block.calls)


def _told(what: str) -> str:
    return what if ":" in what or " was " in what or " stood " in what else f"{what} was forgiven"


def _no_value(text: str, at: int, fault: Fault, terms: Terms) -> Block | None:
    if terms.more and not is_settled(text, fault.reach):
        return Block(len(text), open=True)
    if not looks_like_call(text, at, fault.at, terms):
        vain = fault.reach - at + _EFFORT
        missed = Block(fault.at, words=text[at : fault.at], missed=True, vain=vain)
        return _unescaped(text, at, terms) or missed
    end = _end_of_damage(text, fault.at)
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    return Block(end, problem=broken(fault, at), vain=fault.reach - at)


def _end_of_damage(text: str, at: int) -> int:
    """Where a broken call ends, as far as can be told: before a fence, a tag or an empty line."""
    match = re.compile(r"\n[ \t]*\n|\n```|</\w+>").search(text, at)
    return match.start() if match else len(text)


def _no_call(text: str, at: int, reading: Reading, terms: Terms) -> Block | None:
    if _ran_out(reading, text) and (reading.cut or terms.cut):
        head = text[at:]
        if looks_like_call(text, at, len(text), terms) or (len(head) < 20 and terms.cut):
            return Block(len(text), problem=truncated(), open=True)
    return Block(reading.end, words=text[at : reading.end], open=_ran_out(reading, text))


def _unescaped(text: str, at: int, terms: Terms) -> Block | None:
    """A whole reply that was escaped once too often: {\\"tools\\": ...}."""
    if not text.startswith(('{\\"', '[{\\"'), at):
        return None
    if terms.more:
        return Block(len(text), open=True)
    try:
        inner = literal(f'"{text[at:].strip()}"')
    except ValueError:
        return None
    block = protocol(inner, 0, replace(terms, more=False)) if isinstance(inner, str) else None
    if block is None or not (block.calls or block.problem) or inner[block.end :].strip():
        return None
    told = (*block.repairs, "the whole call was escaped once too often")
    return replace(block, end=len(text), repairs=told)


# ---- what the recognisers hand to one another ----------------------------------------------------


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
