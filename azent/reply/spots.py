"""The spots of a reply where something other than prose may begin.

Prose is passed at the speed of one search for a handful of characters; only at these is looked
closer. `held_from` says how much at the end of a text could still become such a spot; so that this
is little, all that a spot is recognised by is bounded, white space too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from azent.messages import Specs
from azent.reply import alone, inline
from azent.reply.dialects import ANSWER_OPENERS, FIRST, HEADS, openers
from azent.reply.dialects.openers import beginnings

_FIRST = f"[{re.escape(FIRST)}]"
_SPOT = re.compile(rf"[\n:：=`<{{]|{_FIRST}")  # "<" too, because a tool's name may be a tag
_VALUE = r"[{\[｛［](?!/?[A-Z_]{4,}\])"
_BEGIN = rf"\n{alone.UNSEEN}{{0,80}}(?:(?:[-*•+]|\d{{1,3}}[.)])[ \t]{{1,20}})?"
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
_INLINE = re.compile(rf"(?P<inline>(?={inline.OPENER}))")
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
    rf"|{inline.HELD_OPENER}\Z|{inline.HELD_MARKS}"
    r"|<\|(?:open|close)\|>[^<\n]{0,160}(?:<[^>\n]{0,8})?\Z|<(?:\|channel|unused94)>\w{0,6}\Z"
    r"|◁[^▷]{0,10}\Z|\s+\Z"
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
                start = inline.marks_before(text, at, match.start())
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
