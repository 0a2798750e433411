"""One pass over a reply, from left to right: words, reasoning and calls as they come.

The pass stops only at places where something other than prose could begin, asks the recogniser for
that place, and goes on behind what it found. While more text may come, it stops before whatever is
not certain yet; so what it has passed never changes, which is what streaming needs, except that the
end of reasoning which the prompt had opened turns all before it into reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from azent.messages import Call, Problem
from azent.reply import alone
from azent.reply.dialects import ANSWER_OPENERS, OPENERS, answer_at, dialect_at
from azent.reply.dialects.harmony import harmony
from azent.reply.dialects.python import python_calls
from azent.reply.dialects.react import react
from azent.reply.fence import fenced
from azent.reply.found import Block, Mode, Terms
from azent.reply.weigh import protocol

_LINE = r"[ \t\ufeff]*(?:(?:[-*•+]|\d{1,3}[.)])[ \t]+)?"
_TRIGGER = re.compile(
    rf"\n{_LINE}(?:(?P<json>[`'(]?(?=[{{\[｛［])(?!\[/?[A-Z_]{{4,}}\]))|(?P<quoted>\"(?=\{{))|(?P<fence>(?=```|~~~))"
    r"|(?P<react>(?=[*_#]{0,6}(?:Thought|Action|Final Answer)[*_]{0,2}\s*:))"
    r"|(?P<header>(?=to=[\w.:-]+\s*<\|))"
    r"|(?P<python>(?=(?:print\(|await )?[A-Za-z_][\w.:-]{0,80}\()))"
    r"|[:：=][ \t]*`?(?P<label>(?=[{\[｛［])(?!\[/?[A-Z_]{4,}\]))"
    rf"|(?P<dialect>(?={OPENERS}|<[A-Za-z_][\w.-]{{0,100}}\s*/?>))"
    r"|(?P<inline>(?=```))"
)
_ANSWER_TRIGGER = re.compile(rf"(?P<answer>(?={ANSWER_OPENERS}))")
_HELD = re.compile(
    r"\n[ \t]*[^\s]{0,84}\Z|\n[ \t]*(?:[-*•+]|\d{1,3}[.)])?[ \t]*[^\s]{0,84}\Z"
    r"|\n[*_#\s]{0,8}(?:Thought|Action|Final(?: Answer)?)?[*_]{0,2}\s*\Z"
    r"|[:：=][ \t]*`?\Z|<[^>\n]{0,120}\Z|\[[^\]\n]{0,40}\Z|`{1,2}\Z|◁[^▷]{0,10}\Z|functools\Z|\s+\Z"
)
_HELD_IN_MODE = re.compile(r"<\|[^\n]{0,160}\Z|[<\[◁\n][^<\[◁]{0,40}\Z")
_SEQUEL = re.compile(r"[\s,;]*(?:(?:and|or)\s+)?(?=[{\[｛])")
_MAYBE_SEQUEL = re.compile(r"[\s,;]*(?:an?d?|or?)?\s*\Z")
_INVENTED = re.compile(
    r"\s*[*_]{0,2}(?:Tool[ _]?(?:results?|response|output)s?|Observation|Function[ _]?(?:results?"
    r"|response|output)s?|Results?|Output|User|Human|Assistant)[*_]{0,2}\s*[:：]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch that was passed: words, reasoning, or a block with what it holds."""

    words: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    problem: Problem | None = None
    repairs: tuple[str, ...] = ()
    wrapper: bool = False
    undo: bool = False
    certain: bool = True


