"""ReAct: Thought, Action and Action Input, a line each; and what the model then makes up.

An action is a call where it is, exactly, a tool's name before its input, `tool(...)`, `tool[...]`,
`tool {...}` or a call as JSON, and nothing else stands on its line. A name that no tool has is a
problem where an input follows it; all else that `Action:` may stand before is words.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from azent.messages import Call, Problem
from azent.parsing import shapes
from azent.parsing.candidates import Block, Terms, call_with, option, protocol, truncated
from azent.parsing.dialects.python import python_calls
from azent.schema.names import folded
from azent.schema.validate import arguments_of, resolved_tool

_LABEL = r"[*_#\s]{0,6}(?i:%s)(?: ?\d{1,2})?[*_]{0,2}[ \t]{0,2}[:：][*_]{0,2}[ \t]*"
_THOUGHT = re.compile(_LABEL % "Thought")
_FINAL = re.compile(_LABEL % "Final Answer")
_ACTION = re.compile(
    _LABEL % "Action" + r"(?:\n[ \t]*)?(?P<name>(?:(?![ \t,;.]Action[ _]Input)[^\n])*)"
)
_ITEM = r"(?:(?:[-*•+]|\d{1,3}[.)])[ \t]{1,2})?"
_INPUT = re.compile(
    rf"[\s,;.]{{0,8}}{_ITEM}" + _LABEL % r"(?:Action[ _])?(?:Input|Arguments|Parameters)"
)
_BEGUN_INPUT = re.compile(r"[\s,;.]{1,8}[*_#]{0,6}(?i:Action)[ _]?\w{0,5}[*_]{0,2}\s*\Z")
_INPUTS = [
    f"{action}{label}"
    for action in ("", "action ")
    for label in ("input", "arguments", "parameters")
]
_NO_LETTERS = re.compile(r"[\W\d_]+")
_NEXT = re.compile(r"\n" + _LABEL % "(Thought|Action|Final Answer|Observation)")
_LABEL_CHARS = 48  # so many tell whether an input follows
_DECORATION = "`*\"' "
_MARKS = re.compile(r"[`*.\s]*")
_FENCE = re.compile(r"\s*```(?:json)?\s*")
_FENCE_END = re.compile(r"\s*```")
_BEGUN_FENCE = re.compile(r"\s*`{0,2}\Z")
_REST = re.compile(r"[^\n]*")
_CALLED = re.compile(r"(?:await )?(?:print\s*\(\s*)?(?P<name>[\w.-]+)\s*\((?P<named>\s*\w+\s*=)?")
_KEYED = re.compile(r"(?P<key>\w+)\s*(?P<mark>[=:])")
_QUOTED = re.compile(r"(?P<mark>[\"'`])(?P<inner>(?:(?!(?P=mark)).)*)(?P=mark)")
_INLINE = re.compile(
    r"(?P<name>[\w.-]+)\s*\[(?P<given>[^\[\]\n]*+(?:\[[^\[\]\n]*+\][^\[\]\n]*+)*+)\]"
)
_BESIDE = re.compile(r"(?P<name>[\w.-]+)[ \t:]*(?=\{)")
_BELOW = re.compile(r"\s{1,8}(?=\{)")
_ONE_WORD = re.compile(r"[\w.:/-]{1,80}")


def react(text: str, at: int, terms: Terms) -> Block | None:
    """What the label at `at` opens; None where it is no more than a word."""
    if (thought := _THOUGHT.match(text, at)) is not None:
        return _thought(text, thought.end(), terms)
    if (final := _FINAL.match(text, at)) is not None:
        return _answer(text, final.end(), terms)
    action = _ACTION.match(text, at)
    return None if action is None else _action(text, action, terms)


def _thought(text: str, begin: int, terms: Terms) -> Block | None:
    """A thought is one where an action or an answer follows it."""
    following = _NEXT.search(text, begin)
    if following is None:
        return Block(len(text), open=True) if terms.more else None
    if following.group(1).casefold() not in ("action", "final answer"):
        return None
    return Block(following.start(), thinking=text[begin : following.start()].strip())


def _answer(text: str, begin: int, terms: Terms) -> Block:
    """The answer without its label; a call in its place is one, as it is behind any label."""
    if begin >= len(text):
        return Block(begin, open=terms.more)
    block = _value(text, begin, terms)
    return block if block is not None and (block.open or block.says_something) else Block(begin)


def _value(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in brackets or braces at `at`, with nothing else on the line where they end."""
    if text[at : at + 1] not in ("{", "["):
        return None
    listed = python_calls(text, at, terms) if text[at] == "[" else None
    return _alone(text, listed or protocol(text, at, terms), terms)


def _alone(text: str, block: Block | None, terms: Terms) -> Block | None:
    """The block up to the end of its line, if its line holds nothing else."""
    if block is None or block.open:
        return block
    line = _REST.match(text, block.end)
    end = line.end() if line else block.end
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    return replace(block, end=end) if _MARKS.fullmatch(text, block.end, end) else None


def _action(text: str, action: re.Match[str], terms: Terms) -> Block | None:
    if terms.more and not text[action.end() :].strip():
        return Block(len(text), open=True)
    begin = action.end("name") - len(action.group("name").lstrip(_DECORATION))
    if (block := _value(text, begin, terms)) is not None and (block.open or block.says_something):
        return block
    label = _INPUT.match(text, action.end())
    if terms.more and label is None and len(text) - action.end() < _LABEL_CHARS:
        return Block(len(text), open=True)
    name = action.group("name").strip(_DECORATION + "[]")
    if (called := _CALLED.match(name)) is not None:
        return _called(text, begin, called, label, terms)
    if resolved_tool(name, terms.specs):
        return _known(text, action, name, label, terms)
    return _inline(text, begin, action, terms) or _no_tool(text, action, name, label, terms)


