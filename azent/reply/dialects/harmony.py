"""gpt-oss's Harmony: messages on channels, calls being messages that are sent to a function.

<|channel|>analysis<|message|>...<|end|>                            reasoning
<|start|>assistant<|channel|>final<|message|>...                    words
<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{...}<|call|>
"""

from __future__ import annotations

import re
from dataclasses import replace

from azent.messages import Call
from azent.reply.found import Block, Mode, Terms
from azent.reply.weigh import call_with, option, truncated

_HEADER = re.compile(
    r"(?:<\|start\|>\s*(?P<role>\w*))?(?P<role_to>[^<]*)"
    r"(?:<\|channel\|>(?P<channel>[^<]*))?(?:<\|constrain\|>[^<]*)?<\|message\|>"
)
_INCOMPLETE = re.compile(r"(?:<\|(?!message)\w+\|>[^<]*|[^<]{0,200})+(?:<[|\w]*)?\Z")
_HEAD_TO = re.compile(r"\s*to=[\w.:-]+")
_ABANDONED = re.compile(r"(?:<\|start\|>[^<]*)?<\|channel\|>[^<]*(?:<\|constrain\|>[^<]*)?")
_TO = re.compile(r"to=([\w.:/-]+)")
_ENDINGS = re.compile(r"\s*(?:<\|(?:call|end|return)\|>)?")
_UNTIL = re.compile(r"<\|(?:end|call|return)\|>|(?=<\|(?:start|channel)\|>)|\Z")
THOUGHT = Mode("thinking", (r"<\|(?:end|call|return)\|>", r"(?=<\|(?:start|channel)\|>)"))


def harmony(text: str, at: int, terms: Terms) -> Block | None:
    """What the header at `at` opens; None where there is no header."""
    header = _HEADER.match(text, at)
    if header is None:
        return _without_message(text, at, terms)
    if header.group("role") in ("user", "system", "developer", "tool"):
        return Block(header.end(), stop=True)
    channel = header.group("channel") or ""
    recipient = _TO.search(f"{header.group('role_to')} {channel}")
    if recipient and recipient.group(1) not in ("assistant", "user", "all"):
        return _call(text, header.end(), recipient.group(1), terms)
    if channel.strip().startswith("analysis"):
        return Block(header.end(), mode=THOUGHT)
    return Block(header.end())


def headless(text: str, at: int, terms: Terms) -> Block | None:
    """A reply that begins in mid-header, because the prompt had begun it: ` to=functions.f`."""
    return harmony(text, at, terms) if _HEAD_TO.match(text, at) else None


def _call(text: str, at: int, recipient: str, terms: Terms) -> Block:
    name = recipient.removeprefix("functions.")
    body = re.compile(r"\s*").match(text, at)
    begin = body.end() if body else at
    if begin >= len(text):
        return Block(len(text), problem=None if terms.more else truncated(name), open=True)
    if text[begin] != "{":
        return _unread(text, begin, name, terms)
    block = call_with(name, text, begin, terms)
    ending = _ENDINGS.match(text, block.end)
    return replace(block, end=ending.end()) if ending and not block.open else block


def _unread(text: str, at: int, name: str, terms: Terms) -> Block:
    """A message to one of the model's built-in tools, or one without JSON."""
    until = _UNTIL.search(text, at)
    end = until.end() if until else len(text)
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    chosen = option([Call(name, {"input": text[at:end]})], terms)
    return Block(end, chosen.calls)


def _without_message(text: str, at: int, terms: Terms) -> Block | None:
    if _INCOMPLETE.match(text, at) and len(text) - at < 400:
        if terms.more:
            return Block(len(text), open=True)
        problem = truncated() if terms.cut or "to=" in text[at:] else None
        return Block(len(text), problem=problem, open=True)
    abandoned = _ABANDONED.match(text, at)
    return Block(abandoned.end()) if abandoned else None
