"""Calls inside a tag: `<tool_call>` and its many cousins, whatever is written between.

The tag says that a call is meant, so what stands inside may be written in any way that azent knows:
the protocol, Python, an element for each argument, or a name before its arguments.
"""

from __future__ import annotations

import re
from dataclasses import replace

from azent.messages import Problem
from azent.parsing.candidates import Block, Terms, call_with, joined_blocks, protocol, truncated
from azent.parsing.dialects import markup
from azent.parsing.dialects.python import python_calls
from azent.parsing.standalone import in_a_sentence
from azent.schema.validate import resolved_tool

_WORDS = (
    r"tool_?calls?|function_?calls?|tools?|tool_use|TOOL_?CALLS?|tool_call_start|python_start"
    r"|function"
)
_SPACE = r"(?:[a-z]{1,12}:)?"  # a namespace, as in <minimax:tool_call> and <seed:tool_call>
OPENER = (
    rf"<\|?{_SPACE}(?:{_WORDS})\|?>|<\|(?:python_tag|START_ACTION)\|>|\[TOOL_REQUEST\]"
    r"|<\|tool▁call\|>"
)
_OPENER = re.compile(rf"{OPENER}|functools(?=\[)")
_CLOSER = re.compile(
    rf"\s*+(?:```\s*+)?(?:[}}\])]\s*+){{0,8}}+(?:</\|?{_SPACE}(?:{_WORDS})\|?>"
    rf"|<\|/?(?:{_WORDS}|tool_call_end|python_end|END_ACTION)\|>"
    r"|<(?:tool_call)\|>|\[END_TOOL_REQUEST\]|\[/TOOL_REQUEST\])"
)
_ANY_CLOSER = re.compile(rf"</{_SPACE}(?:{_WORDS})>")
_HALF_OPEN = re.compile(
    r"<\|open\|>call[^<\n]{0,200}(?:<[^>]{0,8})?\Z|(?:\]<\]minimax\[>\[)?<[^>\n]{0,200}\Z"
)
_AFTER = re.compile(r"[\s,;]*+(?:\s*+\S){120}")  # so much tells what follows: a tag, a call
_SHORT = 200  # a tag with nothing to read in it is a broken call where it ends within that much
_FENCE = re.compile(r"\s*(?:```[\w-]*)?\s*")
_NAMED = re.compile(r"(?:call:)?(?P<name>[A-Za-z_][\w.:/-]{0,100})\s{0,8}:?\s{0,8}(?=\{)")
_BETWEEN = re.compile(r"[\s,;]*+")
_CALLISH = re.compile(
    r"[{\[｛［]|<function|<\S{0,12}invoke|[A-Za-z_][\w.:/-]{0,100}\s*+(?:\(|:?\s*+\{)"
)
VALUES = ("{", "[", "｛", "［")  # what a value in brackets begins with
_BEGUN = re.compile(r"\s*+(?:[\w.:/`\s-]{0,130}|<[^>]{0,120})\Z")


def tagged(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in the tag that opens at `at`; None where the tag is only mentioned."""
    opener = _OPENER.match(text, at)
    if opener is None or text[max(0, at - 1) : at] in ("`", '"', "'", "“"):
        return None
    block = _contents(text, opener.end(), terms)
    if block is None:
        return _empty(text, opener, terms)
    if block.open:
        return replace(block, end=len(text))
    closed = _closed(text, block, terms)
    if closed.open:
        return closed
    return replace(closed, wrapper=closed.wrapper and not closed.calls)


def _contents(text: str, at: int, terms: Terms) -> Block | None:
    """All calls from `at` on, in whatever form; None where there is none."""
    found = _one(text, _inside(text, at), terms)
    while found is not None and not found.open and found.problem is None:
        begin = _skip(text, found.end)
        block = _one(text, begin, terms) if _CALLISH.match(text, begin) else None
        if block is None:
            break
        found = joined_blocks(found, block)
    if found is not None and not (found.calls or found.problem or found.open):
        return found if found.wrapper else None
    return found


def _skip(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _inside(text: str, at: int) -> int:
    fence = _FENCE.match(text, at)
    return fence.end() if fence else at


def _one(text: str, at: int, terms: Terms) -> Block | None:
    """The one call, or list of calls, that stands exactly at `at`."""
    for known in (markup.QWEN, markup.INVOKE, markup.GLM):
        if (block := markup.markup_call(text, at, terms, known)) is not None:
            return block
    if text.startswith(VALUES, at):
        return value(text, at, terms)
    if (named := _NAMED.match(text, at)) is not None:
        return call_with(named.group("name"), text, named.end(), terms)
    return python_calls(text, at, terms, sure=True)


def value(text: str, at: int, terms: Terms) -> Block | None:
    """The value at `at`, in the protocol's form or as a list of Python calls."""
    listed = python_calls(text, at, terms, sure=True) if text[at] == "[" else None
    return listed or protocol(text, at, terms)


def _empty(text: str, opener: re.Match[str], terms: Terms) -> Block | None:
    """A tag without a call in it: cut, malformed, or mentioned in a sentence."""
    begin = _inside(text, opener.end())
    if _BEGUN.match(text, begin):
        if terms.more:
            return Block(len(text), open=True)
        inner = text[opener.end() :].strip()
        if not inner or terms.cut or resolved_tool(inner, terms.specs):
            return Block(len(text), problem=truncated(), open=True)
        return None
    closer = _ANY_CLOSER.search(text, opener.end(), opener.end() + _SHORT)
    if closer is None and terms.more and len(text) - begin < _SHORT:
        return Block(len(text), open=True)
    if closer is None or in_a_sentence(text, opener.start(), closer.end()):
        return None
    message = "The call could not be read: there is neither a tool's name nor its input in it."
    return Block(closer.end(), problem=Problem("malformed", message))


def _closed(text: str, block: Block, terms: Terms) -> Block:
    """The block with the closing tag behind it, if there is one."""
    closer = _CLOSER.match(text, block.end)
    if closer is not None:
        return replace(block, end=closer.end())
    return replace(block, open=terms.more and not _AFTER.match(text, block.end))


def bare_markup(text: str, at: int, terms: Terms) -> Block | None:
    """A call as markup without a tag around it."""
    for known in (markup.QWEN, markup.INVOKE, markup.KIMI, markup.MINIMAX_M3):
        block = markup.markup_call(text, at, terms, known)
        if block is not None:
            return block if block.open else _closed(text, block, terms)
    if not _HALF_OPEN.match(text, at):
        return None
    if terms.more:
        return Block(len(text), open=True)
    return Block(len(text), problem=truncated(), open=True) if terms.cut else None
