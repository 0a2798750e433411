"""Calls written as Python: `[get_weather(city="Oslo"), now()]`, or one on a line of its own.

Only literals are read, and by azent's own reader: nothing is evaluated, and an expression where a
literal belongs makes the call a problem.
"""

from __future__ import annotations

import re
from typing import Any

from azent.messages import Call
from azent.parsing.candidates import Block, Terms, broken, is_settled, option, truncated
from azent.schema.validate import arguments_of, resolved_tool
from azent.values.json_tokens import Fault
from azent.values.lenient_json import Reading, readings

_NAME = re.compile(
    r"(?:await\s{1,4})?(?P<print>print\s{0,4}\(\s{0,8})?(?P<name>[A-Za-z_][\w.:-]{0,100})\s{0,4}\("
)
_PARTIAL = re.compile(r"[\w.:\s-]{0,120}(?:print\s{0,4}\(\s{0,8}[\w.:-]{0,100}\s{0,4})?\Z")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*")
_WORD = re.compile(r"\w++(?!\s*+=)")
_SPACE = re.compile(r"(?:\s|#[^\n]*)*+")
_BETWEEN = re.compile(r"[\s,;]*+")
_SHUT = re.compile(r"\)[)\]\s]*(?:</?\|?\w+\|?>\s*|```\s*)*\Z")
_NO_STRING = "0123456789-TFN"


class _NoCall(Exception):
    """What stands here is not written as a call."""


class _OutOfText(Exception):
    """The text ends inside a call."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.name = name


class Reader:
    """Reads Python calls at one place of a text."""

    def __init__(self, text: str, terms: Terms) -> None:
        self.text, self.terms = text, terms
        self.bent: list[str] = []
        self.name = ""
        self.reach = 0  # how far was read to find out where its strings end

    def calls(self, at: int) -> tuple[list[Call], int]:
        """A list of calls in brackets, or one call without; and where it ends."""
        if not self.text.startswith("[", at):
            call, end = self._call(at)
            return [call], end
        made: list[Call] = []
        at = self._space(at + 1)
        while not self.text.startswith("]", at):
            call, at = self._call(at)
            made.append(call)
            match = _BETWEEN.match(self.text, at)
            at = match.end() if match else at
            self._present(at)
        if not made:
            raise _NoCall
        return made, at + 1

    def _call(self, at: int) -> tuple[Call, int]:
        if _PARTIAL.match(self.text, at):
            raise _OutOfText(self.name)
        match = _NAME.match(self.text, at)
        if match is None:
            raise _NoCall
        name = match.group("name").removesuffix(".call").removesuffix(".run")
        self._admit(name)
        given, end = self._arguments(name, match.end())
        if match.group("print"):
            end = self._space(end)
            self._present(end)
            if self.text[end] != ")":
                raise _NoCall
            end += 1
        return Call(name, given), end

    def _admit(self, name: str) -> None:
        """The first name decides whether this is a call at all."""
        self.name = name

    def _arguments(self, name: str, at: int) -> tuple[Any, int]:
        given: dict[str, Any] = {}
        order = list(arguments_of(name, self.terms.specs))
        while True:
            at = self._space(at)
            self._present(at)
            if self.text[at] == ")":
                return given, at + 1
            key, at = self._keyword(at)
            reading = self._value(at)
            at = self._space(reading.end)
            self._present(at)
            if key is None and not given and self._is_whole_input(reading.value, order, name):
                given = dict(reading.value)
            else:
                key = key if key is not None else self._next_name(order, given, at)
                if key in given:
                    raise Fault(f"{key!r} is given twice", at)
                given[key] = reading.value
            if self.text[at] not in ",)":
                raise Fault(f"unexpected {self.text[at : at + 12]!r}", at)
            at += self.text[at] == ","

    def _keyword(self, at: int) -> tuple[str | None, int]:
        if self.text.startswith("**", at):
            at += 2
        match = _KEYWORD.match(self.text, at)
        return (match.group(1), match.end()) if match else (None, at)

    def _value(self, at: int) -> Any:
        self._present(at)
        found = readings(self.text, at, python=True, place="argument")
        if self.text[at] not in _NO_STRING:
            self.reach = max(max(each.end, each.reach) for each in found)
        found = [each for each in found if not self._ends_in_a_word(each)] or found
        if any(other.value != found[0].value for other in found):
            reach = max(other.end for other in found)
            raise Fault("quotes or backslashes in it can be read in two ways", at, reach=reach)
        if not found[0].ended:
            self._check_quotes(found[0], at)
            raise _OutOfText(self.name)
        self.bent += found[0].bent
        return found[0]

    def _check_quotes(self, reading: Reading, at: int) -> None:
        """Raises Fault where a string has no end though its call has: then its quotes are wrong."""
        whole = not (self.terms.more or self.terms.cut)
        if whole and reading.cut and _SHUT.search(self.text):
            raise Fault("a string in it has no end", at, reach=len(self.text))

    def _ends_in_a_word(self, reading: Reading) -> bool:
        """Does a word touch its end, as in 'O'Brien', that is no name of the next argument?"""
        return reading.ended and _WORD.match(self.text, reading.end) is not None

    def _is_whole_input(self, value: Any, order: list[str], name: str) -> bool:
        """One object given for all arguments at once."""
        if not isinstance(value, dict):
            return False
        first = arguments_of(name, self.terms.specs)[order[0]] if order else {}
        return first.get("type") != "object" and all(key in order for key in value)

    def _next_name(self, order: list[str], given: dict[str, Any], at: int) -> str:
        free = [name for name in order if name not in given]
        if len(given) >= len(order) or not free:
            raise Fault("there are more arguments than the tool takes", at)
        return order[len(given)] if order[len(given)] in free else free[0]

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _present(self, at: int) -> None:
        if at >= len(self.text):
            raise _OutOfText(self.name)


