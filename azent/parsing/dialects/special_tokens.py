"""Read calls between special tokens, and what is left where those were dropped.

Mistral, DeepSeek V3, Kimi K2, both Gemmas and Qwen-Agent. The arguments are read as a value, so the
tokens may stand inside strings without harm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from azent.parsing.candidates import (
    Block,
    Terms,
    call_with,
    joined_blocks,
    protocol,
    truncated,
    without_object,
)
from azent.parsing.dialects import markup
from azent.parsing.dialects.python import python_calls
from azent.schema.validate import resolved_tool


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


# ---- calls whose special tokens were dropped on the way ------------------------------------------
# Servers decode special tokens to nothing, so what a model wrote as `[TOOL_CALLS]name[ARGS]{...}`
# may arrive as `name{...}`. That is read only where the name is a tool's and nothing else is said.

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
