"""The protocol's own JSON on a line with other words.

`Let me check. {"tools": [...]}` is a call where the reply ends with it. Followed by words it does
not run, but nobody should read it as the answer either: it is a problem, and the model is asked
again. Where the words say that no call is meant (a denial, an example, a quotation) it stays text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from azent.messages import Problem
from azent.reply import keys
from azent.reply.alone import INVENTED, is_shown, line_lead, may_be_refused
from azent.reply.found import Block, Terms
from azent.reply.weigh import protocol

_FIRST_KEYS = "|".join(("tools?", *keys.THOUGHTS))
OPENER = rf"\{{\s{{0,8}}[\"'“„]?(?i:{_FIRST_KEYS})[\"'”“]?\s{{0,8}}[:：]"
_WHOLE = re.compile(r"[{,]\s*+[\"'“„]?(?i:tools)[\"'”“]?\s*+[:：]")
_MARKS = re.compile(r"(?:[*_(\[]{1,6}|<[A-Za-z]{1,20}>|print\()[ \t]?\Z")
HELD_OPENER = r"\{\s{0,8}[\"'“„]?[A-Za-z]{0,11}[\"'”“]?\s{0,8}"  # a part of what OPENER matches
HELD_MARKS = rf"(?:[*_(\[]{{1,6}}|<[A-Za-z]{{1,20}}>|print\()[ \t]?(?:{HELD_OPENER})?\Z"
_CLOSERS = re.compile(r"[ \t]*+(?:[*_)}\];,]++[ \t]*+)?(?:</[A-Za-z]{1,20}>)?\s*+(?:```\s*+)?")
_ENOUGH = 40  # so many characters tell whether the reply goes on behind a call
_END = re.compile(r"\Z|<[|｜]|</s>|<end_of_turn>|\{")
_QUOTES = "`\"'“‘«„「『"
_BESIDE = (
    "The call stands on a line with other words, so it was not run. "
    "Send the JSON alone, or answer in words alone."
)


def inline(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in the JSON at `at`, a problem where words follow them; None where it is text."""
    lead = line_lead(text, at)
    if not lead.strip() or is_shown(text, at) or text[at - 1] in _QUOTES or _is_inside(lead):
        return None
    block = protocol(text, at, terms)
    if block is None or block.open or not block.says_something:
        return block
    return _judged(text, at, block, lead, terms)


def _judged(text: str, at: int, block: Block, lead: str, terms: Terms) -> Block:
    """The block where the reply ends with it, and a problem where it goes on."""
    closers = _CLOSERS.match(text, block.end)
    end = closers.end() if closers else block.end
    if terms.more and len(text) - end < _ENOUGH:
        return Block(len(text), open=True)
    invented = INVENTED.match(text, end) is not None
    if not (invented or _END.match(text, end)) or may_be_refused(lead):
        return beside_words(text, at, block)
    return replace(block, end=end, stop=invented)


def beside_words(text: str, at: int, block: Block) -> Block:
    """What the JSON at `at` comes to, where the words on its line keep it from running.

    A single call without the protocol's list may be part of the sentence, so it stays text.
    """
    if not _WHOLE.search(text, at, block.end):
        return Block(block.end, words=text[at : block.end])
    if not block.calls:
        return block
    return Block(block.end, problem=Problem("malformed", _BESIDE))


def marks_before(text: str, begin: int, at: int) -> int:
    """Where the marks begin that stand right before `at`, such as `**` or `<json>`."""
    marks = _MARKS.search(text, max(begin, at - 24), at)
    return marks.start() if marks else at


def _is_inside(lead: str) -> bool:
    """Is it part of a larger value on its line, and not alone in brackets?"""
    lead = lead.rstrip().removesuffix("[")
    return lead.count("{") > lead.count("}") or lead.count("[") > lead.count("]")
