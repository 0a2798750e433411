"""Read the tokens of lenient JSON and Python: strings, numbers, words, keys, comments.

A `Cursor` reads a text once and counts its repairs. It evaluates nothing: an expression in place of
a value is a `Fault`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from azent.values import json_strings
from azent.values.strict_json import Bare, number

# The repairs, in the words of `Reply.repairs`, and their costs.
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
    "a prefix before a string": 1,
    "missing closing brackets": 3,
}
INNER_QUOTES = "quotes that were not escaped"
PREFIXED = "a prefix before a string"

_FULL_WIDTH = "｛｝［］：，“”„‘’＂«"
_TRIPLE = ('"""', "'''")
# The quotes of Gemma and of FunctionGemma; nothing between them is escaped.
_QUOTE_TOKENS = ('<|"|>', "<escape>")
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
_JSON_WORDS = ("true", "false", "null")
_MOST_DIGITS = 4000  # Python converts no whole number of many more

_SPACE = re.compile(r"\s*+")
_COMMENT = re.compile(r"//[^\n]*+|/\*.*?\*/|#[^\n]*+", re.DOTALL)
_PREFIX = re.compile(r"[rRuU](?=[\"'])")  # Python's prefixes except f, whose value needs evaluation
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(\.\d++)?+([eE][+-]?\d++)?+(?![\w.+-])")
_AFTER_NUMBER = re.compile(r"[ \t]*+(?:[\n\r,，}\])｝］/#\"'<`]|\Z)")
_AFTER_WORD = re.compile(r"\s*+(?:[,，}\])｝］]|\Z)|[ \t]*+\n")
_BREAKS = r",，:：{}\[\]()｛｝［］\"`“”<>=\\|;"
_BARE = re.compile(rf"[^\s'{_BREAKS}][^\n\r{_BREAKS}]*+")
_BARE_URL = re.compile(r"[a-z]{2,6}://[^\s,{}\[\]()\"'`<>]++")
_BARE_KEY = re.compile(rf"[^\s'/#{_BREAKS}][^\n'{_BREAKS}]{{0,80}}?(?=\s*+[:：])")
_BEGUN_KEY = re.compile(rf"(?:[\w -]*+|[^\s'/#{_BREAKS}][^\n'{_BREAKS}]{{0,80}}+)\s*+\Z")


class Fault(ValueError):
    """The error that a text cannot be parsed at a position; `reach` is how far was read."""

    def __init__(self, what: str, at: int, deep: bool = False, reach: int = 0) -> None:
        super().__init__(what)
        self.what, self.at, self.deep, self.reach = what, at, deep, max(at, reach)


class Cut(Exception):
    """The error that the text ended in a string or before a value; never leaves this package."""


