"""A part of a terminal that is drawn anew while something changes, and is gone afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from azent.settings import variable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

FRAMES_PER_SECOND = 8


def is_live(stream: TextIO) -> bool:
    """Can what stands on the stream be drawn anew, and is it wanted?

    Not in files, pipes and dumb terminals, nor where NO_COLOR asks for text alone. And not where a
    code page lacks characters: those that stand for them take more room than was reckoned with.
    """
    draws = stream.isatty() and not is_dumb() and (stream.encoding or "").lower().startswith("utf")
    return draws and not variable("NO_COLOR")


def is_dumb() -> bool:
    """Does the terminal know nothing but text?"""
    return os.name != "nt" and variable("TERM") in ("dumb", "unknown")


def console_of(stream: TextIO) -> Console:
    """A console that prints text as it is, with colours where they are wanted."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


class Region:
    """A part of a terminal below what was printed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    @property
    def is_drawn(self) -> bool:
        """Is there anything to be seen of it?"""
        return self._live is not None

    def draw(self, drawn: Callable[[], Any]) -> None:
        """Draw this from now on."""
        from rich.live import Live

        self.stop()
        self._live = Live(
            get_renderable=drawn,
            console=self._console,
            transient=True,
            refresh_per_second=FRAMES_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def stop(self) -> None:
        """Take it off the screen."""
        if self._live:
            self._live.stop()
            self._live = None

    def close(self) -> None:
        """Take it off the screen, with the cursor back, even where a Ctrl-C came in between."""
        self.stop()
        self._console.show_cursor(True)
