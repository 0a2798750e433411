"""Find the places of a reply where something other than prose may begin.

Prose is passed at the speed of one search for a handful of characters; only at these is looked
closer. `held_from` says how much at the end of a text could still become such a spot; so that this
is little, all that a spot is recognised by is bounded, white space too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from azent.messages import Specs
from azent.parsing import standalone
from azent.parsing.candidates import Block, Mode, Terms, joined_blocks
from azent.parsing.dialects import ANSWER_OPENERS, FIRST, HEADS, beginnings, dialect_at, openers
from azent.parsing.dialects.python import python_calls
from azent.parsing.dialects.react import react
from azent.parsing.dialects.tags import VALUES, value
from azent.parsing.standalone import denied, line_before

_FIRST = f"[{re.escape(FIRST)}]"
_SPOT = re.compile(rf"[\n:：=`<{{]|{_FIRST}")  # "<" too, because a tool's name may be a tag
_VALUE = r"[{\[｛［](?!/?[A-Z_]{4,}\])"
_BEGIN = rf"\n{standalone.UNSEEN}{{0,80}}(?:(?:[-*•+]|\d{{1,3}}[.)])[ \t]{{1,20}})?"
_LINE = re.compile(
    rf"{_BEGIN}(?:"
    rf"(?P<value>[`'(]?(?={_VALUE}))|(?P<quoted>(?=\"\{{))|(?P<fence>(?=```|~~~))"
    r"|(?P<react>(?=[*_# \t]{0,6}(?i:Thought|Action|Final Answer)(?: ?\d{1,2})?[*_]{0,2}"
    r"[ \t]{0,2}[:：]))"
    rf"|(?P<line>(?={openers('line')}))"
    r"|(?P<python>(?=(?:print\(|await )?[A-Za-z_][\w.:-]{0,80}\())"
    rf"|(?P<reply>(?={openers('reply')})))"
)
_LABEL = re.compile(rf"[:：=][*_]{{0,3}}[ \t]{{0,80}}(?P<value>`?(?={_VALUE}))")
_MARK = re.compile(rf"(?P<dialect>(?={openers('anywhere')}))")
_ANSWER = re.compile(rf"(?P<answer>(?={ANSWER_OPENERS}))")
_FENCE = re.compile(r"(?P<fence>(?=```))")
_TAG = re.compile(r"<(?P<tag>[A-Za-z_][\w.-]{0,100})[ \t]{0,8}/?>")
_INLINE = re.compile(rf"(?P<inline>(?={standalone.OPENER}))")
_LOOK = {"\n": _LINE, ":": _LABEL, "：": _LABEL, "=": _LABEL, "`": _FENCE, "{": _INLINE}

REACH = 240  # no spot needs more text than this to be recognised as one
_BEGUN = re.compile(
    rf"(?={_FIRST})(?:{beginnings(HEADS)}|(?:{'|'.join(map(re.escape, HEADS))})\S{{0,24}}\Z)"
)
_BROKEN = re.compile(
    rf"(?=.{{5}})(?={_FIRST}){beginnings(HEADS)}"
    r"|<[|｜][\w▁]{1,40}\Z|<(?:tool|function|seed:|minimax:)[\w.=:-]{0,40}\Z",
    re.DOTALL,
)
_HELD = re.compile(
    rf"{_BEGIN}(?:[*_#\s]{{0,8}}(?:[A-Za-z]{{0,7}}|(?i:Final) \w{{0,6}})(?: ?\d{{1,2}})?"
    r"[*_]{0,2}\s*|(?:await |#{1,4} |call: )?[^\s]{0,88}|to=\S{0,100}(?:\s+<?)?|"
    r"(?:assistant|commentary|analysis)[ a-z]{0,20}(?:to=[\w.:-]{0,100}[ \w]{0,30}\s{0,8}<?)?"
    r"|to=[\w.:-]{0,100}[ \w]{0,30}\s{0,8})\Z"
    r"|[:：=][*_]{0,3}[ \t]*`?\Z|<[^>\n]{0,120}\Z|\[[^\]\n]{0,40}\Z|`{1,2}\Z"
    rf"|{standalone.HELD_OPENER}\Z|{standalone.HELD_MARKS}"
    r"|<\|(?:open|close)\|>[^<\n]{0,160}(?:<[^>\n]{0,8})?\Z|<(?:\|channel|unused94)>\w{0,6}\Z"
    r"|◁[^▷]{0,10}\Z|(?<!\w)p(?:r(?:i(?:nt?)?)?)?\Z|\s+\Z"
)


@dataclass(frozen=True, slots=True)
class Spot:
    """What may begin: its kind, where it is recognised, where it starts, where its value is."""

    kind: str
    begin: int
    start: int
    at: int


def next_spot(text: str, at: int, specs: Specs, words_only: bool) -> Spot | None:
    """The first spot at or after `at`."""
    for hit in _SPOT.finditer(text, at):
        match = _looked(text, hit.start(), words_only)
        if match is not None:
            kind = str(match.lastgroup)
            if kind == "inline":
                start = standalone.marks_before(text, at, match.start())
                return Spot(kind, match.start(), start, match.start())
            return Spot(kind, match.start(), match.start(kind), match.end())
        if hit.group() == "<" and not words_only and _names_tool(text, hit.start(), specs):
            return Spot("tag", hit.start(), hit.start(), hit.start())
    return None


def _looked(text: str, at: int, words_only: bool) -> re.Match[str] | None:
    """What begins at `at`: a dialect, or what else may begin with its first character."""
    match = (_ANSWER if words_only else _MARK).match(text, at)
    if match is not None or words_only or text[at] not in _LOOK:
        return match
    return _LOOK[text[at]].match(text, at)


def _names_tool(text: str, at: int, specs: Specs) -> bool:
    tag = _TAG.match(text, at)
    return tag is not None and tag.group("tag") in specs


def broken_mark(text: str, at: int) -> int:
    """Where the first characters of a mark begin that the end of a cut text leaves incomplete."""
    found = _BROKEN.search(text, max(at, len(text) - REACH))
    return found.start() if found else len(text)


def held_from(text: str, at: int) -> int:
    """From where on the end of `text` is not certain to be prose; not before `at`."""
    since = max(at, len(text.rstrip()) - REACH)
    starts = [found.start() for each in (_HELD, _BEGUN) if (found := each.search(text, since))]
    return min([*starts, len(text)])


# ---- fenced code ---------------------------------------------------------------------------------
# A fence that is empty, or never closed because the text ends, says nothing and is dropped. Where
# an opening line is written twice, the second counts.

_OPENER = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<label>[\w+#.-]*)[ \t]*")
_AGAIN = re.compile(rf"[ \t\r]*+\n\s*+(?:[-*•+][ \t]++)?{_OPENER.pattern}")
_QUOTING = ("markdown", "md", "text", "txt", "diff")  # a fence inside of these is shown, not meant
_LINE_END = re.compile(r"[^\n]*")
_BETWEEN = re.compile(r"[\s,;]*+")
_CALLISH = re.compile(r"[{\[｛［<\"]|[A-Za-z_][\w.:-]*\s*\(|print\s*\(|(?i:Action|Thought)\s*[:：]")
_SHORT = 120  # what begins with less than that may still become a call
_MAYBE_FENCE = re.compile(r"\s*+(?:[-*•+][ \t]*+)?(?:[`~]{0,2}|(?:`{3,}|~{3,})[\w+#.-]*[ \t]*+)\Z")
# What may become a call in a fence: a name, and Mistral's marks behind it: now[CALL_ID]x1[ARGS]
_MAYBE = re.compile(r"(?:[A-Za-z_][\w.:-]{0,80}+(?:\[[A-Z_]{0,12}+(?:\]\w{0,40}+)?+){0,2}+)?+\s*\Z")


def fenced(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in the fence that opens at `at`, or the start of a listing."""
    opener = _OPENER.match(text, at)
    if opener is None:
        return None
    openers = _openers(text, opener)
    if terms.more and _MAYBE_FENCE.match(text, openers[-1].end()):
        return Block(len(text), open=True)
    if (empty := _empty(text, openers[-1])) is not None:
        return empty
    found = None if denied(line_before(text, at)) else _calls(text, openers[-1], terms)
    if found is None:
        return _listing(text, openers[-1], terms)
    return found if found.open else _with_closers(text, found, openers, terms)