class Scan:
    """The pass; `feed` text as it comes, `finish` when there is no more."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._text = "\n"  # a line break before the first line: every line then begins with one
        self._at = 0
        self._drop = 1
        self._mode: Mode | None = None
        self._called = False
        self._chained = False
        self._stopped = False
        self._wait = 0
        self._pieces: list[str] = []
        self._size = 0

    def feed(self, piece: str) -> list[Piece]:
        """What became certain with another piece of text."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size < self._wait:
            return []
        self._gather()
        found = list(self._run(replace(self.terms, more=True)))
        self._forget()
        return found

    def finish(self, cut: bool = False) -> list[Piece]:
        """What the rest of the text is."""
        self._gather()
        return list(self._run(replace(self.terms, more=False, cut=cut)))

    # ---- the buffer ----

    def _gather(self) -> None:
        self._text += "".join(self._pieces)
        self._pieces, self._size = [], 0

    def _forget(self) -> None:
        """Drop what is behind, save for as much as recognisers look back at."""
        behind = self._at - 2 * alone.REACH
        if behind > 4000:
            self._text, self._at = self._text[behind:], self._at - behind
        held = len(self._text) - self._at
        self._wait = held // 8 if held > 4000 and self._mode is None else 0

    # ---- the pass ----

    def _run(self, terms: Terms) -> Iterator[Piece]:
        while self._at < len(self._text) and not self._stopped:
            begin = self._at
            state = self._mode, self._chained
            yield from self._in_mode(terms) if self._mode else self._in_prose(terms)
            if self._at == begin and state == (self._mode, self._chained):
                return

    def _in_mode(self, terms: Terms) -> Iterator[Piece]:
        mode = self._mode
        if mode is None:
            return
        closer = re.compile("|".join(mode.closers)).search(self._text, self._at)
        unsure = closer is None or (terms.more and closer.end() >= len(self._text))
        if unsure and terms.more:
            end = self._held_in_mode(closer.start() if closer else len(self._text))
        elif closer is None:
            end = len(self._text)
        else:
            end = closer.start()
        inner = self._text[self._at : end]
        if closer is not None and not unsure:
            self._mode, self._at = None, closer.end()
            self._chained = mode.kind != "listing"  # a call may follow reasoning on its last line
            inner += closer.group() if mode.kind == "listing" else ""
        else:
            self._at = end
        yield Piece(words=inner) if mode.kind == "listing" else Piece(thinking=inner)

    def _held_in_mode(self, end: int) -> int:
        """Keep back what could be the beginning of a closer."""
        tail = _HELD_IN_MODE.search(self._text, max(self._at, end - 170), end)
        return max(self._at, tail.start()) if tail else end

    def _in_prose(self, terms: Terms) -> Iterator[Piece]:
        if self._chained:
            yield from self._sequel(terms)
            return
        trigger = _ANSWER_TRIGGER if terms.words_only else _TRIGGER
        match = trigger.search(self._text, self._at)
        if match is None:
            yield from self._prose(self._certain(terms), terms)
            return
        kind = str(match.lastgroup)
        start = match.start(kind)
        block = self._recognised(kind, start, match, terms)
        if block is None:
            yield from self._prose(max(match.end(), start + 1), terms, whole=match)
            return
        if block.open and terms.more:
            yield from self._prose(match.start(), terms)
            return
        yield from self._passed(start, block, terms)

    def _certain(self, terms: Terms) -> int:
        if not terms.more:
            return len(self._text)
        begin = max(self._at, len(self._text) - 240)
        held = _HELD.search(self._text, begin)
        return max(self._at, held.start()) if held else len(self._text)

    def _prose(self, end: int, terms: Terms, whole: re.Match[str] | None = None) -> Iterator[Piece]:
        if whole is not None and terms.more and end >= len(self._text):
            end = self._certain(terms)
        words = self._text[self._at + self._drop : end]
        self._drop = max(0, self._drop - (end - self._at))
        self._at = max(self._at, end)
        if self._called and _INVENTED.search(words):
            words = words[: self._invented(words)]
        if words:
            yield Piece(words=words)

    def _invented(self, words: str) -> int:
        for line in re.finditer(r"(?:^|\n)[^\n]*", words):
            if _INVENTED.match(line.group()):
                self._stopped = True
                return line.start()
        return len(words)

    def _recognised(self, kind: str, at: int, match: re.Match[str], terms: Terms) -> Block | None:
        if kind in ("json", "label"):
            return self._value(match.end(), terms, sequel=False)
        if kind == "quoted":
            return _in_quotes(self._text, at, terms)
        if kind in ("fence", "inline"):
            return fenced(self._text, at, terms)
        if kind == "answer":
            return answer_at(self._text, at, terms)
        if kind == "header":
            return harmony(self._text, at, terms)
        if kind == "react":
            return react(self._text, at, terms)
        if kind == "python":
            return self._line_of_python(at, terms)
        return dialect_at(self._text, at, terms)

    def _value(self, at: int, terms: Terms, sequel: bool) -> Block | None:
        """A value that stands alone: calls, or words in braces."""
        text = self._text
        if not sequel and not alone.may_begin(text, at):
            return None
        listed = python_calls(text, at, terms) if text[at] == "[" else None
        block = listed if listed is not None else protocol(text, at, terms)
        if block is None or block.open:
            return block
        return self._alone(at, block, terms)

    def _alone(self, at: int, block: Block, terms: Terms) -> Block:
        end, alone_there = alone.rest_of_line(self._text, block.end)
        if terms.more and end >= len(self._text):
            return Block(len(self._text), open=True)
        if not alone_there:
            return Block(block.end, words=self._text[at : block.end])
        plain = not (block.calls or block.problem or block.wrapper) and bool(block.words)
        return block if plain else replace(block, end=end)

    def _line_of_python(self, at: int, terms: Terms) -> Block | None:
        block = python_calls(self._text, at, terms)
        if block is None or block.open:
            return block
        made = self._alone(at, block, terms)
        keyed = all(call.tool_input or "()" in self._text[at : block.end] for call in block.calls)
        return made if keyed else None

    def _passed(self, start: int, block: Block, terms: Terms) -> Iterator[Piece]:
        yield from self._prose(start, terms)
        if self._stopped:
            return
        self._drop = 0
        self._at, self._mode = block.end, block.mode
        self._stopped = block.stop
        if block.undo:
            self._called = False
        self._called = self._called or bool(block.calls)
        yield Piece(
            block.words,
            block.thinking,
            block.calls,
            block.problem,
            block.repairs,
            block.wrapper,
            block.undo,
        )
        self._chained = bool(block.calls or block.wrapper or block.undo)

    def _sequel(self, terms: Terms) -> Iterator[Piece]:
        """A value right behind a call or behind reasoning, on its line or on the next."""
        if terms.more and _MAYBE_SEQUEL.match(self._text, self._at):
            return
        match = _SEQUEL.match(self._text, self._at)
        block = self._value(match.end(), terms, sequel=True) if match else None
        if block is not None and block.open and terms.more:
            return
        self._chained = False
        if match and block is not None and (block.calls or block.wrapper or block.problem):
            yield from self._passed(match.end(), block, terms)


def _in_quotes(text: str, at: int, terms: Terms) -> Block | None:
    """A whole reply given as a JSON string."""
    from azent.literals import strict

    found = strict(text, at)
    if found is None:
        return Block(len(text), open=True) if terms.more else None
    block = protocol(found[0], 0, replace(terms, more=False)) if found[0] else None
    if block is None or not (block.calls or block.wrapper):
        return None
    return replace(block, end=found[1], repairs=(*block.repairs, "the call stood inside a string"))


def undone(pieces: list[Piece]) -> list[Piece]:
    """All before a late end of reasoning was reasoning."""
    last = max((at for at, piece in enumerate(pieces) if piece.undo), default=None)
    if last is None:
        return pieces
    before = "".join(piece.thinking or piece.words for piece in pieces[:last])
    return [Piece(thinking=before), *pieces[last + 1 :]]