def _called(
    text: str, begin: int, called: re.Match[str], label: re.Match[str] | None, terms: Terms
) -> Block | None:
    """`Action: search("rent")`; of a tool that there is not, only with arguments by name."""
    known = resolved_tool(called.group("name"), terms.specs)
    sure = known is None and called.group("named") is not None
    block = _alone(text, python_calls(text, begin, terms, sure=sure), terms)
    if known is None or label is None:
        return block
    return _agreed(_with_input(text, label.end(), called.group("name"), terms), block)


def _agreed(block: Block, other: Block | None) -> Block:
    """The call, unless the same action was written with other arguments that are legal too."""
    legal = other is not None and other.calls and all(call.problem is None for call in other.calls)
    if not legal or other is None or other.calls == block.calls or not block.calls:
        return block
    message = "The action and its input give different arguments; write them once."
    return Block(block.end, problem=Problem("malformed", message), open=block.open)


def _known(
    text: str, action: re.Match[str], name: str, label: re.Match[str] | None, terms: Terms
) -> Block | None:
    """The name of a tool: its input follows, or it takes none, or the input is missing."""
    if label is not None:
        return _with_input(text, label.end(), name, terms)
    if (below := _BELOW.match(text, action.end())) is not None:
        block = protocol(text, below.end(), terms)
        return block if block and block.calls else call_with(name, text, below.end(), terms)
    if _BEGUN_INPUT.match(text, action.end()) or _is_cut(text, action, terms):
        return Block(len(text), problem=truncated(name), open=True)
    if _opens_more_than_it_closes(action.group("name")):
        return Block(action.end(), problem=truncated(name))
    if not action.group().lstrip("*_# \t\n").startswith("A"):
        return None  # `action: now` is a line of some listing rather than an action
    return Block(action.end(), option([Call(name, {})], terms).calls)


def _is_cut(text: str, action: re.Match[str], terms: Terms) -> bool:
    """Did the limit end the text where the name, or an input, may have gone on?"""
    if not terms.cut or len(text) - action.end() >= _LABEL_CHARS:
        return False
    closed = action.group("name").rstrip(_DECORATION).endswith("]")
    begun = _NO_LETTERS.sub(" ", text[action.end() :]).strip().casefold()
    return not closed and any(label.startswith(begun) for label in _INPUTS)


def _opens_more_than_it_closes(name: str) -> bool:
    return name.count("[") > name.count("]")


def _inline(text: str, begin: int, action: re.Match[str], terms: Terms) -> Block | None:
    """`Action: search[rent]`, as the first paper had it, or `Action: search {"query": "rent"}`."""
    beside = _BESIDE.match(text, begin)
    if beside is not None and resolved_tool(beside.group("name"), terms.specs):
        return _alone(text, call_with(beside.group("name"), text, beside.end(), terms), terms)
    inline = _INLINE.match(text, begin)
    if inline is None or not _MARKS.fullmatch(text, inline.end(), action.end()):
        return None
    name, given = inline.group("name", "given")
    if folded(name) in ("finish", *shapes.ANSWERS):
        return Block(action.end(), words=given)
    return replace(_bound(name, given, terms), end=action.end()) if _is(name, terms) else None


def _no_tool(
    text: str, action: re.Match[str], name: str, label: re.Match[str] | None, terms: Terms
) -> Block | None:
    """No action but an answer, or an action that there is not."""
    if label is None:
        ends = folded(name) in shapes.NO_TOOL and _FINAL.match(text, action.end())
        return Block(action.end()) if ends else None
    if folded(name) in shapes.ANSWERS:
        return Block(label.end(), open=terms.more and label.end() >= len(text))
    begun = len(text) - len(text[label.end() :].lstrip())
    if terms.more and begun >= len(text):
        return Block(len(text), open=True)
    if not (_ONE_WORD.fullmatch(name) or text.startswith("{", begun)):
        return None
    return _with_input(text, label.end(), name, terms)


def _is(name: str, terms: Terms) -> bool:
    return resolved_tool(name, terms.specs) is not None


def _with_input(text: str, at: int, name: str, terms: Terms) -> Block:
    fence = _FENCE.match(text, at)
    begin = fence.end() if fence else at + len(text[at:]) - len(text[at:].lstrip())
    if begin >= len(text):
        return Block(len(text), problem=None if terms.more else truncated(name), open=True)
    if text[begin] in "{[":
        given = call_with(name, text, begin, terms)
        return _after_fence(text, given, terms) if fence else given
    called = _CALLED.match(text, begin)
    if called is not None and _same(called.group("name"), name, terms):
        block = python_calls(text, begin, terms)
        if block is not None:
            return block
    rest = _REST.match(text, begin)
    end = rest.end() if rest else begin
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    if terms.cut and end >= len(text):
        return Block(len(text), problem=truncated(name), open=True)
    return replace(_bound(name, text[begin:end].strip(), terms), end=end)


def _same(one: str, other: str, terms: Terms) -> bool:
    tool = resolved_tool(one, terms.specs)
    return tool is not None and tool == resolved_tool(other, terms.specs)


def _bound(name: str, given: str, terms: Terms) -> Block:
    """The call that a line means: arguments by name, or one bare value, in quotes or not."""
    keyed = _KEYED.match(given)
    if keyed is not None and keyed.group("key") in arguments_of(name, terms.specs):
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


def _after_fence(text: str, block: Block, terms: Terms) -> Block:
    if terms.more and _BEGUN_FENCE.match(text, block.end):
        return Block(len(text), open=True)
    closer = _FENCE_END.match(text, block.end)
    return replace(block, end=closer.end()) if closer else block