def _openers(text: str, opener: re.Match[str]) -> list[re.Match[str]]:
    """The opening line of a fence, and those that repeat it right below."""
    openers = [opener]
    while (again := _AGAIN.match(text, openers[-1].end())) and _repeats(again, openers[-1]):
        openers.append(again)
    return openers


def _repeats(again: re.Match[str], opener: re.Match[str]) -> bool:
    """Is it a second opening line, rather than the end of the fence or a fence that is quoted?"""
    fence, other = opener.group("fence"), again.group("fence")
    if opener.group("label").casefold() in _QUOTING or (fence != other and fence.startswith(other)):
        return False
    return fence != other or bool(again.group("label"))


def _empty(text: str, opener: re.Match[str]) -> Block | None:
    """The fence, if nothing stands in it or behind it."""
    closer = _AGAIN.match(text, opener.end())
    if closer is not None and closer.group("fence").startswith(opener.group("fence")):
        return Block(closer.end())
    return Block(len(text)) if not text[opener.end() :].strip() else None


def _listing(text: str, opener: re.Match[str], terms: Terms) -> Block:
    """The opening line, and what ends the listing; inline code where it ends on the same line."""
    fence, line = opener.group("fence"), _LINE_END.match(text, opener.end())
    end = line.end() if line else opener.end()
    begin = opener.start("fence")
    closer = text.find(fence, opener.end(), end)
    if closer >= 0:
        return Block(closer + len(fence), words=text[begin : closer + len(fence)])
    if terms.more and end >= len(text):
        return Block(len(text), open=True)
    mode = Mode(True, re.compile(rf"\n[ \t]{{0,30}}{re.escape(fence)}"))
    return Block(opener.end(), words=text[begin : opener.end()], mode=mode)


