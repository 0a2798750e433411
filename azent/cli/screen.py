"""What a person sees: lines, a line that tells what is waited for, an answer as it is written.

The answer goes to standard output, all else to standard error. On a terminal the answer is rendered
as Markdown, block by block: what is complete is printed once, and only the block that is still
being written is drawn anew. Elsewhere it is printed as it is. What comes from models, tools and
files is shown, not obeyed (`azent.cli.visible`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from azent.cli.visible import encodable, visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.markdown import Markdown
    from rich.text import Text

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_FRAMES = "|/-\\"
FRAMES_PER_SECOND = 8
FENCES = ("```", "~~~")


def console_of(stream: TextIO) -> Console:
    """A console that prints text as it is, with colours where the stream is a terminal."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def is_live(stream: TextIO) -> bool:
    """Can what stands on the stream be drawn anew? Not in files, pipes and dumb terminals."""
    return stream.isatty() and not console_of(stream).is_dumb_terminal


class Screen:
    """Lines on standard error, and one line below them while something is waited for."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: TextIO = stream or sys.stderr
        self._console = console_of(self._stream)
        self._region = _Region(self._console)
        self.is_live = is_live(self._stream)

    def line(self, mark: str, text: str, style: str = "") -> None:
        """A line that stays: on a terminal it is wrapped beside its mark."""
        self.rest()
        mark = encodable(mark, self._stream.encoding)
        if not self.is_live:
            print(f"{mark} {visible(text)}", file=self._stream, flush=True)
            return
        from rich.text import Text

        width = max(self._console.width - len(mark) - 1, 1)
        for place, part in enumerate(Text(visible(text)).wrap(self._console, width)):
            start = mark if place == 0 else " " * len(mark)
            self._console.print(Text(f"{start} {part.plain.rstrip()}", style=style))

    def wait(self, words: Callable[[], str]) -> None:
        """Tell what is waited for, where there is a terminal to tell it on."""
        if self.is_live:
            self._region.draw(lambda: self._waiting(words()))

    def rest(self) -> None:
        """Nothing is waited for any more."""
        self._region.stop()

    def close(self) -> None:
        """Leave the terminal as it was found, whatever happened."""
        if self.is_live:
            self._region.close()

    def _waiting(self, words: str) -> Text:
        from rich.text import Text

        frames = FRAMES if encodable(FRAMES, self._stream.encoding) == FRAMES else PLAIN_FRAMES
        frame = frames[int(time.monotonic() * FRAMES_PER_SECOND) % len(frames)]
        return Text(f"{frame} {visible(words)}", "dim", no_wrap=True, overflow="ellipsis")


class AnswerText:
    """The text of an answer, on standard output as it comes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: TextIO = stream or sys.stdout
        self._console = console_of(self._stream)
        self._region = _Region(self._console)
        self._open = ""
        self._begun = False
        self._is_live = is_live(self._stream)

    @property
    def is_empty(self) -> bool:
        """Has nothing been written yet?"""
        return not self._begun

    def write(self, text: str) -> None:
        """Show a piece of it."""
        self._begun = self._begun or bool(text.strip())
        self._open += text
        if not self._is_live:
            self._stream.write(visible(text))
            self._stream.flush()
            return
        self._print_complete()
        if self._open.strip() and not self._region.is_drawn:
            self._region.draw(lambda: _Tail(_markdown(self._open)))

    def pause(self) -> None:
        """Print what has come so far, because something else is to be printed."""
        self._region.stop()
        if self._is_live and self._open.strip():
            self._console.print(_markdown(self._open))
        elif not self._is_live and self._open and not self._open.endswith("\n"):
            self._stream.write("\n")
            self._stream.flush()
        self._open = ""

    def _print_complete(self) -> None:
        at = complete(self._open)
        if at:
            self._region.stop()
            self._console.print(_markdown(self._open[:at]))
            self._console.print()
            self._open = self._open[at:]


def complete(text: str) -> int:
    """How many characters of Markdown are whole blocks, whatever may follow.

    A block ends at an empty line outside of fences, unless an indented line or another item of a
    list goes on with it.
    """
    whole, at, fence, empty = 0, 0, "", False
    for line in text.splitlines(keepends=True):
        begins = line.lstrip()[:3]
        if empty and not fence and line.strip() and not _goes_on(line):
            whole = at
        if begins in FENCES and fence in ("", begins):
            fence = "" if fence else begins
        empty = not line.strip()
        at += len(line)
    return whole


def _goes_on(line: str) -> bool:
    """Does a line after an empty one go on with the list before it, or may it, once it is whole?"""
    head = line.split(maxsplit=1)[0]
    return line[0].isspace() or head in "-*+" or head.rstrip(".)").isdigit()


def _markdown(text: str) -> Markdown:
    """Text as Markdown in which tags are text, and links show where they lead."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    rendered = Markdown("", hyperlinks=False)
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    rendered.parsed = parser.parse(visible(text))
    return rendered


class _Region:
    """A part of a terminal that is drawn anew some times a second, and is gone when it stops."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

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

    @property
    def is_drawn(self) -> bool:
        return self._live is not None

    def close(self) -> None:
        """Take it off the screen, with the cursor back, even where a Ctrl-C came in between."""
        self.stop()
        self._console.show_cursor(True)


class _Tail:
    """The last lines of something that may be taller than the screen."""

    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        lines = console.render_lines(self._drawn, options.update(height=None), pad=False)
        yield from _joined(lines[-max(console.height - 1, 1) :], Segment.line())


def _joined(lines: list[list[Any]], end: Any) -> Iterator[Any]:
    for line in lines:
        yield from line
        yield end
