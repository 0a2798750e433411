"""Calls between special tokens: a name, a separator, and the arguments as JSON.

Mistral, DeepSeek V3, Kimi K2, both Gemmas and Qwen-Agent. The arguments are read as a value, so the
tokens may stand inside strings without harm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from azent.reply.dialects.python import python_calls
from azent.reply.found import Block, Terms
from azent.reply.weigh import call_with, protocol, truncated, without_object


@dataclass(frozen=True, slots=True)
class Tokens:
    """How one family writes a call: `head` has a group `name` and ends where the arguments begin.

    `end` is what may follow them; `needs_end` says that a call without it was cut.
    """

    head: re.Pattern[str]
    end: re.Pattern[str]
    needs_end: bool = False


MISTRAL = Tokens(
    re.compile(
        r"\[TOOL_CALLS\]\s*(?P<name>[^\[\]{}<>\s]+?)\s*"
        r"(?:\[CALL_ID\]\s*+[^\[\]{}\s]*+\s*+)?(?:\[ARGS\]\s*+)?(?=\{)"
    ),
    re.compile(r"\[/TOOL_CALLS\]"),
)
DEEPSEEK = Tokens(
    re.compile(
        r"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:\s*function\s*<[|｜]tool[▁_]sep[|｜]>)?\s*"
        r"(?P<name>[^\s<{]+?)\s*(?:<[|｜]tool[▁_]sep[|｜]>\s*)?(?:```(?:json)?\s*)?(?=\{)"
    ),
    re.compile(r"<[|｜]tool[▁_]call[▁_]end[|｜]>"),
    needs_end=True,
)
KIMI_K2 = Tokens(
    re.compile(
        r"<\|tool_call_begin\|>\s*(?P<name>[^\s<{]+?)\s*<\|tool_call_argument_begin\|>\s*(?=\{)"
    ),
    re.compile(r"<\|tool_call_end\|>"),
    needs_end=True,
)
GEMMA = Tokens(
    re.compile(r"<\|tool_call>\s*call:\s*(?P<name>[^\s{}<]+)\s*(?=\{)"),
    re.compile(r"<tool_call\|>"),
    needs_end=True,
)
FUNCTION_GEMMA = Tokens(
    re.compile(r"<start_function_call>\s*(?:call:)?\s*(?P<name>[^\s{}<]+)\s*(?=\{)"),
    re.compile(r"<end_function_call>"),
    needs_end=True,
)
QWEN_AGENT = Tokens(
    re.compile(
        r"✿FUNCTION✿\s*[:：]?\s*(?P<name>[^\s{}✿]+)\s*"
        r"✿ARGS✿\s*[:：]?\s*(?:```(?:json)?\s*)?(?=\{)"
    ),
    re.compile(r"(?=✿RE(?:SULT|TURN)✿)"),
)


_BEFORE_END = re.compile(r"\s*+(?:```\s*+)?")
_BEGUN_END = re.compile(r"`{0,2}(?:<[^>]{0,24})?\Z")
_SHORT = 40  # so many characters tell whether the end of a call stands there
_PYTHON = re.compile(r"[A-Za-z_][\w.]{0,100}\(")
_BARE_INPUT = re.compile(r"\[TOOL_CALLS\]\s*(?P<name>[^\[\]{}<>\s]+)\s*\[ARGS\]\s*[^\s{][^\n]*")
_SECTION = re.compile(r"<\|tool_calls_section_begin\|>[^<]*+")


def token_call(text: str, at: int, terms: Terms, tokens: Tokens, partial: str) -> Block | None:
    """The call whose head stands at `at`; None where there is none.

    `partial` is the pattern of a head that is still incomplete at the end of the text.
    """
    head = tokens.head.match(text, at)
    if head is None:
        return _without_input(text, at, terms, tokens, partial)
    block = call_with(head.group("name"), text, head.end(), terms)
    if block.open or block.problem is not None:
        return block
    at = _before_end(text, block.end)
    end = tokens.end.match(text, at)
    if end is not None:
        return replace(block, end=end.end())
    if terms.more and len(text) - at < _SHORT:
        return Block(len(text), open=True)
    if tokens.needs_end and terms.cut and _BEGUN_END.match(text, at):
        return Block(len(text), problem=truncated(head.group("name")), open=True)
    return block


def _before_end(text: str, at: int) -> int:
    """Where the end of a call may stand, behind white space and the end of a fence."""
    match = _BEFORE_END.match(text, at)
    return match.end() if match else at


def _without_input(text: str, at: int, terms: Terms, tokens: Tokens, partial: str) -> Block | None:
    """A head without an input in braces: it has its end all the same, or the text ends in it."""
    begun = re.compile(partial).match(text, at)
    if begun is None:
        return None
    end = tokens.end.search(text, at, begun.end()) if tokens.needs_end else None
    if end is not None:
        return Block(end.end(), problem=without_object())
    return unfinished(text, terms) if begun.end() >= len(text) else None


def mistral(text: str, at: int, terms: Terms) -> Block | None:
    """`[TOOL_CALLS]` before a JSON list, or before each `name[ARGS]{...}`."""
    opener = re.compile(r"\[TOOL_CALLS\]\s*").match(text, at)
    if opener is None:
        return None
    if (
        text.startswith(("[", "{"), opener.end())
        and text[opener.end() + 1 : opener.end() + 2] != "T"
    ):
        block = protocol(text, opener.end(), terms)
        return replace(block, wrapper=False) if block else None
    if _PYTHON.match(text, opener.end()):
        return python_calls(text, opener.end(), terms, sure=True)
    if (bare := _BARE_INPUT.match(text, at)) is not None:
        return _without_braces(text, bare, terms)
    partial = r"\[TOOL_CALLS\][^\[\]{}<>]*(?:\[[A-Z_]*\]?\s*+[^\[\]{}\s]*\s*+){0,2}(?:\[[A-Z_]*)?"
    return token_call(text, at, terms, MISTRAL, partial)


def _without_braces(text: str, bare: re.Match[str], terms: Terms) -> Block:
    """`[TOOL_CALLS]name[ARGS]` before anything but an object: a problem as long as its line."""
    cut_short = bare.end() >= len(text)
    if cut_short and (terms.more or terms.cut):
        return unfinished(text, terms)
    return Block(bare.end(), problem=without_object(bare.group("name")))


def deepseek(text: str, at: int, terms: Terms) -> Block | None:
    return token_call(text, at, terms, DEEPSEEK, r"<[|｜]tool[▁_]call[▁_]begin[|｜]>[^{]*")


def kimi_k2(text: str, at: int, terms: Terms) -> Block | None:
    """A call, or the head of the section that holds the calls and nothing else."""
    section = _SECTION.match(text, at)
    if section is not None:
        unsure = terms.more and section.end() >= len(text)
        return Block(section.end(), open=unsure)
    return token_call(text, at, terms, KIMI_K2, r"<\|tool_call_begin\|>[^{]*")


def gemma(text: str, at: int, terms: Terms) -> Block | None:
    block = token_call(text, at, terms, GEMMA, r"<\|tool_call>[^{]*")
    if block is not None:
        return block
    opener = re.compile(r"<\|tool_call>[^<]*(?:<tool_call\|>)?").match(text, at)
    if opener is None:
        return None
    unsure = terms.more and len(text) - opener.end() < len("<tool_call|>")
    problem = truncated() if opener.end() >= len(text) else without_object()
    return Block(opener.end(), problem=problem, open=unsure)


def function_gemma(text: str, at: int, terms: Terms) -> Block | None:
    return token_call(text, at, terms, FUNCTION_GEMMA, r"<start_function_call>[^{]*")


def qwen_agent(text: str, at: int, terms: Terms) -> Block | None:
    """A call; a name without an input is one that was cut only where the length limit cut it."""
    block = token_call(text, at, terms, QWEN_AGENT, r"✿FUNCTION✿[^{]*")
    if block is None or block.calls or terms.more or terms.cut or block.problem is None:
        return block
    return block if "{" in text[at : block.end] else replace(block, problem=without_object())


def unfinished(text: str, terms: Terms) -> Block:
    """A call that has only begun where the text ends."""
    return Block(len(text), problem=None if terms.more else truncated(), open=True)
