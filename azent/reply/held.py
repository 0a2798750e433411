"""Calls out of a reply that decoding holds to the protocol's schema, each as soon as it is whole.

Such a reply is one JSON object whose list of calls comes last, so a call is certain at its closing
bracket. The first that the schemas refuse ends the giving out: the model will be corrected.
"""

from __future__ import annotations

import re

from azent.literals import TooDeep, strict
from azent.messages import Call, Specs
from azent.validate import checked

_HEAD = re.compile(
    r'\s*\{\s*(?:"thought"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*)?"tools"\s*:\s*\[', re.DOTALL
)
_NEXT = re.compile(r"[\s,]*")


class HeldCalls:
    """Feed text; it gives the calls that are complete with it."""

    def __init__(self, specs: Specs, trusted: bool) -> None:
        self._specs, self._trusted = specs, trusted
        self._text = ""
        self._at = -1
        self._over = False

    def feed(self, piece: str) -> list[Call]:
        if self._over:
            return []
        self._text += piece
        if "}" not in piece:
            return []
        return self._complete()

    def _complete(self) -> list[Call]:
        if self._at < 0:
            head = _HEAD.match(self._text)
            if head is None:
                return []
            self._at = head.end()
        made: list[Call] = []
        while (call := self._one()) is not None:
            made.append(call)
        self._text, self._at = self._text[self._at :], 0
        return made

    def _one(self) -> Call | None:
        space = _NEXT.match(self._text, self._at)
        begin = space.end() if space else self._at
        try:
            found = strict(self._text, begin) if self._text[begin : begin + 1] == "{" else None
        except TooDeep:
            found = None
        if found is None:
            return None
        value, self._at = found
        call = self._legal(value)
        self._over = call is None
        return call

    def _legal(self, value: object) -> Call | None:
        if not isinstance(value, dict) or value.keys() != {"tool", "tool_input"}:
            return None
        call, _ = checked(
            Call(value["tool"], value["tool_input"]), self._specs, trusted=self._trusted
        )
        return call if call.problem is None else None
