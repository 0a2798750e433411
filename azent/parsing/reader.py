"""Reading a reply, whole or as it streams.

Both ways make the same pass; `Reader.close` makes it once more over the whole text, so that what it
returns cannot depend on how the text was cut.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from azent.messages import Call, Problem, Reply, Specs
from azent.parsing.candidates import Block, Terms
from azent.parsing.scanner import Scan, undone
from azent.parsing.streaming import NOTHING, Shown
from azent.schema.validate import checked
from azent.values.strict_json import TooDeep, strict

_OR = re.compile(r"\W*(?:or|or else|alternatively)\W*", re.IGNORECASE)
REPEATS = 32  # so many identical calls in one reply are no wish but a model going in circles


def read(text: str, specs: Specs, *, done_reason: str = "stop", trusted: bool = True) -> Reply:
    """What a reply says: its calls, checked and coerced, its words and its reasoning.

    `done_reason` is the server's: "length" where the reply was cut. Never raises, on any text.
    """
    clean = clean_reply(text, specs, trusted) if done_reason == "stop" else None
    return clean or scanned(text, specs, done_reason=done_reason, trusted=trusted)


def scanned(text: str, specs: Specs, *, done_reason: str = "stop", trusted: bool = True) -> Reply:
    """Return what `read` returns, by a scan of the whole text for calls in every known shape."""
    blocks = Scan(Terms(specs, trusted)).whole(text, cut=done_reason == "length")
    return _reply(blocks, text, done_reason)


class Reader:
    """Reads a reply while it streams; see `azent.ReplyReader`.

    `held` says that decoding was held to `reply_schema`: then calls are given out as they come.
    `opened` says that the reply is expected to begin within reasoning that it will close.
    """

    def __init__(
        self, specs: Specs, *, held: bool = False, trusted: bool = True, opened: bool = False
    ) -> None:
        self._specs, self._trusted = specs, trusted
        self._scan = Scan(Terms(specs, trusted))
        self._held = HeldCalls(specs, trusted) if held else None
        self._texts: list[str] = []
        self._native: list[Call] = []
        self._shown = Shown(opened)

    def feed(self, piece: str) -> list[Call]:
        """Take a piece of text; the calls that are certain with it (none unless `held`)."""
        self._texts.append(piece)
        self._shown.take(self._scan.feed(piece))
        return self._held.feed(piece) if self._held else []

    def begin_in_reasoning(self) -> None:
        """Expect the reply to begin within its reasoning; to be called before its first text."""
        self._shown.begin_in_reasoning()

    def native(self, call: Call) -> None:
        """Add a call that the server itself read."""
        self._native.append(call)

    def words(self) -> str:
        """The text to show that was not handed out before."""
        return self._shown.words()

    def thoughts(self) -> str:
        """The reasoning to show that was not handed out before."""
        return self._shown.thoughts()

    def close(self, done_reason: str = "stop") -> Reply:
        """The whole reply, as `read` has it, with the server's own calls behind those it read."""
        reply = read(
            "".join(self._texts), self._specs, done_reason=done_reason, trusted=self._trusted
        )
        reply = self._shown.whole(reply, done_reason)
        self._shown.end(reply)
        return _with_native(reply, self._native, self._specs, self._trusted)


# ---- replies that need no scan -------------------------------------------------------------------


def clean_reply(text: str, specs: Specs, trusted: bool) -> Reply | None:
    """Return a reply that is strict JSON of the protocol, with valid calls of known tools only.

    Return None for any other text, which a scan has to read.
    """
    try:
        value, end = strict(text) or (None, 0)
    except TooDeep:
        return None
    if type(value) is not dict or value.keys() != {"tools"} or text[end:].strip(" \r\n\t"):
        return None
    items = value["tools"]
    if type(items) is not list or not 0 < len(items) <= REPEATS:
        return None
    calls = tuple(_clean_call(item, specs, trusted) for item in items)
    return None if None in calls else Reply(tuple(filter(None, calls)), raw=text)


def _clean_call(item: object, specs: Specs, trusted: bool) -> Call | None:
    """Return the call that an item of the protocol makes; None unless it is valid as it stands."""
    call, repairs = _call_of_item(item, specs, trusted)
    return None if repairs else call


def _call_of_item(item: object, specs: Specs, trusted: bool) -> tuple[Call | None, tuple[str, ...]]:
    """Return the call that an item of the protocol makes, None if invalid, and its repairs."""
    if not isinstance(item, dict) or item.keys() != {"tool", "tool_input"}:
        return None, ()
    tool, tool_input = item["tool"], item["tool_input"]
    if not isinstance(tool, str) or not isinstance(tool_input, dict):
        return None, ()
    call, repairs = checked(Call(tool, tool_input), specs, trusted=trusted)
    return None if call.problem else call, repairs


