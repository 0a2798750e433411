"""What of a reply can be shown while it comes: its words and its reasoning, apart."""

from __future__ import annotations

from collections.abc import Iterable

from azent.messages import Problem, Reply
from azent.reply.found import Block
from azent.reply.outlet import Outlet


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
