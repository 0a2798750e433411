"""Redraw a status line, a progress line or a streamed answer on a terminal.

A streamed answer is rendered as Markdown, block by block: a finished block is printed once, and
only the unfinished one is redrawn, so that an answer can be longer than the screen.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from azent.cli.console import console_for, is_interactive, print_notice, sanitize

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.markdown import Markdown

FRAMES_PER_SECOND = 8
FENCES = ("```", "~~~")


class LiveArea:
    """An area below the printed lines of a terminal that is redrawn until it is stopped."""

    def __init__(self, stream: TextIO) -> None:
        self.console = console_for(stream)
        self._live: Live | None = None

    @property
    def is_drawn(self) -> bool:
        """Return whether the area is on the screen."""
        return self._live is not None

    def draw(self, renderable: Callable[[], Any]) -> None:
        """Draw what the function returns, repeatedly."""
        from rich.live import Live

        self.stop()
        self._live = Live(
            get_renderable=renderable,
            console=self.console,
            transient=True,
            refresh_per_second=FRAMES_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def stop(self) -> None:
        """Remove the area from the screen."""
        if self._live:
            self._live.stop()
            self._live = None

    def close(self) -> None:
        """Remove the area and show the cursor, even if Ctrl-C interrupted a redrawing."""
        self.stop()
        self.console.show_cursor(True)


# ---- progress ------------------------------------------------------------------------------------


class ProgressLines:
    """The progress of a long run: redrawn on a terminal, printed now and then elsewhere."""

    def __init__(self, seconds: float) -> None:
        self._area = LiveArea(sys.stderr) if is_interactive(sys.stderr) else None
        self._seconds = seconds
        self._next = time.monotonic() + seconds
        self._text = ""
        self._lock = threading.Lock()  # tools print from their own threads

    def update(self, text: str, *, at_once: bool = False) -> None:
        """Show the progress; `at_once` prints it even if the last line was printed just before."""
        with self._lock:
            self._text = text
            if self._area and not self._area.is_drawn:
                self._area.draw(self._renderable)
            elif not self._area and (at_once or time.monotonic() >= self._next):
                self._next = time.monotonic() + self._seconds
                print_notice(text.replace("\n", "; "))

    def print(self, line: str) -> None:
        """Print a line that stays, from any thread."""
        with self._lock:
            if self._area:
                self._area.stop()
            print_notice(line)

    def close(self) -> None:
        """Remove the redrawn line."""
        if self._area:
            self._area.close()

    def _renderable(self) -> Any:
        from rich.text import Text

        return Text(sanitize(self._text), overflow="ellipsis", no_wrap=True)


# ---- a streamed answer ---------------------------------------------------------------------------


def answer_writer(stream: TextIO) -> TextWriter:
    """Return what shows an answer on this stream: Markdown on a terminal, else the plain text."""
    return MarkdownWriter(stream) if is_interactive(stream) else TextWriter(stream)


class TextWriter:
    """A writer of a streamed answer as it is; `is_empty` until something visible has come."""

    def __init__(self, stream: TextIO) -> None:
        self.is_empty = True
        self._stream = stream
        self._last = ""

    def write(self, text: str) -> None:
        """Print the next piece of the answer."""
        self.is_empty = self.is_empty and not text.strip()
        self._print(sanitize(text))

    def pause(self) -> None:
        """End the line, so that something else can be printed."""
        if self._last not in ("", "\n"):
            self._print("\n")

    def _print(self, text: str) -> None:
        self._last = text[-1:] or self._last
        self._stream.write(text)
        self._stream.flush()


class MarkdownWriter(TextWriter):
    """A writer that renders a streamed answer as Markdown on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._area = LiveArea(stream)
        self._unfinished = ""

    def write(self, text: str) -> None:
        """Print the blocks that this piece finishes, and draw the unfinished one."""
        self.is_empty = self.is_empty and not text.strip()
        self._unfinished += text
        if end := finished_blocks(self._unfinished):
            self._area.stop()
            self._area.console.print(_markdown(self._unfinished[:end]))
            self._area.console.print()
            self._unfinished = self._unfinished[end:]
        if self._unfinished.strip() and not self._area.is_drawn:
            self._area.draw(lambda: _LastLines(_markdown(self._unfinished)))

    def pause(self) -> None:
        """Print the unfinished block as it is now."""
        self._area.stop()
        if self._unfinished.strip():
            self._area.console.print(_markdown(self._unfinished))
        self._unfinished = ""


def finished_blocks(text: str) -> int:
    """Count the characters of Markdown whose rendering no later text can change.

    A block ends at an empty line outside of fences, unless an indented line or another item of a
    list continues it.
    """
    finished, at, fence, after_empty = 0, 0, "", False
    for line in text.splitlines(keepends=True):
        begins = line.lstrip()[:3]
        if after_empty and not fence and line.strip() and not _may_continue(line):
            finished = at
        if begins in FENCES and fence in ("", begins):
            fence = "" if fence else begins
        after_empty = not line.strip()
        at += len(line)
    return finished


def _may_continue(line: str) -> bool:
    """Return whether a line after an empty one may continue the list before it."""
    head = line.split(maxsplit=1)[0]
    return line[0].isspace() or head in "-*+" or head.rstrip(".)").isdigit()


def _markdown(text: str) -> Markdown:
    """Parse Markdown; HTML tags become text, and links show their addresses."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    rendered = Markdown("", hyperlinks=False)
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    rendered.parsed = parser.parse(sanitize(text))
    return rendered


class _LastLines:
    """A renderable that shows the last lines of one that may be taller than the screen."""

    def __init__(self, renderable: Any) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        lines = console.render_lines(self._renderable, options.update(height=None), pad=False)
        for line in lines[-max(console.height - 1, 1) :]:
            yield from line
            yield Segment.line()