def _with_native(reply: Reply, native: list[Call], specs: Specs, trusted: bool) -> Reply:
    if not native:
        return reply
    made = [checked(call, specs, trusted=trusted) for call in native]
    problem = None if reply.problem and reply.problem.kind == "empty" else reply.problem
    return replace(
        reply,
        calls=reply.calls + tuple(call for call, _ in made),
        repairs=reply.repairs + tuple(told for _, bent in made for told in bent),
        problem=problem,
    )


def _reply(blocks: list[Block], raw: str, done_reason: str) -> Reply:
    blocks = _without_choices(_without_repeats(undone(blocks)))
    words = "".join(block.words for block in blocks).strip()
    thinking = _thinking(blocks)
    calls = tuple(call for block in blocks for call in block.calls)
    problem = next((block.problem for block in blocks if block.problem), None)
    said_nothing = any(block.wrapper for block in blocks) or words.casefold() in NOTHING
    words = "" if words.casefold() in NOTHING else words
    if not (calls or words or problem or said_nothing):
        problem = _nothing(done_reason)
    repairs = tuple(told for block in blocks for told in block.repairs)
    reply = Reply(calls, words, thinking, problem, repairs, raw=raw)
    return _without_circles(reply)


def _thinking(blocks: list[Block]) -> str:
    """The reasoning: stretches of one thought as they stand, several thoughts a line apart."""
    return "".join(block.thinking for block in blocks).strip()


def _without_repeats(blocks: list[Block]) -> list[Block]:
    """A reply that the model wrote twice, or more often, counts once."""
    kept: list[Block] = []
    before: Block | None = None
    for block in blocks:
        if block.wrapper and before is not None and block.calls and block.calls == before.calls:
            kept.append(Block(0, repairs=("the same reply again was left out",)))
            continue
        before = block if block.calls else before
        kept.append(block)
    return kept


def _without_choices(blocks: list[Block]) -> list[Block]:
    """Calls that are given as alternatives are a choice that the model has not made."""
    made = [at for at, block in enumerate(blocks) if block.calls]
    left: set[int] = set()
    for one, other in pairwise(made):
        between = "".join(block.words for block in blocks[one + 1 : other])
        if _OR.fullmatch(between):
            left |= {one, other}
    if not left:
        return blocks
    choice = Block(0, problem=Problem("malformed", "Either call could be meant; send one of them."))
    return [choice if at in left else block for at, block in enumerate(blocks)]


def _nothing(done_reason: str) -> Problem:
    if done_reason == "length":
        message = "The reply was cut off before it said anything. Answer in fewer words."
        return Problem("truncated", message)
    return Problem("empty", "The reply was empty: it has neither words nor calls.")


def _without_circles(reply: Reply) -> Reply:
    """A model that goes in circles made one call, and is told so."""
    if len(reply.calls) <= REPEATS:
        return reply
    kept: dict[str, Call] = {repr(call): call for call in reply.calls}
    most = len(reply.calls) - len(kept) + 1
    if most <= REPEATS:
        return reply
    message = f"The same call was made {most} times in one reply; once is enough."
    return replace(reply, calls=tuple(kept.values()), problem=Problem("too_many", message))


# ---- calls of a reply that decoding holds to a schema --------------------------------------------
# Such a reply is one JSON object whose list of calls comes last, so a call is certain at its
# closing bracket. The first that the schemas refuse ends the giving out: the model will be
# corrected.

_HEAD = re.compile(
    r'\s*\{\s*(?:"thought"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*)?"tools"\s*:\s*\[', re.DOTALL
)
_NEXT = re.compile(r"[\s,]*")


class HeldCalls:
    """Feed text; it gives the calls that are complete with it."""

    def __init__(self, specs: Specs, trusted: bool) -> None:
        self._specs, self._trusted = specs, trusted
        self._text = ""
        self._at = -1
        self._over = False

    def feed(self, piece: str) -> list[Call]:
        if self._over:
            return []
        self._text += piece
        if "}" not in piece:
            return []
        return self._complete()

    def _complete(self) -> list[Call]:
        if self._at < 0:
            head = _HEAD.match(self._text)
            if head is None:
                return []
            self._at = head.end()
        made: list[Call] = []
        while (call := self._one()) is not None:
            made.append(call)
        self._text, self._at = self._text[self._at :], 0
        return made

    def _one(self) -> Call | None:
        space = _NEXT.match(self._text, self._at)
        begin = space.end() if space else self._at
        try:
            found = strict(self._text, begin) if self._text[begin : begin + 1] == "{" else None
        except TooDeep:
            found = None
        if found is None:
            return None
        value, self._at = found
        call, _ = _call_of_item(value, self._specs, self._trusted)
        self._over = call is None
        return call
