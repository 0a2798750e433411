"""Calls whose special tokens were dropped on the way: a tool's name right before its input.

Servers decode special tokens to nothing, so what a model wrote as `[TOOL_CALLS]name[ARGS]{...}` may
arrive as `name{...}`. That is read only where the name is a tool's and nothing else is said.
"""

from __future__ import annotations

import re
from dataclasses import replace

from azent.reply.dialects import markup
from azent.reply.found import Block, Terms
from azent.reply.weigh import call_with, protocol
from azent.validate import resolved_tool

_NAME = r"(?P<name>[A-Za-z_][\w.-]{0,80}(?::\d{1,4})?)"
_INPUT = r"\s{0,8}(?:```(?:json)?\s{0,8})?(?=\{|<arg_key>)"
NAMED = r"[A-Za-z_][\w.:-]{0,90}(?:\s{0,4}:)?\s{0,8}(?:\{|<arg_key>|```|\Z)"
MARKED = r"(?:call:|functions\.)[\w.:-]{1,90}\s{0,8}\{|[A-Za-z_][\w.:-]{0,90}\[ARGS\]\s{0,8}\{"
HEADER = r"(?:assistant ?)?(?:commentary|analysis)? ?to=[\w.:-]{1,100}[ \w]{0,30}\s{0,8}\{"
THOUGHT = r"analysis(?=\w)|assistantfinal(?=\S)"
_NAMED = re.compile(rf"(?:call:)?{_NAME}(?:\[ARGS\]|\s{{0,4}}:)?{_INPUT}")
_HEADER = re.compile(
    r"(?:assistant ?)?(?:commentary|analysis)? ?to=(?:functions\.)?(?P<name>[\w.-]+)"
    r" ?(?:commentary)? ?(?:json|code)?\s{0,8}(?=\{)"
)
_THOUGHT = re.compile(r"analysis(?=\w)")
_THOUGHT_END = re.compile(r"assistant(?:final|(?=(?:commentary|analysis) ?to=))")
_AFTER = re.compile(r"\s*+(?:```)?[\s,;]*+")
_MARK = re.compile(r"<[|｜/]|\[/")


def named(text: str, at: int, terms: Terms) -> Block | None:
    """`name{...}` where nothing follows but more of the same, or marks."""
    block = marked(text, at, terms)
    if block is None or block.open:
        return block
    after = _AFTER.match(text, block.end)
    end = after.end() if after else block.end
    if terms.more and end + 100 > len(text):
        return Block(len(text), open=True)
    goes_on = end < len(text) and not _MARK.match(text, end) and not _is_known(text, end, terms)
    return None if goes_on else replace(block, end=end)


def marked(text: str, at: int, terms: Terms) -> Block | None:
    """The call of a known tool at `at`: its name, and its input as JSON or as GLM's elements."""
    head = _NAMED.match(text, at)
    if head is None:
        return _begun(text, at, terms)
    if not resolved_tool(head.group("name"), terms.specs):
        return None
    if text.startswith("<", head.end()):
        return markup.markup_call(text, at, terms, markup.GLM)
    return _unless_protocol(head.group("name"), text, head.end(), terms)


def header(text: str, at: int, terms: Terms) -> Block | None:
    """Harmony's header without its marks: `commentary to=functions.name json{...}`."""
    head = _HEADER.match(text, at)
    if head is None or not resolved_tool(head.group("name"), terms.specs):
        return None
    return call_with(head.group("name"), text, head.end(), terms)


def thought(text: str, at: int, terms: Terms) -> Block | None:
    """Harmony's reasoning without its marks: `analysis...assistantfinal...`."""
    opener, closer = _THOUGHT.match(text, at), _THOUGHT_END.search(text, at)
    if closer is None:
        return Block(len(text), open=True) if terms.more else None
    thinking = text[opener.end() : closer.start()] if opener else ""
    call = header(text, closer.end(), terms)
    if call is None and terms.more and len(text) - closer.end() < 160:
        return Block(len(text), open=True)
    return replace(call or Block(closer.end()), thinking=thinking)


def _unless_protocol(name: str, text: str, at: int, terms: Terms) -> Block | None:
    """The call, unless what follows the name is a whole call by itself."""
    block = protocol(text, at, terms)
    return None if block and block.calls else call_with(name, text, at, terms)


def _is_known(text: str, at: int, terms: Terms) -> bool:
    head = _NAMED.match(text, at)
    return head is not None and resolved_tool(head.group("name"), terms.specs) is not None


def _begun(text: str, at: int, terms: Terms) -> Block | None:
    """A name that the text ends behind: its input may still come."""
    name = re.compile(_NAME).match(text, at)
    if not terms.more or name is None or not resolved_tool(name.group("name"), terms.specs):
        return None
    rest = text[name.end() : name.end() + 24]
    return Block(len(text), open=True) if name.end() + len(rest) >= len(text) else None
