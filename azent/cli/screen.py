"""Lines that tell of a run, and on a terminal one below them that tells what is waited for.

What comes from models, tools and files is shown, not obeyed (`azent.cli.visible`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

from azent.cli.region import FRAMES_PER_SECOND, Region, console_of, is_live
from azent.cli.visible import encodable, visible

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


MOST_BESIDE = 5  # lines that are drawn above what is waited for; all of them are printed later


class Screen(Protocol):
    """Where lines are shown."""

    is_live: bool

    def line(self, mark: str, text: str, style: str = "") -> None:
        """Show a line that stays."""

    def beside(self, mark: str, text: str, style: str = "") -> None:
        """Show a line from any thread, whatever is waited for meanwhile."""

    def wait(self, words: Callable[[], str]) -> None:
        """Tell what is waited for, in words that change."""

    def rest(self) -> None:
        """Nothing is waited for any more."""

    def close(self) -> None:
        """Leave it as it was found."""


def screen_on(stream: TextIO) -> Screen:
    """The screen that a stream can be."""
    return LiveScreen(stream) if is_live(stream) else PlainScreen(stream)


class PlainScreen:
    """Lines in a file, a pipe, or on a terminal that can no more."""

    is_live = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def line(self, mark: str, text: str, style: str = "") -> None:
        """Print a line."""
        mark = encodable(mark, self._stream.encoding)
        print(f"{mark} {visible(text)}", file=self._stream, flush=True)

    beside = line

    def wait(self, words: Callable[[], str]) -> None:
        """Say nothing: it could not be taken back."""

    def rest(self) -> None:
        """There is nothing to take back."""

    def close(self) -> None:
        """There is nothing to put in order."""


class LiveScreen:
    """Lines on a terminal, wrapped beside their marks."""

    is_live = True

    def __init__(self, stream: TextIO) -> None:
        self._console = console_of(stream)
        self._region = Region(self._console)
        self._besides: list[Text] = []

    def line(self, mark: str, text: str, style: str = "") -> None:
        """Print a line above what is waited for, which ends."""
        self.rest()
        self._console.print(self._drawn(mark, text, style))

    def beside(self, mark: str, text: str, style: str = "") -> None:
        """Draw a line above what is waited for; it is printed once that ends.

        Nothing is printed here: two threads that print would each undo what the other has drawn.
        """
        self._besides.append(self._drawn(mark, text, style))

    def _drawn(self, mark: str, text: str, style: str) -> Text:
        """A line, wrapped beside its mark."""
        from rich.text import Text

        width = max(self._console.width - len(mark) - 1, 1)
        parts = [part.plain.rstrip() for part in Text(visible(text)).wrap(self._console, width)]
        hanging = f"\n{' ' * (len(mark) + 1)}".join(parts)
        return Text(f"{mark} {hanging}", style=style)

    def wait(self, words: Callable[[], str]) -> None:
        """Tell what is waited for, in one line that moves."""
        self._region.draw(lambda: self._waiting(words()))

    def rest(self) -> None:
        """Take that line off the screen, and print what was told beside it."""
        self._region.stop()
        while self._besides:
            self._console.print(self._besides.pop(0))

    def close(self) -> None:
        """Leave the terminal as it was found, whatever happened."""
        self._region.close()
        self.rest()

    def _waiting(self, words: str) -> Group:
        from rich.console import Group
        from rich.text import Text

        frame = FRAMES[int(time.monotonic() * FRAMES_PER_SECOND) % len(FRAMES)]
        waiting = Text(f"{frame} {visible(words)}", "dim", no_wrap=True, overflow="ellipsis")
        return Group(*self._besides[-MOST_BESIDE:], waiting)