def python_calls(text: str, at: int, terms: Terms, *, sure: bool = False) -> Block | None:
    """The calls at `at`; None where there are none.

    Outside of tags and brackets (unless `sure`) only registered names count.
    """
    reader, marked = Reader(text, terms), sure or text[at] == "["
    try:
        calls, end = reader.calls(at)
    except _NoCall:
        return None
    except _OutOfText as out:
        return _unfinished(text, out.name, terms, sure)
    except Fault as fault:
        fault.reach = max(fault.reach, reader.reach)
        return _broken(text, at, fault, reader.name, terms, marked)
    if terms.more and reader.reach and not is_settled(text, reader.reach):
        return Block(len(text), open=True)
    if not _plausible(calls, marked, terms):
        return None
    chosen = option(calls, terms, 0, [f"{what} was forgiven" for what in reader.bent])
    return Block(end, chosen.calls, repairs=chosen.bent)


def _plausible(calls: list[Call], marked: bool, terms: Terms) -> bool:
    known = [call for call in calls if resolved_tool(call.tool, terms.specs)]
    return len(known) == len(calls) or (marked and any(call.tool_input for call in calls))


def _unfinished(text: str, name: str, terms: Terms, sure: bool) -> Block | None:
    if terms.more:
        return Block(len(text), open=True)
    if not name or not resolved_tool(name, terms.specs):
        return None if not sure else Block(len(text), problem=truncated(name), open=True)
    return Block(len(text), problem=truncated(name), open=True)


def _broken(
    text: str, at: int, fault: Fault, name: str, terms: Terms, marked: bool
) -> Block | None:
    """A call that cannot be read: a problem where its tool is known, else mere words."""
    known = resolved_tool(name, terms.specs) is not None
    end = _end_of_line(text, fault.at)
    if terms.more and (known or marked) and not (end < len(text) and is_settled(text, fault.reach)):
        return Block(len(text), open=True)
    if not known or fault.at >= len(text):
        return None
    return Block(end, problem=broken(fault, at, name), vain=fault.reach - at)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
