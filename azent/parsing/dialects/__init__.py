"""The dialects: one table, one small recogniser each.

To teach azent another way in which some model writes calls, add a row to `DIALECTS`: its name, a
pattern for what it begins with, and a function that reads it there. Each alternative of the pattern
has to begin with a character that stands for itself, whichever that is; nothing else has to change.
The function is given the text, the place and the terms. It returns a `Block`, or None where it
finds that something else stands there; while more text may come (`terms.more`), it returns an open
block where that could change what it would say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from azent.parsing.candidates import Block, Mode, Recogniser, Terms
from azent.parsing.dialects import harmony, special_tokens, tags

# ---- the plain text that a pattern begins with ---------------------------------------------------
# Trying every dialect's pattern at every character of a reply would be slow. So the reader first
# searches for the texts that `heads` gives, and tries the patterns only where it finds one.

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_QUANTIFIER = "?*+{"
_SPECIAL = ".^$([)"


def heads(pattern: str) -> list[str]:
    """For each alternative of a pattern, the text that it begins with whatever it matches.

    Raises ValueError where an alternative begins with anything but a character that stands for
    itself: such a pattern could begin anywhere.
    """
    return [_head(tokens) for tokens in _alternatives(pattern)]


def _alternatives(pattern: str) -> list[list[str]]:
    """The tokens of each alternative at the top level of a pattern."""
    depth, found = 0, [list[str]()]
    for token in _TOKEN.findall(pattern):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _head(tokens: list[str]) -> str:
    head = ""
    for token, following in pairwise([*tokens, ""]):
        if token[0] in _SPECIAL or _is_class(token) or (following and following in _QUANTIFIER):
            break
        head += token.removeprefix("\\")
    if not head:
        raise ValueError(f"{''.join(tokens)!r} does not begin with a character of its own")
    return head


def _is_class(token: str) -> bool:
    """Is it an escape such as \\w or \\n, which does not stand for the character in it?"""
    return token[0] == "\\" and token[1].isalnum()


def beginnings(texts: Iterable[str]) -> str:
    """A pattern for the end of a text where one of these texts has only begun."""
    begun = {text[:size] for text in texts for size in range(1, len(text))}
    return f"(?:{'|'.join(map(re.escape, sorted(begun, reverse=True)))})\\Z"


# ---- the dialects: one table, one small recogniser each ------------------------------------------


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way to write calls, reasoning or the ends of turns: what it begins with, and its reader.

    `place` says where it counts: anywhere, only at the beginning of a line, or only where nothing
    was said before it in the reply.
    """

    name: str
    opener: str
    read: Recogniser
    place: Literal["anywhere", "line", "reply"] = "anywhere"