class Cursor:
    """A position in a text, and the repairs made before it.

    - `python`: strings are Python's, and unquoted words are no values
    - `naive`: a string ends at the first quote
    - `mixed`: a quote of another style may end a string
    - `literal`: ambiguous backslashes are kept
    - `ambiguous`: whether there were any
    - `reach`: how far failed attempts looked ahead
    """

    def __init__(
        self,
        text: str,
        at: int,
        *,
        python: bool = False,
        naive: bool = False,
        mixed: bool = False,
        literal: bool = False,
    ) -> None:
        self.text, self.at = text, at
        self.python, self.naive, self.mixed, self.literal = python, naive, mixed, literal
        self.bent: Counter[str] = Counter()
        self.ambiguous = False
        self.reach = 0

    def bend(self, what: str) -> None:
        self.bent[what] += 1

    def char(self) -> str:
        """Return the character at the position. Raises Cut at the end."""
        if self.at >= len(self.text):
            raise Cut
        return self.text[self.at]

    def step(self) -> None:
        """Skip one punctuation mark."""
        if self.text[self.at] in _FULL_WIDTH:
            self.bend("typographic punctuation")
        self.at += 1

    def skip(self) -> None:
        """Skip white space and comments."""
        self._skip_space()
        while self.text.startswith(("/", "#"), self.at):
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                if self.text.startswith("/*", self.at):
                    raise Cut
                return
            self.bend("a comment")
            self.at = comment.end()
            self._skip_space()

    def unexpected(self, what: str = "unexpected") -> Fault:
        return Fault(f"{what} {self.text[self.at : self.at + 12]!r}", self.at)

    def key(self) -> tuple[str, bool]:
        """Return the key of an object member, and whether it is quoted."""
        if self.char() in json_strings.QUOTES:
            return self.string("key"), True
        if self.text.startswith(_QUOTE_TOKENS, self.at):
            return self._token_string(), True
        match = _BARE_KEY.match(self.text, self.at)
        if match is None:
            if _BEGUN_KEY.match(self.text, self.at):
                raise Cut
            raise self.unexpected("a key was expected, not")
        self.at = match.end()
        self.bend("a key without quotes")
        return match.group().strip(), False

    def scalar(self, place: str) -> Any:
        """Return a string, number or word; `place` says what may follow it."""
        char = self.char()
        if char in json_strings.QUOTES:
            return self.string(place)
        if char == "<" and self.text.startswith(_QUOTE_TOKENS, self.at):
            return self._token_string()
        if (prefix := _PREFIX.match(self.text, self.at)) is not None:
            self.at = prefix.end()
            self.bend(PREFIXED)
            return self.string(place, raw=char in "rR")
        match = _NUMBER.match(self.text, self.at)
        if match is None or not _AFTER_NUMBER.match(self.text, match.end()):
            return self._bare()
        self.at = match.end()
        if match.group(1) or match.group(2):
            return number(match.group())
        return int(match.group()) if len(match.group()) < _MOST_DIGITS else Bare(match.group())

    def string(self, place: str, raw: bool = False) -> str:
        """Return the string that begins here; `raw` keeps its backslashes."""
        opener, triple = self.text[self.at], self.text[self.at : self.at + 3]
        span = json_strings.fenced(self.text, self.at, triple) if triple in _TRIPLE else None
        if span is not None:
            self.bend("triple quotes")
        else:
            if triple in _TRIPLE:
                self.reach = len(self.text)  # triple quotes may end anywhere
            naive = self.naive or place == "key"
            span = json_strings.quoted(self.text, self.at, place, naive, self.mixed)
        if span is None:
            raise Cut
        written = self.text[span.begin : span.end]
        if span.inner:
            self._check_inner_quotes(span, opener, written)
        if self.mixed and json_strings.ends_inside(self.text, span, opener):
            raise Fault("quotes of two styles stand in a string", span.begin, reach=span.end)
        self.at = span.after
        if raw:
            return written
        self._note(written, opener, self.text[span.end : span.after])
        return json_strings.decoded(written, self.python, self.literal)

    # ---- parts -----------------------------------------------------------------------------------

    def _skip_space(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at

    def _token_string(self) -> str:
        token = next(each for each in _QUOTE_TOKENS if self.text.startswith(each, self.at))
        span = json_strings.fenced(self.text, self.at, token)
        if span is None:
            raise Cut
        self.at = span.after
        return self.text[span.begin : span.end]

    def _bare(self) -> Any:
        match = _BARE_URL.match(self.text, self.at) or _BARE.match(self.text, self.at)
        if match is None:
            raise self.unexpected("a value was expected, not")
        word = match.group().rstrip()
        end = match.start() + len(word)
        if word in _WORDS:
            self.at = end
            if word not in _JSON_WORDS:
                self.bend("a Python or JavaScript literal")
            return _WORDS[word]
        return self._unquoted(word, end)

    def _unquoted(self, word: str, end: int) -> Bare:
        """Return a value without quotes, if a separator follows it."""
        if "..." in word or "…" in word or not _AFTER_WORD.match(self.text, end):
            raise self.unexpected("a value was expected, not")
        if self.python and not word[0].isdigit():
            raise Fault(f"{word[:40]!r} is not a literal", self.at)
        self.at = end
        self.bend("a value without quotes")
        return Bare(word)

    def _check_inner_quotes(self, span: json_strings.Span, opener: str, raw: str) -> None:
        if (opener == '"' and json_strings.is_odd(span, raw)) or json_strings.is_joined(raw):
            what = "the quotes inside a string are not escaped"
            raise Fault(what, span.begin, reach=span.end)
        self.bend(INNER_QUOTES)

    def _note(self, raw: str, opener: str, closer: str) -> None:
        """Count the repairs of a string."""
        if not (opener + closer).isascii():
            self.bend("typographic punctuation")
        elif opener in "'`" and not self.python:
            self.bend("single quotes")
        if "\n" in raw and not self.python:
            self.bend("line breaks in a string")
        if "\\" in raw and json_strings.has_unknown_escapes(raw):
            self.bend("backslashes that were not escaped")
            self.ambiguous |= json_strings.is_ambiguous(raw)
