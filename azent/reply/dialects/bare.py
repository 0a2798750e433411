"""Calls whose special tokens were dropped on the way: a tool's name right before its input.

Servers decode special tokens to nothing, so what a model wrote as `[TOOL_CALLS]name[ARGS]{...}` may
arrive as `name{...}`. That is read only where the name is a tool's and nothing else is said.
"""

from __future__ import annotations

import re
from dataclasses import replace

from azent.reply.dialects import markup
from azent.reply.found import Block, Terms, joined_blocks
from azent.reply.weigh import call_with, protocol
from azent.validate import resolved_tool

_NAME = r"(?P<name>[A-Za-z_][\w.-]{0,80}(?::\d{1,4})?)"
_FRAME = r"(?:[*`\"]{1,3}|#{1,4} )?"  # what a model may set a name off with
_SET_OFF = r"[*`\"]{0,3}(?:\s{0,4}:)?[*`\"]{0,3}"
_LABEL = (
    r"(?:[*`\"]{0,3}(?:arguments|args|input|parameters|tool_input)[*`\"]{0,3}\s{0,2}[:=]"
    r"[*`\"]{0,3})?"
)
_SPACES = r"[*`\"]{0,3}\s{0,8}"
_CALL_ID = r"(?:\[CALL_ID\][\w-]{0,40})?"
_INPUT = r"\s{0,8}(?:```(?:json)?\s{0,8})?(?=\{|<arg_key>)"
NAMED = (
    rf"{_FRAME}[A-Za-z_][\w.:-]{{0,90}}{_SET_OFF}\s{{0,8}}"
    rf"(?:{_LABEL}\s{{0,8}}[{{<`]|[*`\"]{{0,3}}[a-z_]{{0,14}}[*`\"]{{0,3}}\s{{0,2}}[:=]?{_SPACES}\Z)"
)
MARKED = (
    r"(?:call: ?|functions\.)[\w.:-]{1,90}\s{0,8}\{"
    rf"|[A-Za-z_][\w.:-]{{0,90}}{_CALL_ID}\[ARGS\]\s{{0,8}}\{{"
)
_TO = r"(?:assistant ?)?(?:commentary|analysis)? ?to=[\w.:-]{1,100}"
HEADER = rf"{_TO}[ \w]{{0,30}}\s{{0,8}}\{{"
BEGUN_HEADER = rf"{_TO}\s{{0,8}}<\|"
THOUGHT = r"analysis(?=\w)|commentary(?=[A-Z])|assistantfinal(?=\S)"
_NAMED = re.compile(
    rf"(?:call: ?)?{_FRAME}{_NAME}(?:{_CALL_ID}\[ARGS\]|{_SET_OFF}\s{{0,8}}{_LABEL}){_INPUT}"
)
_HEADER = re.compile(
    r"(?:assistant ?)?(?:commentary|analysis)? ?to=(?:functions\.)?(?P<name>[\w.-]+)"
    r" ?(?:commentary)? ?(?:json|code)?\s{0,8}(?=\{)"
)
_THOUGHT = re.compile(r"(?P<channel>analysis|commentary)(?=\w)")
_THOUGHT_END = re.compile(r"assistant(?:final|(?=(?:commentary|analysis) ?to=))")
_BEGUN = re.compile(
    rf"{_FRAME}{_NAME}{_SET_OFF}\s{{0,8}}"
    rf"(?:(?:{_LABEL}\s{{0,8}})?(?:`{{1,3}}[a-z]{{0,4}}\s{{0,8}}|<\w{{0,7}})?"
    rf"|[*`\"]{{0,3}}[a-z_]{{0,14}}[*`\"]{{0,3}}\s{{0,2}}[:=]?{_SPACES})\Z"
)
_AFTER = re.compile(r"\s*+(?:```)?[\s,;]*+")
_CALL_END = re.compile(r"\s*+</tool_call>")
_MARK = re.compile(r"<[|｜/]|\[/")
_ENOUGH = 120  # so many characters tell what follows a call: another one, or a mark


def named(text: str, at: int, terms: Terms) -> Block | None:
    """`name{...}` where nothing follows but more of the same, or marks."""
    block = marked(text, at, terms)
    if block is None or block.open:
        return block
    if terms.more and block.end + _ENOUGH > len(text):
        return Block(len(text), open=True)
    return block if block.end >= len(text) or _MARK.match(text, block.end) else None


def marked(text: str, at: int, terms: Terms) -> Block | None:
    """All calls from `at` on, each as a tool's name and its input."""
    found = None
    while (block := _one(text, at, terms)) is not None:
        found = joined_blocks(found, block) if found else block
        if block.open or block.problem is not None:
            break
        at = _after(text, block.end)
    if found is None or found.open:
        return found
    if terms.more and at + _ENOUGH > len(text):
        return Block(len(text), open=True)
    return replace(found, end=at) if found.problem is None else found


def _after(text: str, at: int) -> int:
    after = _AFTER.match(text, at)
    return after.end() if after else at


def _one(text: str, at: int, terms: Terms) -> Block | None:
    """The call of a known tool at `at`: its name, and its input as JSON or as GLM's elements."""
    head = _NAMED.match(text, at)
    if head is None:
        return _begun(text, at, terms)
    if not resolved_tool(head.group("name"), terms.specs):
        return None
    if text.startswith("<", head.end()):
        block = markup.markup_call(text, at, terms, markup.GLM)
        return block if block is None else replace(block, end=_after_tag(text, block.end))
    return _unless_protocol(head.group("name"), text, head.end(), terms)


def header(text: str, at: int, terms: Terms) -> Block | None:
    """Harmony's header without its marks: `commentary to=functions.name json{...}`."""
    head = _HEADER.match(text, at)
    if head is None or not resolved_tool(head.group("name"), terms.specs):
        return None
    return call_with(head.group("name"), text, head.end(), terms)


def thought(text: str, at: int, terms: Terms) -> Block | None:
    """Harmony's channels without their marks: `analysis...assistantfinal...`."""
    opener, closer = _THOUGHT.match(text, at), _THOUGHT_END.search(text, at)
    if closer is None:
        return Block(len(text), open=True) if terms.more else None
    said = text[opener.end() : closer.start()] if opener else ""
    call = header(text, closer.end(), terms)
    if call is None and terms.more and len(text) - closer.end() < 160:
        return Block(len(text), open=True)
    block = call or Block(closer.end())
    if opener and opener.group("channel") == "commentary":
        return replace(block, words=said)
    return replace(block, thinking=said)


def _unless_protocol(name: str, text: str, at: int, terms: Terms) -> Block | None:
    """The call, unless what follows the name is a whole call by itself."""
    block = protocol(text, at, terms)
    return None if block and block.calls else call_with(name, text, at, terms)


def _after_tag(text: str, at: int) -> int:
    closer = _CALL_END.match(text, at)
    return closer.end() if closer else at


def _begun(text: str, at: int, terms: Terms) -> Block | None:
    """A name that the text ends behind: its input may still come."""
    name = _BEGUN.match(text, at) if terms.more else None
    if name is None or not resolved_tool(name.group("name"), terms.specs):
        return None
    return Block(len(text), open=True)
