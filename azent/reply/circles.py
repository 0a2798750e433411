"""Does a reply go in circles? A small model that lost its way says the same up to its limit.

    {"tools": [{"tool": "mean", "tool_input": {"numbers": [3, 0, 0, 0, 0, 0, 0, 0, 0, ...

Only exact repetition counts, of one piece over and over. A value of a call is seldom so long, and
what a person reads may be: lines of a table, a word that they asked for a hundred times.
"""

from __future__ import annotations

LAPS = 8  # so often the same piece at least
CALL_CHARS = 600  # of nothing else, in a reply that may make calls
WORD_CHARS = 2000  # the same, in words for a person


class Circles:
    """Watches a reply as it comes; `span` is how many characters have to be one piece repeated."""

    def __init__(self, span: int) -> None:
        self._span = span
        self._looked = 0

    def turn(self, text: str) -> bool:
        """Does the end of a text, which has grown since the last time, go in circles?

        Looked at only when a good part of the span has come since: it costs next to nothing then.
        """
        if len(text) - self._looked < self._span // 4:
            return False
        self._looked = len(text)
        return goes_in_circles(text, self._span)


def goes_in_circles(text: str, span: int) -> bool:
    """Are the last `span` characters one piece, repeated at least `LAPS` times?"""
    tail = text[-span:]
    laps = range(1, span // LAPS + 1)
    return len(tail) == span and any(tail.endswith(tail[:-lap]) for lap in laps)
