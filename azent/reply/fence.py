"""Fenced code: a call where it holds nothing but calls, and else a listing that is left alone."""

from __future__ import annotations

import re
from dataclasses import replace

from azent.reply.alone import denied, line_before
from azent.reply.dialects import dialect_at
from azent.reply.dialects.python import python_calls
from azent.reply.dialects.react import react
from azent.reply.dialects.tags import VALUES, value
from azent.reply.found import Block, Mode, Terms

_OPENER = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<label>[\w+#.-]*)[ \t]*\n?")
_BETWEEN = re.compile(r"[\s,;]*+")
_CALLISH = re.compile(r"[{\[｛［<\"]|[A-Za-z_][\w.:-]*\s*\(|print\s*\(|(?i:Action|Thought)\s*[:：]")
_SHORT = 120  # what begins with less than that may still become a call
_MAYBE = re.compile(r"(?:[A-Za-z_][\w.:-]{0,80})?\s*\Z")


def fenced(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in the fence that opens at `at`, or the start of a listing."""
    opener = _OPENER.match(text, at)
    if opener is None:
        return None
    listing = _listing(text, at, opener)
    if denied(line_before(text, at)):
        return listing
    return _calls(text, opener, terms) or listing


def _listing(text: str, at: int, opener: re.Match[str]) -> Block:
    closer = re.compile(rf"(?:^|\n)[ \t]{{0,30}}{re.escape(opener.group('fence'))}")
    return Block(opener.end(), words=text[at : opener.end()], mode=Mode(True, closer))


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
        found = block if found is None else _both(found, block)
        at = _skip(text, block.end)
    return replace(found, end=at + len(fence))


def _is_open(block: Block | None, found: Block | None, text: str, at: int) -> bool:
    """May what stands at `at` still become a call, or a longer one?"""
    if block is not None and (block.open or block.says_something):
        return block.open
    begun = found is not None or bool(_CALLISH.match(text, at))
    return begun and len(text) - at < _SHORT


def _unclosed(text: str, found: Block | None, terms: Terms) -> Block | None:
    if terms.more:
        return Block(len(text), open=True)
    return replace(found, end=len(text)) if found is not None else None


def _one(text: str, at: int, terms: Terms) -> Block | None:
    if not _CALLISH.match(text, at):
        return None
    if text[at] == "<":
        return dialect_at(text, at, terms)
    if text.startswith(("Action", "Thought", "action", "thought"), at):
        return react(text, at, terms)
    if text.startswith(VALUES, at):
        return value(text, at, terms)
    return python_calls(text, at, terms)


def _both(one: Block, other: Block) -> Block:
    return replace(
        other,
        calls=one.calls + other.calls,
        repairs=one.repairs + other.repairs,
        words=one.words or other.words,
        thinking=one.thinking or other.thinking,
        problem=one.problem or other.problem,
        wrapper=one.wrapper and other.wrapper,
    )


def _skip(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at
