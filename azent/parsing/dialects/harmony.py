"""gpt-oss's Harmony: messages on channels, calls being messages that are sent to a function.

<|channel|>analysis<|message|>...<|end|>                            reasoning
<|start|>assistant<|channel|>final<|message|>...                    words
<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{...}<|call|>
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from azent.messages import Call
from azent.parsing.candidates import (
    Block,
    Mode,
    Terms,
    call_with,
    option,
    truncated,
    without_object,
)

_MARK = re.compile(r"([^<]{0,200}+)<\|(\w+)\|>")
_BEGUN = re.compile(r"[^<]{0,200}+(?:<\|?\w*\|?)?\Z")
_TO = re.compile(r"to=([\w.:/-]+)")
_ENDING = re.compile(r"\s*<\|(?:call|end|return)\|>")
_MAYBE_ENDING = re.compile(r"\s*(?:<\|?\w{0,6}\|?)?\Z")
_UNTIL = re.compile(r"<\|(?:end|call|return)\|>|(?=<\|(?:start|channel)\|>)|\Z")
_REAL_HEADER = (
    r"(?:analysis|commentary|final)[^<\n]{0,120}(?:<\|constrain\|>[^<\n]{0,20})?<\|message\|>"
)
_THOUGHT_ENDS = (
    r"<\|end\|>",
    r"<\|(?:call|return)\|>(?=\s*\Z|\s{0,8}<\|start\|>)",
    rf"(?=<\|start\|>|<\|channel\|>{_REAL_HEADER})",
)
THOUGHT = Mode(False, re.compile("|".join(_THOUGHT_ENDS)))


@dataclass(slots=True)
class _Header:
    """What stands before a message: whose it is, on which channel, and where the header ends."""

    end: int
    role: str = ""
    channel: str = ""
    told: str = ""
    ends_in: str = ""


def _header(text: str, at: int) -> _Header:
    """The header at `at`, as far as it goes; `ends_in` is the mark that ended it, if one did."""
    header, part = _Header(at), "start"
    while (mark := _MARK.match(text, header.end)) is not None:
        words, name = mark.groups()
        _fill(header, part, words)
        header.end, part = mark.end(), name
        if name not in ("start", "channel", "constrain"):
            header.ends_in = name
            break
    return header


def _fill(header: _Header, part: str, words: str) -> None:
    header.told += f" {words}"
    if part == "start":
        header.role = header.role or words.split(" ")[0]
    elif part == "channel":
        header.channel = words.strip()


def harmony(text: str, at: int, terms: Terms) -> Block | None:
    """What the header at `at` opens."""
    header = _header(text, at)
    if header.ends_in != "message":
        return _without_message(text, header, terms)
    if header.role in ("user", "system", "developer", "tool"):
        return Block(header.end, stop=True)
    recipient = _TO.search(header.told)
    if recipient and recipient.group(1) not in ("assistant", "user", "all"):
        return _call(text, header.end, recipient.group(1), terms)
    return Block(header.end, mode=THOUGHT if header.channel.startswith("analysis") else None)


def _call(text: str, at: int, recipient: str, terms: Terms) -> Block:
    name = recipient.removeprefix("functions.")
    body = re.compile(r"\s*").match(text, at)
    begin = body.end() if body else at
    if begin >= len(text):
        return Block(len(text), problem=None if terms.more else truncated(name), open=True)
    if text[begin] != "{":
        return _unread(text, begin, name, terms)
    block = call_with(name, text, begin, terms)
    ending = _ENDING.match(text, block.end)
    if ending is not None:
        return replace(block, end=ending.end())
    unsure = terms.more and _MAYBE_ENDING.match(text, block.end)
    return replace(block, open=block.open or bool(unsure))


def _unread(text: str, at: int, name: str, terms: Terms) -> Block:
    """A message to one of the model's built-in tools, or one without JSON."""
    until = _UNTIL.search(text, at)
    end = until.end() if until else len(text)
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    given = {"input": body} if (body := text[at : until.start() if until else end].strip()) else {}
    return Block(end, option([Call(name, given)], terms).calls)


def _without_message(text: str, header: _Header, terms: Terms) -> Block:
    """A header that the text, or another mark, breaks off."""
    if header.ends_in == "call" and (recipient := _TO.search(header.told)):
        name = recipient.group(1).removeprefix("functions.")
        return Block(header.end, problem=without_object(name))
    if header.ends_in or not _BEGUN.match(text, header.end):
        return Block(header.end)
    if terms.more:
        return Block(len(text), open=True)
    problem = truncated() if terms.cut or "to=" in header.told + text[header.end :] else None
    return Block(len(text), problem=problem, open=True)
