"""Calls written as markup: one element for each argument.

Qwen3-Coder, GLM, DeepSeek's DSML, Kimi K3, Anthropic's own, and a tool's name as the tag. The text
of an argument is not escaped, so it may hold anything, closing tags included: an argument ends at a
closing tag that is followed by what can follow an argument, and not before. What an argument is
(text, a number, JSON) is left to the schema, except where the markup says that it is a string.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, replace
from typing import Any

from azent.messages import Call, Problem
from azent.parsing import shapes
from azent.parsing.candidates import Block, Terms, call_with, option, truncated
from azent.schema.names import folded
from azent.schema.validate import arguments_of
from azent.values.strict_json import Bare


@dataclass(frozen=True, slots=True)
class Markup:
    """How one family writes calls, as patterns.

    `call` opens a call and has a group `name`; `argument` opens an argument and has `key` (and
    `type`, where it is told); `argument_end` and `call_end` close them. `trims` takes one line
    break at each end of a value away.
    """

    call: re.Pattern[str]
    argument: re.Pattern[str]
    argument_end: re.Pattern[str]
    call_end: re.Pattern[str]
    trims: bool = False


def _patterns(call: str, argument: str, argument_end: str, call_end: str, trims: bool) -> Markup:
    closers = re.compile(argument_end), re.compile(call_end)
    return Markup(re.compile(call), re.compile(argument), *closers, trims)


_DSML = r"(?:[|｜]DSML[|｜] ?|antml:|\w+:)?"
_BROKEN = r"<parameter\b"  # an argument whose tag is damaged is no text of the one before it
_OUTER_END = r"</tool_calls?>|</function_calls?>|<\|?tool_call"
QWEN = _patterns(
    r"<function(?:[ \t]{0,8}=| name=)[ \t]{0,8}[\"']?(?P<name>[^<>\"'\s{]+)[\"']?\s*>?",
    r"<parameter(?:\s*[=>]|\s+name\s*=)\s*+[\"']?(?P<key>[^<>\"']++)[\"']?\s*>",
    r"</parameter>",
    r"</function>|(?=</tool_call>)",
    True,
)
# A name whose quotes are missing, or missing on one side, still ends at the end of its tag.
_QUOTE = r"[\"']?"
_NAME = rf"{_QUOTE}(?P<name>[^\"'<>\n]{{1,100}}?){_QUOTE}[ \t]{{0,8}}"
_KEY = rf"{_QUOTE}(?P<key>[^\"<>\n]{{1,200}}?){_QUOTE}"
INVOKE = _patterns(
    rf"<{_DSML}invoke {{1,4}}name {{0,4}}= {{0,4}}{_NAME}(?P<empty>/)?>",
    rf"<{_DSML}parameter {{1,4}}name {{0,4}}= {{0,4}}{_KEY}"
    r"(?: string=\"(?P<type>true|false)\")?\s{0,8}>",
    rf"</{_DSML}parameter>",
    rf"</{_DSML}invoke>",
    False,
)
GLM = _patterns(
    r"(?P<name>[\w.:/-]{1,100})\s{0,24}(?=<arg_key>|</tool_call>)",
    r"<arg_key>(?P<key>[^<]*)</arg_key>\s*<arg_value>",
    r"</arg_value>",
    r"(?=</tool_call>)",
    False,
)
KIMI = _patterns(
    r"<\|open\|>call tool=\"(?P<name>[^\"<\n]{1,100})\"[^<\n]{0,60}<\|sep\|>",
    r"<\|open\|>argument key=\"(?P<key>[^\"]+)\"(?: type=\"(?P<type>\w+)\")?[^<]*<\|sep\|>",
    r"<\|close\|>argument<\|sep\|>",
    r"<\|close\|>call<\|sep\|>",
    False,
)
_M3 = r"\]<\]minimax\[>\["  # a token that stands before each of its tags
MINIMAX_M3 = _patterns(
    rf"{_M3}<invoke name={_NAME}>",
    rf"{_M3}<(?P<key>[A-Za-z_][\w.-]{{0,100}})>",
    rf"{_M3}</(?!invoke>)[\w.-]+>",
    rf"{_M3}</invoke>",
    False,
)
_SPACE = re.compile(r"\s*+")
_DAMAGE = re.compile(r".*?(?=\n[ \t]*\n|\n```|\Z)", re.DOTALL)
_BEGUN_TAG = re.compile(r"\s*<[^<>\n]*\Z")
_STRING = ("true", "string")


class _OutOfText(Exception):
    """The text ends inside an argument."""


class Reader:
    """Reads one call; remembers the next closing tag, so that no text is searched twice."""

    def __init__(self, text: str, markup: Markup, known: dict[str, Any], more: bool) -> None:
        self.text, self.markup, self.known, self.more = text, markup, known, more
        self.follow = re.compile(
            rf"\s*+(?:{_inner(markup.argument)}|{_inner(markup.call_end)}|{_OUTER_END}|{_BROKEN}|\Z)"
        )
        self.early = re.compile(rf"\n[^\S\n]*{_inner(markup.argument)}")
        self.strays = re.compile(rf"(?:\s*+{_inner(markup.argument_end)}){{1,3}}+")
        self._next_opener = -1
        self._next_end: tuple[int, int] | None = None

    def arguments(self, at: int) -> tuple[dict[str, Any], int, bool]:
        """The arguments from `at` on, where they end, and whether the call has its own end."""
        given: dict[str, Any] = {}
        while True:
            at = _skip(self.text, at)
            opener = self.markup.argument.match(self.text, at)
            if opener is None:
                break
            key = html.unescape(opener.group("key").strip())
            end, after = self._end(opener.end(), given)
            given[key] = self._value(opener, self.text[opener.end() : end])
            at = after
        closer = self.markup.call_end.match(self.text, at)
        return given, closer.end() if closer else at, closer is not None

    def _end(self, begin: int, given: dict[str, Any]) -> tuple[int, int]:
        """Where a value ends, and where what follows it begins."""
        closer = self._closer(begin)
        early = self._early(begin, closer[0] if closer else len(self.text), given)
        if early is not None:
            return early, early
        if closer is not None:
            return closer
        call_end = self.markup.call_end.search(self.text, begin)
        if call_end is None or self.more:
            raise _OutOfText
        return _end_of_words(self.text, begin, call_end.start()), call_end.start()

    def _closer(self, begin: int) -> tuple[int, int] | None:
        """The first closing tag that is followed by what can follow an argument."""
        if self._next_end is not None and self._next_end[0] >= begin:
            return self._next_end if self._next_end[0] < len(self.text) else None
        for match in self.markup.argument_end.finditer(self.text, begin):
            end = self._after_strays(match, begin)
            follows = self.follow.match(self.text, end)
            if follows and self.more and follows.end() >= len(self.text):
                raise _OutOfText
            if follows:
                self._next_end = match.start(), end
                return self._next_end
        self._next_end = len(self.text), len(self.text)
        return None

    def _after_strays(self, closer: re.Match[str], begin: int) -> int:
        """Behind a closing tag, and behind the same tag again where the value opens no argument."""
        strays = self.strays.match(self.text, closer.end())
        if strays is None:
            return closer.end()
        if self._next_opener < begin:
            opener = self.markup.argument.search(self.text, begin)
            self._next_opener = opener.start() if opener else len(self.text)
        return strays.end() if closer.start() <= self._next_opener else closer.end()

    def _early(self, begin: int, end: int, given: dict[str, Any]) -> int | None:
        """Where a known argument opens on its own line: the closing tag was forgotten."""
        for match in self.early.finditer(self.text, begin, end):
            key = match.group("key").strip()
            if key in self.known and key not in given:
                return _end_of_words(self.text, begin, match.start())
        return None

    def _value(self, opener: re.Match[str], raw: str) -> Any:
        kind = opener.groupdict().get("type")
        if self.markup.trims:
            raw = raw.removeprefix("\n").removesuffix("\n")
        return raw if kind in _STRING else Bare(raw)


def markup_call(text: str, at: int, terms: Terms, markup: Markup) -> Block | None:
    """The call at `at`; None where there is none."""
    opener = markup.call.match(text, at)
    if opener is None:
        return None
    name = opener.group("name")
    if opener.groupdict().get("empty"):
        return _made(name, {}, opener.end(), terms)
    inner = _skip(text, opener.end())
    if text.startswith("{", inner):
        return _with_json(text, inner, terms, name, markup)
    reader = Reader(text, markup, arguments_of(name, terms.specs), terms.more)
    try:
        given, end, ended = reader.arguments(opener.end())
    except _OutOfText:
        return _cut(text, name, terms)
    if ended and not given and folded(name) in shapes.NO_TOOL:
        return Block(end, wrapper=True)
    if ended:
        return _made(name, given, end, terms)
    if terms.more:
        return Block(len(text), open=True)
    return _without_end(text, name, given, end, terms, markup)


def _made(name: str, given: Any, end: int, terms: Terms) -> Block:
    chosen = option([Call(name, given)], terms)
    return Block(end, chosen.calls, repairs=chosen.bent)


def _with_json(text: str, at: int, terms: Terms, name: str, markup: Markup) -> Block:
    block = call_with(name, text, at, terms)
    closer = markup.call_end.match(text, _skip(text, block.end))
    return block if closer is None else _ending(block, closer.end())


def _ending(block: Block, end: int) -> Block:
    return replace(block, end=end)


def _cut(text: str, name: str, terms: Terms) -> Block:
    return Block(len(text), problem=None if terms.more else truncated(name), open=True)


def _without_end(text: str, name: str, given: Any, end: int, terms: Terms, markup: Markup) -> Block:
    """A call whose end does not follow its arguments: cut there, or something else stands there."""
    if terms.cut or _BEGUN_TAG.match(text, end):
        return _cut(text, name, terms)
    closer = markup.call_end.search(text, end)
    if closer is None and not text.startswith("<", _skip(text, end)):
        return _made(name, given, end, terms)
    stray = text[_skip(text, end) :][:40].split("\n")[0]
    message = f"{name}: The call could not be read: {stray!r} is no argument."
    damage = _DAMAGE.match(text, end)
    until = closer or damage
    return Block(until.end() if until else end, problem=Problem("malformed", message))


def tag_named_tool(text: str, at: int, terms: Terms) -> Block | None:
    """A tool's name as the tag, its arguments as tags inside: only for registered names."""
    opener = re.compile(r"<(?P<name>[A-Za-z_][\w.-]{0,100})\s*(?P<empty>/?)>").match(text, at)
    if opener is None or opener.group("name") not in terms.specs:
        return None
    name = opener.group("name")
    closer = text.find(f"</{name}>", opener.end())
    if opener.group("empty"):
        return _plain(name, {}, opener.end(), terms)
    if closer < 0:
        return Block(len(text), open=True) if terms.more else _no_tag(text, opener)
    given = _elements(text[opener.end() : closer], arguments_of(name, terms.specs))
    if given is None:
        return None
    return _plain(name, given, closer + len(name) + 3, terms)