def _with_closers(text: str, found: Block, openers: list[re.Match[str]], terms: Terms) -> Block:
    """The calls with the ends of all their opening lines."""
    end = found.end
    for _ in openers[1:]:
        closer = _AGAIN.match(text, end)
        if terms.more and (closer is None or closer.end() >= len(text)) and len(text) - end < 40:
            return Block(len(text), open=True)
        if closer is None or closer.group("label"):
            break
        end = closer.end()
    return replace(found, end=end)


def _calls(text: str, opener: re.Match[str], terms: Terms) -> Block | None:
    """All that the fence holds, if it is calls; None where it is anything else."""
    fence, found = opener.group("fence"), None
    at = _skip(text, opener.end())
    if terms.more and _MAYBE.match(text, at):
        return Block(len(text), open=True)
    while found is None or not text.startswith(fence, at):
        if at >= len(text):
            return _unclosed(text, found, terms)
        block = _one(text, at, terms)
        if terms.more and _is_open(block, found, text, at):
            return Block(len(text), open=True)
        if block is None or block.mode or (block.words and not block.says_something):
            return None
        found = block if found is None else joined_blocks(found, block)
        at = _skip(text, block.end)
    return replace(found, end=at + len(fence))


def _is_open(block: Block | None, found: Block | None, text: str, at: int) -> bool:
    """May what stands at `at` still become a call, or a longer one?"""
    if block is not None and (block.open or block.says_something):
        return block.open
    begun = found is not None or bool(_CALLISH.match(text, at)) or text[at] in FIRST
    return begun and len(text) - at < _SHORT


def _unclosed(text: str, found: Block | None, terms: Terms) -> Block | None:
    if terms.more:
        return Block(len(text), open=True)
    return replace(found, end=len(text)) if found is not None else None


def _one(text: str, at: int, terms: Terms) -> Block | None:
    for place in ("anywhere", "line"):
        if (block := dialect_at(text, at, terms, place)) is not None:
            return block
    if not _CALLISH.match(text, at) or text[at] == "<":
        return None
    if text.startswith(("Action", "Thought", "action", "thought"), at):
        return react(text, at, terms)
    if text.startswith(VALUES, at):
        return value(text, at, terms)
    return python_calls(text, at, terms)


def _skip(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at
