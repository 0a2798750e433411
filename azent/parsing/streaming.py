"""Tell what of a reply can be shown while it comes, and when it repeats itself."""

from __future__ import annotations

from collections.abc import Iterable

from azent.messages import Problem, Reply
from azent.parsing.candidates import Block


class Shown:
    """Takes blocks and hands out their words and their reasoning.

    `opened` says that the model is expected to begin within its reasoning, because the prompt or
    the server took the opening tag: all is then reasoning until a closing tag comes. A closing tag
    that nobody expected makes reasoning of the words that were handed out before it.
    """

    def __init__(self, opened: bool = False) -> None:
        self._opened = self._expected = opened
        self._words, self._thoughts = Outlet(), Outlet()
        self._given: list[str] = []

    def begin_in_reasoning(self) -> None:
        """Expect the reply to begin within its reasoning; to be called before its first text."""
        self._opened = self._expected = True

    def take(self, blocks: Iterable[Block]) -> None:
        """Take blocks that are certain."""
        for block in blocks:
            if block.undo:
                self._close_reasoning()
            elif block.thinking or (block.mode and not block.mode.listing):
                self._opened = False
            self._thoughts.put(block.words + block.thinking if self._opened else block.thinking)
            self._words.put("" if self._opened else block.words)

    def words(self) -> str:
        """The words that were not handed out before."""
        words = self._words.take()
        self._given.append(words)
        return words

    def thoughts(self) -> str:
        """The reasoning that was not handed out before."""
        return self._thoughts.take()

    def whole(self, reply: Reply, done_reason: str) -> Reply:
        """The whole reply; one that was cut within the reasoning it began in has nothing else."""
        if not self._expected or done_reason != "length" or reply.thinking:
            return reply
        message = "The reply was cut off within its reasoning. Think and answer in fewer words."
        problem = Problem("truncated", message)
        return Reply(thinking=reply.raw.strip(), problem=problem, raw=reply.raw)

    def end(self, reply: Reply) -> None:
        """The whole reply: what is still missing of it can be shown."""
        self._words.end(reply.text)
        self._thoughts.end(reply.thinking)

    def _close_reasoning(self) -> None:
        if not self._opened:
            self._thoughts.put("".join(self._given) + self._words.rest())
        self._opened, self._words = False, Outlet()


# ---- text on its way to a person -----------------------------------------------------------------

NOTHING = ("null", "none", "{}", "[]")  # a reply that is one of these says that there is no call


def _may_mean_nothing(words: str) -> bool:
    return any(nothing.startswith(words.casefold()) for nothing in NOTHING)


class Outlet:
    """Takes text as it becomes certain and hands it on; white space at either end is kept back, and
    so are words that may turn out to mean that there is nothing to say.
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._given: list[str] = []
        self._ended = False

    def put(self, text: str) -> None:
        """More text; white space before the first word is dropped."""
        self._waiting += text if self._given or self._waiting else text.lstrip()

    def take(self) -> str:
        """What may be shown now and was not taken before."""
        ready = self._waiting.rstrip()
        if not (self._given or self._ended) and _may_mean_nothing(ready):
            return ""
        self._waiting = self._waiting[len(ready) :]
        if ready:
            self._given.append(ready)
        return ready

    def rest(self) -> str:
        """What was put in and is not taken yet."""
        return self._waiting

    def end(self, whole: str) -> None:
        """The text turned out to be `whole`: what is still missing of it is ready."""
        self._ended, given = True, "".join(self._given)
        self._waiting = whole[len(given) :] if whole.startswith(given) else ""


# ---- replies that repeat themselves --------------------------------------------------------------
#     {"tools": [{"tool": "mean", "tool_input": {"numbers": [3, 0, 0, 0, 0, 0, 0, 0, 0, ...
#
# Only exact repetition counts, of one piece over and over. A value of a call is seldom so long, and
# what a person reads may be: lines of a table, a word that they asked for a hundred times.

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
