"""ReAct: Thought, Action and Action Input, a line each; and what the model then makes up."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from azent.messages import Call, Problem
from azent.reply.dialects.python import python_calls
from azent.reply.found import Block, Terms
from azent.reply.weigh import call_with, option, protocol, truncated
from azent.validate import resolved_tool

_LABEL = r"[*_#\s]{0,6}%s[*_]{0,2}\s*:[*_]{0,2}[ \t]*"
_THOUGHT = re.compile(_LABEL % "Thought")
_FINAL = re.compile(_LABEL % "Final Answer")
_ACTION = re.compile(_LABEL % "Action" + r"(?P<name>[^\n]*)")
_INPUT = re.compile(r"\s*" + _LABEL % r"Action[ _]Input")
_NEXT = re.compile(r"\n" + _LABEL % "(Thought|Action|Final Answer|Observation)")
_LABEL_CHARS = 40  # so many tell whether an input follows
_MARKS = re.compile(r"[`*.\s]*")
_FENCE = re.compile(r"\s*```(?:json)?\s*")
_REST = re.compile(r"[^\n]*")
_CALLED = re.compile(r"(?:await )?(?P<name>[\w.-]+)\s*\(")
_KEYED = re.compile(r"(?P<key>\w+)\s*(?P<mark>[=:])")
_QUOTED = re.compile(r"(?P<mark>[\"'`])(?P<inner>(?:(?!(?P=mark)).)*)(?P=mark)")
_INLINE = re.compile(r"(?P<name>[\w.-]+)\s*\[(?P<given>[^\]\n]*)\]\s*\Z")


def react(text: str, at: int, terms: Terms) -> Block | None:
    """What the label at `at` opens; None where it is no more than a word."""
    if (thought := _THOUGHT.match(text, at)) is not None:
        return _thought(text, thought.end(), terms)
    if (final := _FINAL.match(text, at)) is not None:
        return Block(final.end(), open=terms.more and final.end() >= len(text))
    action = _ACTION.match(text, at)
    return None if action is None else _action(text, action, terms)


def _thought(text: str, begin: int, terms: Terms) -> Block | None:
    """A thought is one where an action or an answer follows it."""
    following = _NEXT.search(text, begin)
    if following is None:
        return Block(len(text), open=True) if terms.more else None
    if following.group(1) not in ("Action", "Final Answer"):
        return None
    return Block(following.start(), thinking=text[begin : following.start()].strip())


def _action(text: str, action: re.Match[str], terms: Terms) -> Block | None:
    name = action.group("name").strip().strip("`*\"' ")
    if terms.more and (action.end() >= len(text) or not text[action.end() :].strip()):
        return Block(len(text), open=True)
    if name.startswith(("{", "[")):
        return protocol(text, text.index(name[0], action.start("name")), terms)
    called = _CALLED.match(name)
    name = called.group("name") if called else name
    if not name or not resolved_tool(name, terms.specs):
        return _inline(name, action, terms)
    label = _INPUT.match(text, action.end())
    if label is not None:
        block = _with_input(text, label.end(), name, terms)
        return _agreed(block, _as_python(text, action, terms)) if called else block
    if terms.more and len(text) - action.end() < _LABEL_CHARS:
        return Block(len(text), open=True)
    if called is not None:
        return _as_python(text, action, terms)
    return _without_input(text, action, name, terms)


def _agreed(block: Block, other: Block | None) -> Block:
    """The call, unless the same action was written with other arguments that are legal too."""
    legal = other is not None and other.calls and all(call.problem is None for call in other.calls)
    if not legal or other is None or other.calls == block.calls or not block.calls:
        return block
    message = "The action and its input give different arguments; write them once."
    return Block(block.end, problem=Problem("malformed", message), open=block.open)


def _as_python(text: str, action: re.Match[str], terms: Terms) -> Block | None:
    """`Action: search("rent")`, with nothing else on the line where it ends."""
    begin = action.start("name") + len(action.group("name")) - len(action.group("name").lstrip("`"))
    block = python_calls(text, begin, terms)
    if block is None or block.open:
        return block
    line = _REST.match(text, block.end)
    end = line.end() if line else block.end
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    return replace(block, end=end) if _MARKS.fullmatch(text, block.end, end) else None


def _inline(name: str, action: re.Match[str], terms: Terms) -> Block | None:
    """`Action: search[rent]`, as the first paper had it."""
    inline = _INLINE.match(name)
    if inline is None or not resolved_tool(inline.group("name"), terms.specs):
        return None
    given: Any = inline.group("given")  # a bare value: `checked` finds the argument it is for
    chosen = option([Call(inline.group("name"), given)], terms)
    return Block(action.end(), chosen.calls, repairs=chosen.bent)


def _without_input(text: str, action: re.Match[str], name: str, terms: Terms) -> Block | None:
    chosen = option([Call(name, {})], terms)
    return Block(action.end(), chosen.calls) if chosen.legal else None


def _with_input(text: str, at: int, name: str, terms: Terms) -> Block:
    fence = _FENCE.match(text, at)
    begin = fence.end() if fence else at + len(text[at:]) - len(text[at:].lstrip())
    if begin >= len(text):
        return Block(len(text), problem=None if terms.more else truncated(name), open=True)
    if text[begin] in "{[":
        return _after_fence(text, call_with(name, text, begin, terms), bool(fence))
    called = _CALLED.match(text, begin)
    if called is not None and _same(called.group("name"), name, terms):
        block = python_calls(text, begin, terms)
        if block is not None:
            return block
    rest = _REST.match(text, begin)
    end = rest.end() if rest else begin
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    given = text[begin:end].strip()
    if terms.cut and end >= len(text):
        return Block(len(text), problem=truncated(name), open=True)
    return replace(_bound(name, given, terms), end=end)


def _same(one: str, other: str, terms: Terms) -> bool:
    tool = resolved_tool(one, terms.specs)
    return tool is not None and tool == resolved_tool(other, terms.specs)


def _bound(name: str, given: str, terms: Terms) -> Block:
    """The call that a line means: arguments by name, or one bare value, in quotes or not."""
    keyed = _KEYED.match(given)
    if keyed is not None and keyed.group("key") in _arguments(name, terms):
        return _by_name(name, given, keyed.group("mark"), replace(terms, more=False))
    quoted = _QUOTED.fullmatch(given)
    raw: Any = quoted.group("inner") if quoted else given
    if given.casefold() in ("", "none", "{}", "null"):
        raw = {}
    chosen = option([Call(name, raw)], terms)
    return Block(0, chosen.calls, repairs=chosen.bent)


def _by_name(name: str, given: str, mark: str, terms: Terms) -> Block:
    """`city="Oslo"` or `city: Oslo`: no value of which these are a part."""
    if mark == ":":
        spelled = f"{{{given}}}"
        block: Block | None = call_with(name, spelled, 0, terms)
    else:
        spelled = f"{resolved_tool(name, terms.specs)}({given})"
        block = python_calls(spelled, 0, terms)
    if block is not None and block.end >= len(spelled):
        return block
    message = f"{name}: The input could not be read. Write it as one JSON object."
    return Block(0, problem=Problem("malformed", message))


def _arguments(name: str, terms: Terms) -> dict[str, Any]:
    tool = resolved_tool(name, terms.specs)
    return dict((terms.specs[tool].get("parameters") or {}).get("properties", {})) if tool else {}


def _after_fence(text: str, block: Block, fenced: bool) -> Block:
    closer = re.compile(r"\s*```").match(text, block.end) if fenced else None
    return replace(block, end=closer.end()) if closer else block