_BAR = "[|｜]"
_GAP = "[▁_]"  # DeepSeek's own kind of underscore, and the one that models write in its place
_THINK = r"(?i:think|thinking|thoughts?|reasoning|reflection|scratchpad|seed:think)>"
_THOUGHTS = (
    (rf"<{_THINK}", rf"</{_THINK}"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"<\|channel>thought\n?", r"<channel\|>"),
    (r"<\|open\|>think<\|sep\|>", r"<\|close\|>think(?:<\|sep\|>|(?=[^<])|\Z)"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<unused94>thought\n?", r"<unused95>"),
)
_CLOSED_THOUGHT = "|".join(closer for _, closer in _THOUGHTS)
_NO_THOUGHT = r"(?=<\|open\|>(?:response|tools)<\|sep\|>)"  # Kimi K3 may go on without closing it
_TURNS = rf"<(?:{_BAR}im_start{_BAR}|{_BAR}start_header_id{_BAR}|start_of_turn|{_BAR}turn)>"
_OTHER_SIDE = re.compile(
    rf"{_TURNS}\s*(?:user|system|tool|ipython|human)\b"
    rf"|<\|(?:user|observation|system)\|>|<tool_response>"
    rf"|<{_BAR}tool{_GAP}outputs?{_GAP}begin{_BAR}>|<{_BAR}User{_BAR}>"
    rf"|<\|START_OF_TURN_TOKEN\|><\|(?:USER|SYSTEM)_TOKEN\|>|<\|START_TOOL_RESULT\|>"
    r"|\[INST\]|\[TOOL_RESULTS\]|<function_results>|<\|tool_response>|<start_function_response>"
    r"|\]~b\](?:user|tool|system|developer)|✿RESULT✿"
)
_OWN_SIDE = re.compile(
    rf"{_TURNS}\s*(?:assistant|model)?[^\S\n]*(?:<{_BAR}end_header_id{_BAR}>)?|<{_BAR}[aA]ssistant{_BAR}>"
    r"|<\|START_OF_TURN_TOKEN\|>(?:<\|CHATBOT_TOKEN\|>)?|\]~b\]ai"
)
_CALL_TAGS = r"(?:[a-z]{1,12}:)?(?:tool_calls?|function_calls?)"
_ENDS = (
    rf"<{_BAR}(?:im_end|eot_id|eom_id|python_tag|endoftext|end|return|call|end_of_text|eot|EOT"
    rf"|message_end|(?:START|END)_(?:RESPONSE|TEXT|ACTION)|END_OF_TURN_TOKEN|CHATBOT_TOKEN"
    rf"|(?:begin|end){_GAP}of{_GAP}sentence|tool{_GAP}calls{_GAP}(?:begin|end)"
    rf"|tool{_GAP}(?:call|output){_GAP}end|tool{_GAP}outputs{_GAP}end|tool_calls_section_end"
    rf"|begin_of_text|(?:begin|end)_of_box){_BAR}>"
    rf"|</?{_BAR}DSML{_BAR} ?(?:function_calls|tool_calls|calls)>"
    rf"|<\[(?:begin|end){_GAP}of{_GAP}sentence\]>|‹\[(?:begin|end){_GAP}of{_GAP}sentence\][>›]"
    r"|\[\|endofturn\|\]|<end_of_turn>|<turn\|>|<eos>|<bos>|<seed:[be]os>|<sop>|</s>(?=\s*\Z|\n)|\[/INST\]|\[gMASK\]"
    r"|<\|(?:open|close)\|>(?:response|tools|message|think)(?:<\|sep\|>|\Z)"
    r"|<end_function_call>|\[e~\[|\]~!b\[|\]<\]minimax\[>\[(?:</?tool_call>)?|✿RETURN✿[:：]?"
    r"|<co(?:: ?[\d:,\[\] ]{1,40})?>|</co(?:: ?[\d:,\[\] ]{1,40})?>"
)
_LOOSE_ENDS = rf"</{_CALL_TAGS}>|</arg_(?:key|value)>"
_MARKERS = re.compile(f"{_ENDS}|{_LOOSE_ENDS}")
_QUOTED = ("`", '"', "'", "“")


def _thought(text: str, at: int, terms: Terms) -> Block | None:
    """Reasoning, up to its own closer or the end of the text."""
    if text[max(0, at - 1) : at] in _QUOTED:
        return None
    for opener, closer in _THOUGHTS:
        if (match := re.compile(opener).match(text, at)) is not None:
            return Block(match.end(), mode=Mode(False, re.compile(f"{closer}|{_NO_THOUGHT}")))
    return None


def _late_end_of_thought(text: str, at: int, terms: Terms) -> Block | None:
    """The end of reasoning that the prompt had opened: all before it was reasoning."""
    match = re.compile(_CLOSED_THOUGHT).match(text, at)
    if match is None or text[max(0, at - 1) : at] in _QUOTED:
        return None
    return Block(match.end(), undo=True)


def _turn(text: str, at: int, terms: Terms) -> Block | None:
    if (other := _OTHER_SIDE.match(text, at)) is not None:
        return Block(other.end(), stop=True)
    own = _OWN_SIDE.match(text, at)
    if own is None:
        return None
    unsure = terms.more and len(text) - own.end() < len("<|end_header_id|>")
    return Block(own.end(), open=unsure, mark=True)


def _marker(text: str, at: int, terms: Terms) -> Block | None:
    match = _MARKERS.match(text, at)
    if match is None or "`" in (text[at - 1 : at], text[match.end() : match.end() + 1]):
        return None
    unsure = terms.more and not text[match.end() : match.end() + 100].strip()
    return Block(match.end(), open=unsure, mark=True)


DIALECTS = (
    Dialect("reasoning", "|".join(opener for opener, _ in _THOUGHTS), _thought),
    Dialect("the end of reasoning", _CLOSED_THOUGHT, _late_end_of_thought),
    Dialect("Hermes and other tags", tags.OPENER, tags.tagged),
    Dialect("Qwen3-Coder", r"<function(?:[ \t]{0,8}=| name=)", tags.bare_markup),
    Dialect(
        "DSML and invoke",
        rf"<(?:{_BAR}DSML{_BAR} ?|antml:)?invoke {{1,4}}name {{0,4}}=",
        tags.bare_markup,
    ),
    Dialect("MiniMax M3", r"\]<\]minimax\[>\[<invoke name=", tags.bare_markup),
    Dialect("Mistral", r"\[TOOL_CALLS\]", special_tokens.mistral),
    Dialect("DeepSeek V3", rf"<{_BAR}tool{_GAP}call{_GAP}begin{_BAR}>", special_tokens.deepseek),
    Dialect("Kimi K2", r"<\|tool_call(?:s_section)?_begin\|>", special_tokens.kimi_k2),
    Dialect("Kimi K3", r"<\|open\|>call", tags.bare_markup),
    Dialect("Gemma", r"<\|tool_call>", special_tokens.gemma),
    Dialect("FunctionGemma", r"<start_function_call>", special_tokens.function_gemma),
    Dialect("Qwen-Agent", r"✿FUNCTION✿", special_tokens.qwen_agent),
    Dialect("Harmony", r"<\|channel\|>|<\|start\|>|<\|constrain\|>", harmony.harmony),
    Dialect("turns", f"{_OTHER_SIDE.pattern}|{_OWN_SIDE.pattern}", _turn),
    Dialect("ends of turns", _ENDS, _marker),
    Dialect("ends of calls that did not begin", _LOOSE_ENDS, _marker),
    Dialect("Phi", r"functools\[", tags.tagged, "line"),
    Dialect("Harmony without its first mark", special_tokens.BEGUN_HEADER, harmony.harmony, "line"),
    Dialect("Harmony without its marks", special_tokens.HEADER, special_tokens.header, "line"),
    Dialect("a marked name before its input", special_tokens.MARKED, special_tokens.marked, "line"),
    Dialect("a name before its input", special_tokens.NAMED, special_tokens.named, "reply"),
    Dialect(
        "Harmony's reasoning without its marks",
        special_tokens.THOUGHT,
        special_tokens.thought,
        "reply",
    ),
)


def openers(place: str) -> str:
    """The pattern for what the dialects of such a place begin with."""
    return "|".join(dialect.opener for dialect in DIALECTS if dialect.place == place)


HEADS = sorted(set(heads(openers("anywhere"))))
FIRST = "".join(sorted({head[0] for head in HEADS}))  # the characters that they begin with
_OPENERS = tuple((re.compile(dialect.opener), dialect) for dialect in DIALECTS)

_IN_ANSWERS = ("reasoning", "the end of reasoning", "Harmony", "turns", "ends of turns")
_ANSWERS = tuple(dialect for dialect in DIALECTS if dialect.name in _IN_ANSWERS)
ANSWER_OPENERS = "|".join(dialect.opener for dialect in _ANSWERS)


def answer_at(text: str, at: int, terms: Terms) -> Block | None:
    """As `dialect_at`, in an answer: reasoning on lines of its own, and marks, but no calls."""
    for dialect in _ANSWERS:
        if re.compile(dialect.opener).match(text, at):
            block = dialect.read(text, at, terms)
            if block is not None and not block.calls:
                return block
    return None


def dialect_at(text: str, at: int, terms: Terms, place: str = "anywhere") -> Block | None:
    """What some dialect of such a place has at `at`; None where it is plain text."""
    for opener, dialect in _OPENERS:
        if dialect.place == place and opener.match(text, at):
            block = dialect.read(text, at, terms)
            if block is not None:
                return block
    return None
