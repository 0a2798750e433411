"""Fenced code: a call where it holds nothing but calls, and else a listing that is left alone.

A fence that is empty, or never closed because the text ends, says nothing and is dropped. Where an
opening line is written twice, the second counts.
"""

from __future__ import annotations

import re
from dataclasses import replace

from azent.reply.alone import denied, line_before
from azent.reply.dialects import FIRST, dialect_at
from azent.reply.dialects.python import python_calls
from azent.reply.dialects.react import react
from azent.reply.dialects.tags import VALUES, value
from azent.reply.found import Block, Mode, Terms, joined_blocks

_OPENER = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<label>[\w+#.-]*)[ \t]*")
_AGAIN = re.compile(rf"[ \t\r]*+\n\s*+(?:[-*•+][ \t]++)?{_OPENER.pattern}")
_QUOTING = ("markdown", "md", "text", "txt", "diff")  # a fence inside of these is shown, not meant
_LINE_END = re.compile(r"[^\n]*")
_BETWEEN = re.compile(r"[\s,;]*+")
_CALLISH = re.compile(r"[{\[｛［<\"]|[A-Za-z_][\w.:-]*\s*\(|print\s*\(|(?i:Action|Thought)\s*[:：]")
_SHORT = 120  # what begins with less than that may still become a call
_MAYBE_FENCE = re.compile(r"\s*+(?:[-*•+][ \t]*+)?(?:[`~]{0,2}|(?:`{3,}|~{3,})[\w+#.-]*[ \t]*+)\Z")
_MAYBE = re.compile(r"(?:[A-Za-z_][\w.:-]{0,80})?\s*\Z")


def fenced(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in the fence that opens at `at`, or the start of a listing."""
    opener = _OPENER.match(text, at)
    if opener is None:
        return None
    openers = _openers(text, opener)
    if terms.more and _MAYBE_FENCE.match(text, openers[-1].end()):
        return Block(len(text), open=True)
    if (empty := _empty(text, openers[-1])) is not None:
        return empty
    found = None if denied(line_before(text, at)) else _calls(text, openers[-1], terms)
    if found is None:
        return _listing(text, openers[-1], terms)
    return found if found.open else _with_closers(text, found, openers, terms)


def _openers(text: str, opener: re.Match[str]) -> list[re.Match[str]]:
    """The opening line of a fence, and those that repeat it right below."""
    openers = [opener]
    while (again := _AGAIN.match(text, openers[-1].end())) and _repeats(again, openers[-1]):
        openers.append(again)
    return openers


def _repeats(again: re.Match[str], opener: re.Match[str]) -> bool:
    """Is it a second opening line, rather than the end of the fence or a fence that is quoted?"""
    fence, other = opener.group("fence"), again.group("fence")
    if opener.group("label").casefold() in _QUOTING or (fence != other and fence.startswith(other)):
        return False
    return fence != other or bool(again.group("label"))


def _empty(text: str, opener: re.Match[str]) -> Block | None:
    """The fence, if nothing stands in it or behind it."""
    closer = _AGAIN.match(text, opener.end())
    if closer is not None and closer.group("fence").startswith(opener.group("fence")):
        return Block(closer.end())
    return Block(len(text)) if not text[opener.end() :].strip() else None


def _listing(text: str, opener: re.Match[str], terms: Terms) -> Block:
    """The opening line, and what ends the listing; inline code where it ends on the same line."""
    fence, line = opener.group("fence"), _LINE_END.match(text, opener.end())
    end = line.end() if line else opener.end()
    begin = opener.start("fence")
    closer = text.find(fence, opener.end(), end)
    if closer >= 0:
        return Block(closer + len(fence), words=text[begin : closer + len(fence)])
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    mode = Mode(True, re.compile(rf"\n[ \t]{{0,30}}{re.escape(fence)}"))
    return Block(opener.end(), words=text[begin : opener.end()], mode=mode)


def _with_closers(text: str, found: Block, openers: list[re.Match[str]], terms: Terms) -> Block:
    """The calls with the ends of all their opening lines."""
    end = found.end
    for _ in openers[1:]:
        closer = _AGAIN.match(text, end)
        if terms.more and (closer is None or closer.end() >= len(text)) and len(text) - end < 40:
            return Block(len(text), open=True)
        if closer is None or closer.group("label"):
            break
        end = closer.end()
    return replace(found, end=end)


def _calls(text: str, opener: re.Match[str], terms: Terms) -> Block | None:
    """All that the fence holds, if it is calls; None where it is anything else."""
    fence, found = opener.group("fence"), None
    at = _skip(text, opener.end())
    if terms.more and _MAYBE.match(text, at):
        return Block(len(text), open=True)
    while found is None or not text.startswith(fence, at):
        if at >= len(text):
            return _unclosed(text, found, terms)
        block = _one(text, at, terms)
        if terms.more and _is_open(block, found, text, at):
            return Block(len(text), open=True)
        if block is None or block.mode or (block.words and not block.says_something):
            return None
        found = block if found is None else joined_blocks(found, block)
        at = _skip(text, block.end)
    return replace(found, end=at + len(fence))


def _is_open(block: Block | None, found: Block | None, text: str, at: int) -> bool:
    """May what stands at `at` still become a call, or a longer one?"""
    if block is not None and (block.open or block.says_something):
        return block.open
    begun = found is not None or bool(_CALLISH.match(text, at)) or text[at] in FIRST
    return begun and len(text) - at < _SHORT


def _unclosed(text: str, found: Block | None, terms: Terms) -> Block | None:
    if terms.more:
        return Block(len(text), open=True)
    return replace(found, end=len(text)) if found is not None else None


def _one(text: str, at: int, terms: Terms) -> Block | None:
    for place in ("anywhere", "line"):
        if (block := dialect_at(text, at, terms, place)) is not None:
            return block
    if not _CALLISH.match(text, at) or text[at] == "<":
        return None
    if text.startswith(("Action", "Thought", "action", "thought"), at):
        return react(text, at, terms)
    if text.startswith(VALUES, at):
        return value(text, at, terms)
    return python_calls(text, at, terms)


def _skip(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at