def _no_tag(text: str, opener: re.Match[str]) -> Block:
    """A tag that is never closed: to know that, the whole text had to be searched."""
    vain = len(text) - opener.start()
    return Block(opener.end(), words=opener.group(), missed=True, vain=vain)


def _plain(name: str, given: Any, end: int, terms: Terms) -> Block:
    chosen = option([Call(name, given)], terms, 0, [f"<{name}> was read as a call"])
    return Block(end, chosen.calls, repairs=chosen.bent)


def _elements(inner: str, known: dict[str, Any]) -> dict[str, Any] | str | None:
    """The elements of a tag, if it holds nothing but arguments that the tool knows, or JSON."""
    if inner.strip()[:1] == "{":
        return inner.strip()
    given: dict[str, Any] = {}
    at = _skip(inner, 0)
    while at < len(inner):
        opener = re.compile(r"<([A-Za-z_][\w.-]*)>").match(inner, at)
        if opener is None or opener.group(1) not in known:
            return None
        end = inner.find(f"</{opener.group(1)}>", opener.end())
        if end < 0:
            return None
        given[opener.group(1)] = Bare(inner[opener.end() : end])
        at = _skip(inner, end + len(opener.group(1)) + 3)
    return given


def _inner(pattern: re.Pattern[str]) -> str:
    return pattern.pattern


def _end_of_words(text: str, begin: int, end: int) -> int:
    """Where the white space begins that ends at `end`."""
    return begin + len(text[begin:end].rstrip())


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
