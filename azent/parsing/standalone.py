"""Does a call stand alone? Only then is it meant; in a sentence it is talked about.

Before it on its line may stand nothing, a list marker, or a label such as `Tool call:`; after it,
nothing but stray closing marks, another call, or a chat marker. A line that quotes (`>`), denies
(`I will not run:`), gives an example or asks for leave does not lead to a call. A call in marks of
its own (tags, special tokens) may follow words, but not in the quotes of a sentence, and not where
a sentence runs on through a tag.
"""

from __future__ import annotations

import re
from dataclasses import replace

from azent.messages import Problem
from azent.parsing import shapes
from azent.parsing.candidates import Block, Terms, protocol

REACH = 300  # characters looked back at most, so that a stream need not be kept

# What may stand before the first word of a line unseen: spaces of all kinds, marks and controls.
UNSEEN = r"[\x00-\x09\x0b-\x1a\x1c-\x20\x7f\xa0\u2000-\u200d\u202f\u2060\u3000\ufeff]"
GAP = f"{UNSEEN}*"
_START = re.compile(GAP + r"(?:(?:[-*•+]|\d{1,3}[.)])[ \t]+)?[`\"'(]?[ \t]*")
_LABEL = re.compile(GAP + r"[^\n>|{}\[\]\"`]{1,120}[:：=][*_]{0,3}[ \t]*[`]?")
_DENIAL = re.compile(
    r"\b(?:not|never|cannot|refuse\w*|avoid\w*|instead of|rather than|no longer"
    r"|no (?:function|tool|call)s?)\b|n['’]t\b",
    re.IGNORECASE,
)
_RESOLVE = re.compile(  # "I do not know, so I will call": what is denied comes before it
    r"[,.;]\s+(?:and\s+)?(?:so|therefore|thus|let me|let['’]s|i will|i['’]ll)\b", re.IGNORECASE
)
_ASIDE = re.compile(  # what leads to a call that is shown, or told of, rather than made
    r"\b(?:for instance|examples?(?!\.\w)|such as|suppose|imagine|hypothetical\w*|would have)\b"
    r"|\b(?:user|you|they|he|she|message)\s+(?:said|wrote|sent|asked|typed|pasted|gave)\b"
    r"|\be\.g\.|\A\W*if\b",
    re.IGNORECASE,
)
_FORM = re.compile(  # what the form of calls is described by
    r"\b(?:format|syntax|would|looks? like|is written|written as|reply with)\b", re.IGNORECASE
)
_NO_CALL = re.compile(  # words before a tag deny it only where they are of calling
    r"(?:\b(?:not|never|cannot|refuse to)|n['’]t)\s+(?:\w+\s+){0,2}"
    r"(?:call|run|use|send|make|execute|invoke|do)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"[.!?]\s+")
_TOKENS = ("<|", "<｜", "[")  # marks that are no text to the models that write them
_ASKING = re.compile(
    r"\b(?:would you like|do you want|shall i|should i|may i)\b.*\?\W*\Z", re.IGNORECASE
)
_FRAME = re.compile(
    r"<(?:examples?|analysis|reflection|scratchpad|quote|blockquote|comment|context|history|user"
    r"|instructions?)>\s*\Z",
    re.IGNORECASE,
)
INVENTED = re.compile(  # a line on which the model plays the other side
    r"[ \t]{0,8}[*_]{0,2}(?:(?:Tool|Function)[ _]?(?:results?|responses?|outputs?)|Observation"
    r"|Results?|Output|User|Human|Assistant)[*_]{0,2}[ \t]{0,2}[:：]",
    re.IGNORECASE,
)
_REFUSAL = re.compile(  # words of other languages that may refuse a call
    r"\b(?:nicht|niemals|keine?[mnrs]?|ohne|pas|jamais|sans|nunca|jamás|não|nem|non|mai|niet|geen"
    r"|не|нет|никогда|no (?:voy|debo|puedo|ejecut\w+|llam\w+))\b|ません|ない|않|못"
    r"|不(?![过過错錯久同])|[没沒](?![问問关關事])|(?<![特分区區个個])[别別]",
    re.IGNORECASE,
)
_REST = re.compile(GAP + r"(?:[}\])`\"';,]+[ \t]*)?")
_FENCE_LINE = re.compile(r"`+\Z|(?:^|\n)[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t]*\Z")
_NEXT = re.compile(
    r"\n|\r|\Z|[{\[｛]|<[|｜/\[]?\w|<[|｜]|‹\[\w|\[/?[A-Z_]{3,}|```|>>>|<<<"
    r"|(?:and|or)[ \t]{0,8}[{\[]"
)
_QUOTES = {"`": "`", '"': '"', "'": "'", "“": "”", "‘": "’", "«": "»"}
_SENTENCE_END = re.compile(r"(?:^|[\n.!?:;)\]}>…。！？：*])[ \t]*\Z")
_ON = re.compile(r"[ \t]+[^\s<`\"'“.,;:!?)]")


def may_begin(text: str, at: int) -> bool:
    """May a call begin at `at`, judging by what stands before it?"""
    lead = line_lead(text, at)
    if _START.fullmatch(lead):
        return not denied(line_before(text, at - len(lead)))
    return bool(_LABEL.fullmatch(lead)) and not _unmeant(lead)


def denied(line: str) -> bool:
    """Does a line that leads to a call say that it is not to be made, or not now, or not by us?"""
    return _unmeant(line) if _leads_on(line) else _holds_back(line)


def line_lead(text: str, at: int) -> str:
    """What stands before `at` on its line; only as far back as `REACH`."""
    return text[max(text.rfind("\n", max(0, at - REACH), at) + 1, at - REACH, 0) : at]


def is_shown(text: str, at: int) -> bool:
    """Do the words before `at` say that what stands there is shown or refused, and not meant?"""
    lead = line_lead(text, at)
    if lead.lstrip().startswith((">", "|", "<!--")) or _unmeant(lead) or _FORM.search(lead):
        return True
    return not lead.strip() and denied(line_before(text, at - len(lead)))


def may_be_refused(lead: str) -> bool:
    """May the last sentence of a lead refuse, in a language that only some words are known of?"""
    sentences = re.split(r"[.!?]\s+|[。！？]", lead.strip().rstrip("。！？"))
    return bool(_REFUSAL.search(sentences[-1]))


def _leads_on(line: str) -> bool:
    return line.rstrip(" \t\r*_").endswith((":", "："))


def _holds_back(line: str) -> bool:
    return bool(_ASKING.search(line) or _FRAME.search(line))


def _unmeant(lead: str) -> bool:
    resolve = _RESOLVE.search(lead)
    denial = _DENIAL.search(lead, resolve.start() if resolve else 0)
    return bool(denial or _ASIDE.search(_SENTENCES.split(lead.strip())[-1]))


def line_before(text: str, begin: int) -> str:
    """The last line with words in it before a line, fences aside; only as far back as `REACH`."""
    lead = text[max(0, begin - REACH) : begin].rstrip()
    while (fence := _FENCE_LINE.search(lead)) is not None:
        lead = lead[: fence.start()].rstrip()
    return lead[lead.rfind("\n") + 1 :]


def rest_of_line(text: str, end: int) -> tuple[int, bool]:
    """Where a call at the end of its line really ends, and whether its line holds nothing else."""
    match = _REST.match(text, end)
    after = match.end() if match else end
    return after, bool(_NEXT.match(text, after))


def is_mentioned(text: str, begin: int, end: int) -> bool:
    """Is a call in marks of its own talked about: quoted, in the run of a sentence, or denied?"""
    if not text.startswith(_TOKENS, begin) and _is_led_away(text, begin):
        return True
    if _QUOTES.get(text[max(0, begin - 1) : begin]) == text[end : end + 1]:
        return not (may_begin(text, begin) and rest_of_line(text, end)[1])
    return not text.startswith(_TOKENS, begin) and in_a_sentence(text, begin, end)


def _is_led_away(text: str, begin: int) -> bool:
    """Does its line quote it, or do the words before it say that it is not to be made?"""
    before = line_lead(text, begin)
    lead = before.strip()
    if not lead and not _leads_on(lead := line_before(text, begin - len(before))):
        return _holds_back(lead)
    last = _SENTENCES.split(lead)[-1]
    return lead.startswith(">") or bool(_NO_CALL.search(last) or _ASIDE.search(last))


def in_a_sentence(text: str, begin: int, end: int) -> bool:
    """Does a sentence run on through a tag?"""
    lead = text[max(0, begin - 80) : begin]
    runs_up = bool(lead.strip()) and lead[-1:].isspace() and not _SENTENCE_END.search(lead)
    return runs_up and bool(_ON.match(text, end))


# ---- the protocol's own JSON on a line with other words ------------------------------------------
# `Let me check. {"tools": [...]}` is a call where the reply ends with it. Followed by words it does
# not run, but nobody should read it as the answer either: it is a problem, and the model is asked
# again. Where the words say that no call is meant (a denial, an example, a quotation) it stays
# text.

_FIRST_KEYS = "|".join(("tools?", *shapes.THOUGHTS))
OPENER = rf"\{{\s{{0,8}}[\"'“„]?(?i:{_FIRST_KEYS})[\"'”“]?\s{{0,8}}[:：]"
_WHOLE = re.compile(r"[{,]\s*+[\"'“„]?(?i:tools)[\"'”“]?\s*+[:：]")
_MARKS = re.compile(r"(?:[*_(\[]{1,6}|<[A-Za-z]{1,20}>|print\()[ \t]?\Z")
HELD_OPENER = r"\{\s{0,8}[\"'“„]?[A-Za-z]{0,11}[\"'”“]?\s{0,8}"  # a part of what OPENER matches
HELD_MARKS = rf"(?:[*_(\[]{{1,6}}|<[A-Za-z]{{1,20}}>|print\()[ \t]?(?:{HELD_OPENER})?\Z"
_CLOSERS = re.compile(r"[ \t]*+(?:[*_)}\];,]++[ \t]*+)?(?:</[A-Za-z]{1,20}>)?\s*+(?:```\s*+)?")
_ENOUGH = 40  # so many characters tell whether the reply goes on behind a call
_END = re.compile(r"\Z|<[|｜\[]|</s>|<end_of_turn>|\{")
_OPENING_QUOTES = "`\"'“‘«„「『"
_BESIDE = (
    "The call stands on a line with other words, so it was not run. "
    "Send the JSON alone, or answer in words alone."
)


def inline(text: str, at: int, terms: Terms) -> Block | None:
    """The calls in the JSON at `at`, a problem where words follow them; None where it is text."""
    lead = line_lead(text, at)
    if (
        not lead.strip()
        or is_shown(text, at)
        or text[at - 1] in _OPENING_QUOTES
        or _is_inside(lead)
    ):
        return None
    block = protocol(text, at, terms)
    if block is None or block.open or not block.says_something:
        return block
    return _judged(text, at, block, lead, terms)


def _judged(text: str, at: int, block: Block, lead: str, terms: Terms) -> Block:
    """The block where the reply ends with it, and a problem where it goes on."""
    closers = _CLOSERS.match(text, block.end)
    end = closers.end() if closers else block.end
    if terms.more and len(text) - end < _ENOUGH:
        return Block(len(text), open=True)
    invented = INVENTED.match(text, end) is not None
    if not (invented or _END.match(text, end)) or may_be_refused(lead):
        return beside_words(text, at, block)
    return replace(block, end=end, stop=invented)


def beside_words(text: str, at: int, block: Block) -> Block:
    """What the JSON at `at` comes to, where the words on its line keep it from running.

    A single call without the protocol's list may be part of the sentence, so it stays text.
    """
    if not _WHOLE.search(text, at, block.end):
        return Block(block.end, words=text[at : block.end])
    if not block.calls:
        return block
    return Block(block.end, problem=Problem("malformed", _BESIDE))


def marks_before(text: str, begin: int, at: int) -> int:
    """Where the marks begin that stand right before `at`, such as `**` or `<json>`."""
    marks = _MARKS.search(text, max(begin, at - 24), at)
    return marks.start() if marks else at


def _is_inside(lead: str) -> bool:
    """Is it part of a larger value on its line, and not alone in brackets?"""
    lead = lead.rstrip().removesuffix("[")
    return lead.count("{") > lead.count("}") or lead.count("[") > lead.count("]")
