"""JSON and Python values as models write them, each leniency at its cost.

One pass over the text with a stack of its own: linear, and no deeper than the stack allows. What
was bent is counted, so that a caller can weigh one reading against another. Nothing is guessed:
what cannot be read exactly as it was meant is a `Fault`, and nothing is ever evaluated.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from azent.literals import strings
from azent.literals.strict import MAX_DEPTH
from azent.literals.written import Bare, mapping, number

# What is forgiven, what it costs, and how it is told.
COSTS = {
    "a trailing comma": 1,
    "a missing comma": 2,
    "single quotes": 1,
    "typographic punctuation": 1,
    "a comment": 1,
    "a Python or JavaScript literal": 1,
    "a key without quotes": 1,
    "a value without quotes": 2,
    "quotes that were not escaped": 3,
    "backslashes that were not escaped": 1,
    "line breaks in a string": 1,
    "triple quotes": 2,
    "a tuple": 1,
    "missing closing brackets": 3,
}

_OPEN = {"{": "}", "[": "]", "(": ")", "｛": "}", "［": "]"}
_SHUT = {"}": "}", "]": "]", ")": ")", "｝": "}", "］": "]"}
_FULL_WIDTH = "｛｝［］：，“”„‘’＂«"
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "TRUE": True,
    "FALSE": False,
    "NULL": None,
    "undefined": None,
    "nil": None,
}
_TRIPLE = ('"""', "'''")
QUOTE_TOKEN = '<|"|>'  # Gemma's quotes; nothing between them is escaped
_JSON_WORDS = ("true", "false", "null")
_SPACE = re.compile(r"\s*+")
_COMMENT = re.compile(r"//[^\n]*+|/\*.*?\*/|#[^\n]*+", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(\.\d++)?+([eE][+-]?\d++)?+(?![\w.+-])")
_BARE = re.compile(
    r"[^\s,，:：{}\[\]()｛｝［］\"'`“”<>=\\|;][^\n\r,，:：{}\[\]()｛｝［］\"`“”<>=\\|;]*+"
)
_BARE_URL = re.compile(r"[a-z]{2,6}://[^\s,{}\[\]()\"'`<>]++")
_BARE_KEY = re.compile(
    r"[^\s,:：{}\[\]()\"'`“”<>=\\|;/#][^\n:：,{}\[\]()\"'`“”<>=\\|;]{0,80}?(?=\s*+[:：])"
)
_MEMBER = re.compile(rf"[{''.join(strings.QUOTES)}]|[A-Za-z_][\w-]{{0,60}}\s*+[:：]")
_ITEM = re.compile(rf"[{''.join(strings.QUOTES)}\[{{(\-\d]|[A-Za-z_]")


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, where it ended, and what was bent to read it.

    `ended` is false where the text ran out first; `unclosed` are then the objects and lists that
    lack their end. `cut` is true where it ran out inside a string, or before a value.
    """

    value: Any
    end: int
    bent: Counter[str] = field(default_factory=Counter)
    ended: bool = True
    unclosed: tuple[Any, ...] = ()
    cut: bool = False

    @property
    def cost(self) -> int:
        return sum(COSTS[what] for what in self.bent)


class Fault(ValueError):
    """What cannot be read, and where; `reach` is how far was read to find out."""

    def __init__(self, what: str, at: int, deep: bool = False, reach: int = 0) -> None:
        super().__init__(what)
        self.what, self.at, self.deep, self.reach = what, at, deep, max(at, reach)


class _Cut(Exception):
    """The text ran out inside a string, or where a value was due."""


@dataclass(slots=True)
class _Frame:
    """A container that is being read; `pairs` where it is an object."""

    closer: str
    pairs: list[tuple[str, Any]] | None = None
    items: list[Any] = field(default_factory=list)
    key: str = ""
    bare_keys: bool = False

    def add(self, value: Any) -> None:
        if self.pairs is None:
            self.items.append(value)
        else:
            self.pairs.append((self.key, value))

    def built(self) -> Any:
        return self.items if self.pairs is None else mapping(self.pairs)


class Lenient:
    """One pass over a text. `place` is what a value at the top stands in."""

    def __init__(
        self,
        text: str,
        *,
        python: bool = False,
        place: str = "anything",
        naive: bool = False,
        literal: bool = False,
    ) -> None:
        self.text, self.python, self.place = text, python, place
        self.naive, self.literal = naive, literal
        self.bent: Counter[str] = Counter()
        self.ambiguous = False
        self._stack: list[_Frame] = []
        self._at = 0

    def read(self, at: int) -> Reading:
        """The value that begins at `at`; raises Fault."""
        self._at = at
        try:
            value = self._value()
        except _Cut:
            return self._out_of_text(cut=True)
        while self._stack:
            value = self._continue(value)
            if isinstance(value, Reading):
                return value
        return Reading(value, self._at, self.bent)

    # ---- the machine ----

    def _continue(self, value: Any) -> Any:
        """Put a value into its container, and read what comes next: a value, or the container."""
        frame = self._stack[-1]
        if value is not frame:
            frame.add(value)
        self._skip()
        if self._at >= len(self.text):
            return self._out_of_text(cut=False)
        try:
            return self._next(frame)
        except _Cut:
            return self._out_of_text(cut=True)

    def _next(self, frame: _Frame) -> Any:
        char = self.text[self._at]
        if char in _SHUT:
            return self._shut(char)
        if char in ",，":
            self._step(char)
            self._skip()
            if self._char() in _SHUT:
                self._bend("a trailing comma")
                return self._shut(self.text[self._at])
            return self._entry(frame)
        if not (_MEMBER if frame.pairs is not None else _ITEM).match(self.text, self._at):
            raise self._unexpected()
        if self.text[self._at - 1].isalnum():
            raise self._unexpected()
        self._bend("a missing comma")
        return self._entry(frame)

    def _entry(self, frame: _Frame) -> Any:
        if frame.pairs is not None:
            frame.key = self._key(frame)
            self._skip()
            if self._char() not in ":：":
                raise Fault(f"a colon is missing after {frame.key!r}", self._at)
            self._step(self.text[self._at])
        return self._value()

    def _value(self) -> Any:
        """A scalar, or the first value inside a container that opens here, or an empty one."""
        while True:
            self._skip()
            char = self._char()
            if char not in _OPEN:
                return self._scalar(char)
            self._open(char)
            self._skip()
            frame = self._stack[-1]
            if self._char() in _SHUT:
                return self._shut(self.text[self._at])
            if frame.pairs is not None:
                frame.key = self._key(frame)
                self._skip()
                if self._char() not in ":：":
                    raise Fault(f"a colon is missing after {frame.key!r}", self._at)
                self._step(self.text[self._at])

    def _open(self, char: str) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise Fault("it is nested too deep", self._at, deep=True)
        if char == "(":
            self._bend("a tuple")
        self._stack.append(_Frame(_OPEN[char], [] if _OPEN[char] == "}" else None))
        self._step(char)

    def _shut(self, char: str) -> Any:
        """Close the innermost container; those inside it that lack their end are closed with it."""
        closer = _SHUT[char]
        if self._stack[-1].closer != closer:
            if all(frame.closer != closer for frame in self._stack):
                raise Fault(f"unexpected {char!r}", self._at)
            self._bend("missing closing brackets")
            return self._closed()
        self._step(char)
        return self._closed()

    def _closed(self) -> Any:
        value = self._stack.pop().built()
        if not self._stack:
            return value
        return value

    def _out_of_text(self, cut: bool) -> Reading:
        unclosed: list[Any] = []
        while self._stack:
            frame = self._stack.pop()
            unclosed.append(frame.built())
            if self._stack:
                self._stack[-1].add(unclosed[-1])
        value = unclosed[-1] if unclosed else None
        return Reading(value, len(self.text), self.bent, False, tuple(unclosed), cut)

    # ---- tokens ----

    def _char(self) -> str:
        if self._at >= len(self.text):
            raise _Cut
        return self.text[self._at]

    def _unexpected(self, what: str = "unexpected") -> Fault:
        return Fault(f"{what} {self.text[self._at : self._at + 12]!r}", self._at)

    def _step(self, char: str) -> None:
        if char in _FULL_WIDTH:
            self._bend("typographic punctuation")
        self._at += 1

    def _bend(self, what: str) -> None:
        self.bent[what] += 1

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self._at)
        self._at = match.end() if match else self._at
        while self.text[self._at : self._at + 1] in ("/", "#") and self._at < len(self.text):
            comment = _COMMENT.match(self.text, self._at)
            if comment is None:
                if self.text.startswith("/*", self._at):
                    raise _Cut
                return
            self._bend("a comment")
            match = _SPACE.match(self.text, comment.end())
            self._at = match.end() if match else comment.end()

    def _key(self, frame: _Frame) -> str:
        if self._char() in strings.QUOTES:
            return self._string("key")
        if self.text.startswith(QUOTE_TOKEN, self._at):
            return self._token_string()
        match = _BARE_KEY.match(self.text, self._at)
        if match is None:
            if re.compile(r"[\w -]*\Z").match(self.text, self._at):
                raise _Cut
            raise Fault(
                f"a key was expected, not {self.text[self._at : self._at + 12]!r}", self._at
            )
        frame.bare_keys = True
        self._at = match.end()
        self._bend("a key without quotes")
        return match.group().strip()

    def _token_string(self) -> str:
        span = strings.fenced(self.text, self._at, QUOTE_TOKEN)
        if span is None:
            raise _Cut
        self._at = span.after
        return self.text[span.begin : span.end]

    def _scalar(self, char: str) -> Any:
        if char == "<" and self.text.startswith(QUOTE_TOKEN, self._at):
            return self._token_string()
        if char in strings.QUOTES:
            return self._string(self._place())
        match = _NUMBER.match(self.text, self._at)
        if match and (
            match.end() == len(self.text) or self.text[match.end()] in " \t\r\n,，}])｝］/#"
        ):
            ahead = _SPACE.match(self.text, match.end())
            if (
                ahead is None
                or self.text[ahead.end() : ahead.end() + 1] in ",，}])｝］/#\"'\n"
                or ahead.end() == len(self.text)
                or "\n" in ahead.group()
            ):
                self._at = match.end()
                return self._number(match)
        return self._bare()

    @staticmethod
    def _number(match: re.Match[str]) -> Any:
        if match.group(1) or match.group(2):
            return number(match.group())
        return int(match.group()) if len(match.group()) < 4000 else Bare(match.group())

    def _bare(self) -> Any:
        match = _BARE_URL.match(self.text, self._at) or _BARE.match(self.text, self._at)
        if match is None:
            raise Fault(
                f"a value was expected, not {self.text[self._at : self._at + 12]!r}", self._at
            )
        word = match.group().rstrip()
        end = match.start() + len(word)
        if word in _WORDS:
            self._at = end
            if word not in _JSON_WORDS:
                self._bend("a Python or JavaScript literal")
            return _WORDS[word]
        following = _SPACE.match(self.text, end)
        next_char = self.text[following.end() if following else end :][:1]
        if "..." in word or "…" in word or (next_char and next_char not in ",，}])｝］\n"):
            raise Fault(f"a value was expected, not {word[:12]!r}", self._at)
        if self.python and not word[0].isdigit():
            raise Fault(f"{word[:40]!r} is not a literal", self._at)
        self._at = end
        self._bend("a value without quotes")
        return Bare(word)

    def _place(self) -> str:
        if not self._stack:
            return self.place
        frame = self._stack[-1]
        if frame.pairs is None:
            return "item"
        return "bare member" if frame.bare_keys else "member"

    def _string(self, place: str) -> str:
        opener = self.text[self._at]
        triple = self.text[self._at : self._at + 3]
        span = strings.fenced(self.text, self._at, triple) if triple in _TRIPLE else None
        if span is not None:
            self._bend("triple quotes")
        else:
            span = strings.quoted(self.text, self._at, place, self.naive)
        if span is None:
            raise _Cut
        if span.inner:
            self._inner_quotes(span, opener)
        raw = self.text[span.begin : span.end]
        self._note(raw, opener)
        self._at = span.after
        return strings.decoded(raw, self.python, self.literal)

    def _inner_quotes(self, span: strings.Span, opener: str) -> None:
        raw = self.text[span.begin : span.end]
        if (opener == '"' and span.inner % 2) or strings.is_joined(raw):
            what = "the quotes inside a string are not escaped"
            raise Fault(what, span.begin, reach=span.end)
        self._bend("quotes that were not escaped")

    def _note(self, raw: str, opener: str) -> None:
        if opener in "'`" and not self.python:
            self._bend("single quotes")
        elif opener in _FULL_WIDTH:
            self._bend("typographic punctuation")
        if "\n" in raw and not self.python:
            self._bend("line breaks in a string")
        if "\\" in raw and strings.has_unknown_escapes(raw):
            self._bend("backslashes that were not escaped")
            self.ambiguous |= strings.is_ambiguous(raw)


def readings(text: str, at: int, *, python: bool = False, place: str = "anything") -> list[Reading]:
    """All ways to read the value at `at`, the likeliest first; raises the first way's Fault."""
    found: list[Reading] = []
    fault: Fault | None = None
    for naive in (False, True):
        if naive and found and not found[0].bent["quotes that were not escaped"]:
            break
        reader = Lenient(text, python=python, place=place, naive=naive)
        try:
            found.append(reader.read(at))
            if reader.ambiguous:
                found.append(
                    Lenient(text, python=python, place=place, naive=naive, literal=True).read(at)
                )
        except Fault as error:
            fault = fault or error
    if not found and fault is not None:
        raise fault
    return found
