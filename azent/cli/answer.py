"""The text of an answer while it is written: Markdown on a terminal, as it is elsewhere.

On a terminal it is printed block by block. What is whole is printed once, and only the block that
is still being written is drawn anew, so that an answer can be longer than the screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from azent.cli.region import Region, console_of, is_live
from azent.cli.visible import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown

FENCES = ("```", "~~~")


class AnswerText(Protocol):
    """Where an answer is shown. `is_empty` is whether nothing but white space has come."""

    is_empty: bool

    def write(self, text: str) -> None:
        """Show a piece of it."""

    def pause(self) -> None:
        """End what is being written, because something else is to be shown."""


def answer_on(stream: TextIO) -> AnswerText:
    """An answer as a stream can show it."""
    return MarkdownAnswer(stream) if is_live(stream) else PlainAnswer(stream)


class Unshown:
    """An answer that is not shown."""

    is_empty = False

    def write(self, text: str) -> None:
        """Leave it."""

    def pause(self) -> None:
        """There is nothing to end."""


class PlainAnswer:
    """An answer in a file, a pipe, or on a terminal that can no more."""

    def __init__(self, stream: TextIO) -> None:
        self.is_empty = True
        self._stream = stream
        self._last = ""

    def write(self, text: str) -> None:
        """Print a piece of it."""
        self.is_empty = self.is_empty and not text.strip()
        self._print(visible(text))

    def pause(self) -> None:
        """End its line."""
        if self._last not in ("", "\n"):
            self._print("\n")

    def _print(self, text: str) -> None:
        self._last = text[-1:] or self._last
        self._stream.write(text)
        self._stream.flush()


class MarkdownAnswer:
    """An answer on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.is_empty = True
        self._console = console_of(stream)
        self._region = Region(self._console)
        self._open = ""

    def write(self, text: str) -> None:
        """Print the blocks that a piece makes whole, and draw the one that it begins."""
        self.is_empty = self.is_empty and not text.strip()
        self._open += text
        if at := complete(self._open):
            self._region.stop()
            self._console.print(_markdown(self._open[:at]))
            self._console.print()
            self._open = self._open[at:]
        if self._open.strip() and not self._region.is_drawn:
            self._region.draw(lambda: _Tail(_markdown(self._open)))

    def pause(self) -> None:
        """Print the block that is being written as it is now."""
        self._region.stop()
        if self._open.strip():
            self._console.print(_markdown(self._open))
        self._open = ""


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
