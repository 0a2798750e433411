"""One pass over a reply, from left to right: words, reasoning and calls as they come.

The pass stops only at spots where something other than prose may begin, asks the recogniser for
that spot, and goes on behind what it found. While more text may come, it stops before whatever is
not certain yet; so what it has passed never changes, which is what streaming needs. The exception
is the end of reasoning which the prompt had opened: it makes reasoning of all before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from azent.parsing import standalone
from azent.parsing.candidates import Block, Mode, Terms, protocol, truncated
from azent.parsing.dialects import answer_at, dialect_at
from azent.parsing.dialects.markup import tag_named_tool
from azent.parsing.dialects.python import python_calls
from azent.parsing.dialects.react import react
from azent.parsing.openings import Spot, broken_mark, fenced, held_from, next_spot
from azent.parsing.standalone import beside_words, inline
from azent.values.strict_json import strict

_SEQUEL = re.compile(r"[\s,;]*(?:(?:and|or)\s+)?(?=[{\[｛])")
_MAYBE_SEQUEL = re.compile(r"[\s,;]*+(?:an?d?|or?)?\s*\Z")
_HELD_IN_MODE = re.compile(
    r"<\|[^\n]{0,200}\Z|<\|(?:call|return)\|>\s{0,8}<[^>\n]{0,8}\Z|[<\[◁][^<\[◁]{0,40}\Z"
    r"|\n[ \t]{0,30}[`~]*\Z|\s+\Z"
)
_WORD = re.compile(r"\S")
_NEXT = 12  # so many characters tell whether a line goes on behind a call with a call
_PATIENCE = 20_000  # characters that may be read in vain, besides twice as many as were passed


class Scan:
    """The pass; `feed` text as it comes, `finish` when there is no more."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._while_more = replace(terms, more=True)
        self._text = "\n"  # a line break before the first line: every line then begins with one
        self._at = 0
        self._passed = 0
        self._missed = 0
        self._mode: Mode | None = None
        self._called = self._chained = self._stopped = self._said = False
        self._waiting: list[str] = []
        self._waits_for = 0

    def feed(self, piece: str) -> list[Block]:
        """What became certain with another piece of text."""
        self._waiting.append(piece)
        self._waits_for -= len(piece)
        if self._waits_for > 0:
            return []
        self._gather()
        found = list(self._run(self._while_more))
        self._forget()
        return found

    def finish(self, cut: bool = False) -> list[Block]:
        """What the rest of the text is; `cut` where the length limit ended it."""
        self._gather()
        return list(self._run(replace(self._terms, cut=cut)))

    def whole(self, text: str, cut: bool = False) -> list[Block]:
        """What a text is that is all there."""
        self._waiting.append(text)
        return self.finish(cut)

    # ---- the buffer ----

    def _gather(self) -> None:
        self._text += "".join(self._waiting)
        self._waiting.clear()

    def _forget(self) -> None:
        """Drop what is behind, save for as much as recognisers look back at.

        What is held back is looked at again only when it has grown by a part of itself: a long call
        is then not read anew with each of its characters.
        """
        behind = self._at - 2 * standalone.REACH
        if behind > 4000:
            self._text, self._at = self._text[behind:], self._at - behind
        held = len(self._text) - self._at
        self._waits_for = held // 8 if held > 300 else 0

    # ---- the pass ----

    def _run(self, terms: Terms) -> Iterator[Block]:
        while self._at < len(self._text) and not self._stopped:
            before = self._at, self._mode, self._chained
            if self._mode is not None:
                yield self._in_mode(self._mode, terms)
            elif self._chained:
                yield from self._sequel(terms)
            else:
                yield from self._in_prose(terms)
            if before == (self._at, self._mode, self._chained):
                return

    def _in_mode(self, mode: Mode, terms: Terms) -> Block:
        text, begin = self._text, self._at
        closer = mode.closer.search(text, begin)
        if closer is not None and not (terms.more and text[closer.end() :].strip() == ""):
            self._mode, self._at = None, closer.end()
            self._chained = not mode.listing  # a call may follow reasoning on its last line
            end = closer.end() if mode.listing else closer.start()
        else:
            end = self._at = self._certain_in_mode(closer) if terms.more else len(text)
        inner = text[begin:end]
        return Block(end, words=inner) if mode.listing else Block(end, thinking=inner)

    def _certain_in_mode(self, closer: re.Match[str] | None) -> int:
        end = closer.start() if closer else len(self._text)
        held = _HELD_IN_MODE.search(self._text, max(self._at, end - 210), end)
        return held.start() if held else end

    def _in_prose(self, terms: Terms) -> Iterator[Block]:
        """Prose up to the next block, and the block."""
        at = self._at
        while (spot := next_spot(self._text, at, terms.specs, terms.words_only)) is not None:
            block = self._read(spot, terms) if self._patient(spot) else None
            if block is not None and block.open and terms.more:
                yield from self._prose(self._whole_lines(min(spot.begin, spot.start)))
                return
            if block is not None and not self._in_vain(spot, block):
                # A quote mark before a call is dropped with it; before words it is one of them.
                yield from self._prose(spot.start if block.says_something else spot.at)
                yield from self._pass(block)
                return
            at = spot.begin + 1
        yield from self._prose(self._certain() if terms.more else self._whole_marks(terms))
        if self._at < len(self._text) and not (terms.more or self._stopped):
            self._at = len(self._text)
            yield Block(self._at, problem=truncated())

    def _whole_marks(self, terms: Terms) -> int:
        """The end of the text, or what stands before a mark that the length limit cut in two."""
        cut = terms.cut and not terms.words_only
        return broken_mark(self._text, self._at) if cut else len(self._text)

    def _certain(self) -> int:
        """As far as the text is prose whatever comes."""
        return self._whole_lines(held_from(self._text, self._at))

    def _whole_lines(self, end: int) -> int:
        """After a call, the beginning of a line is kept back: it may be the model's invention."""
        line = self._text.rfind("\n", max(self._at, end - 40), end) if self._called else -1
        return end if line < 0 else line

    def _in_vain(self, spot: Spot, block: Block) -> bool:
        """Is it no block, and is there patience left to look for one further inside?"""
        self._missed += block.vain
        return block.missed and self._patient(spot)

    def _patient(self, spot: Spot) -> bool:
        return self._missed < _PATIENCE + 2 * (self._passed + spot.at - self._at)

    def _prose(self, end: int) -> Iterator[Block]:
        begin = self._at
        if end <= begin:
            return
        words = self._text[begin:end]
        if self._passed == 0:
            words = words.removeprefix("\n").lstrip("\ufeff")
        if self._called:
            words = self._without_inventions(words)
        self._at, self._passed = end, self._passed + end - begin
        self._said = self._said or bool(words.strip())
        if words:
            yield Block(end, words=words)

    def _without_inventions(self, words: str) -> str:
        """The words up to a line on which the model plays the other side."""
        at = 0
        while (at := words.find("\n", at)) >= 0:
            if standalone.INVENTED.match(words, at + 1):
                self._stopped = True
                return words[:at]
            at += 1
        return words

    def _pass(self, block: Block) -> Iterator[Block]:
        if self._stopped:
            return
        self._passed += block.end - self._at
        self._said = (self._said or bool(block.words)) and not block.undo
        self._at, self._mode, self._stopped = block.end, block.mode, block.stop
        self._called = (self._called or bool(block.calls)) and not block.undo
        self._chained = bool(block.calls or block.wrapper or block.undo or block.mark)
        yield block

    def _sequel(self, terms: Terms) -> Iterator[Block]:
        """A value right behind a call or behind reasoning, on its line or on the next."""
        if terms.more and _MAYBE_SEQUEL.match(self._text, self._at):
            return
        match = _SEQUEL.match(self._text, self._at)
        block = self._value(match.end(), terms, sequel=True) if match else None
        if block is not None and block.open and terms.more:
            return
        self._chained = False
        if block is not None and block.says_something and match:
            yield from self._prose(match.end())
            yield from self._pass(block)

    # ---- recognisers ----

    def _read(self, spot: Spot, terms: Terms) -> Block | None:
        text, at = self._text, spot.at
        match spot.kind:
            case "value":
                return self._value(at, terms, sequel=False)
            case "inline":
                return inline(text, at, terms)
            case "quoted":
                return _in_quotes(text, at, terms)
            case "fence":
                return fenced(text, at, terms)
            case "react":
                return react(text, at, terms)
            case "line":
                return dialect_at(text, at, terms, "line")
            case "reply":
                said = self._said or _WORD.search(text, self._at, spot.begin)
                return None if said else dialect_at(text, at, terms, "reply")
            case "python":
                return self._line_of_python(at, terms)
            case "answer":
                return answer_at(text, at, terms)
        tag = spot.kind == "tag"
        block = tag_named_tool(text, at, terms) if tag else dialect_at(text, at, terms)
        return self._unless_mentioned(at, block, terms)

    def _unless_mentioned(self, at: int, block: Block | None, terms: Terms) -> Block | None:
        """The block, or mere words where a sentence only speaks of the call."""
        if block is None or block.open or not block.calls:
            return block
        if terms.more and self._line_is_open(standalone.rest_of_line(self._text, block.end)[0]):
            return Block(len(self._text), open=True)
        if standalone.is_mentioned(self._text, at, block.end):
            return Block(block.end, words=self._text[at : block.end])
        return block

    def _value(self, at: int, terms: Terms, sequel: bool) -> Block | None:
        """A value that stands alone: calls, or words in braces."""
        text = self._text
        if not sequel and not standalone.may_begin(text, at):
            return None
        listed = python_calls(text, at, terms) if text[at] == "[" else None
        block = listed if listed is not None else protocol(text, at, terms)
        return (
            block if block is None or block.open or block.missed else self._alone(at, block, terms)
        )

    def _line_of_python(self, at: int, terms: Terms) -> Block | None:
        """A call on a line of its own: with its arguments by name, or with none."""
        block = python_calls(self._text, at, terms)
        if block is None or block.open:
            return block
        if standalone.denied(standalone.line_before(self._text, self._text.rfind("\n", 0, at) + 1)):
            return None
        named = all(call.tool_input or "()" in self._text[at : block.end] for call in block.calls)
        return self._alone(at, block, terms) if named else None

    def _alone(self, at: int, block: Block, terms: Terms) -> Block:
        """The block, or mere words where something else stands on its last line."""
        end, alone_there = standalone.rest_of_line(self._text, block.end)
        if terms.more and self._line_is_open(end):
            return Block(len(self._text), open=True)
        if not alone_there and not standalone.is_shown(self._text, at):
            return beside_words(self._text, at, block)
        if not alone_there:
            return Block(block.end, words=self._text[at : block.end])
        return replace(block, end=end) if block.says_something else block

    def _line_is_open(self, end: int) -> bool:
        """Is it unknown yet whether something else stands on the line of a call?"""
        return len(self._text) - end < _NEXT and "\n" not in self._text[end:]


def _in_quotes(text: str, at: int, terms: Terms) -> Block | None:
    """A whole reply given as a JSON string."""
    found = strict(text, at)
    if found is None:
        return Block(len(text), open=True) if terms.more else None
    block = protocol(found[0], 0, replace(terms, more=False))
    if block is None or not (block.calls or block.wrapper):
        return None
    return replace(block, end=found[1], repairs=(*block.repairs, "the call stood inside a string"))


def undone(blocks: list[Block]) -> list[Block]:
    """All before a late end of reasoning was reasoning."""
    last = max((at for at, block in enumerate(blocks) if block.undo), default=None)
    if last is None:
        return blocks
    before = "".join(block.thinking or block.words for block in blocks[:last])
    return [Block(0, thinking=before), *blocks[last + 1 :]]
