"""Standard output is for answers: what tools print while a command runs goes to standard error.

Azent's own printers write to `answers()`. All else that is written to standard output (a `print` in
a tool, in whatever thread, a program that a tool starts) would end up in the middle of an answer,
and break JSON and pipes. So the command sets its standard output aside before anything can write.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TextIO

from azent.cli.visible import visible

STDOUT = 1  # its descriptor, which programs inherit


@dataclass(frozen=True, slots=True)
class Apart:
    """The stream of a command's answers, and what took its place."""

    answers: TextIO
    prints: Prints


_APART: ContextVar[Apart | None] = ContextVar("apart", default=None)


def answers() -> TextIO:
    """Where answers go: standard output, as the command found it."""
    apart = _APART.get()
    return apart.answers if apart else sys.stdout


@contextmanager
def answers_apart() -> Iterator[None]:
    """Keep standard output to the printers of azent; what others print goes to standard error.

    The descriptor stays set aside: a call that hangs may still print while the program ends.
    """
    apart = Apart(_of_its_own(sys.stdout), Prints())
    token = _APART.set(apart)
    try:
        with redirect_stdout(apart.prints):
            yield
    finally:
        with suppress(OSError, ValueError):  # standard error is gone, and nobody to be told
            apart.prints.show_begun()
        _APART.reset(token)


@contextmanager
def prints_shown(show: Callable[[str], None]) -> Iterator[None]:
    """Hand what tools print to `show`, line by line, where a screen has to be kept in order."""
    apart = _APART.get()
    if apart is None:
        yield
        return
    apart.prints.show = show
    try:
        yield
    finally:
        apart.prints.show_begun()
        apart.prints.show = None


def show_begun_prints() -> None:
    """Show the lines that tools have begun to print, as these have come to their end."""
    if apart := _APART.get():
        apart.prints.show_begun()


class Prints(io.TextIOBase):
    """What stands in for standard output: prints whole lines on standard error, or shows them.

    What one thread prints piece by piece must not mix with what others do, so lines are held until
    they are whole, or flushed.
    """

    def __init__(self) -> None:
        self.show: Callable[[str], None] | None = None
        self._begun: dict[int, str] = {}  # lines that are not whole yet, by thread

    def write(self, text: str) -> int:
        """Print a piece of text."""
        thread = threading.get_ident()
        lines, end, begun = (self._begun.pop(thread, "") + text).rpartition("\n")
        if begun:
            self._begun[thread] = begun
        if end:
            self._print(lines + end)
        return len(text)

    def flush(self) -> None:
        """Print what this thread has begun, where it may stand by itself."""
        if self.show is None and (begun := self._begun.pop(threading.get_ident(), "")):
            self._print(begun)

    def show_begun(self) -> None:
        """Show the lines that are not whole as if they were."""
        with suppress(KeyError):  # there are no more
            while True:
                self._print(self._begun.popitem()[1] + "\n")

    def _print(self, text: str) -> None:
        if self.show is None:
            sys.stderr.write(visible(text))
            sys.stderr.flush()
            return
        for line in text.removesuffix("\n").split("\n"):
            self.show(_as_seen(line))

    def writable(self) -> bool:
        """It can be written to."""
        return True

    def reconfigure(self, **how: Any) -> None:
        """Leave it as it is: programs ask for UTF-8, and what cannot be printed is escaped."""

    def fileno(self) -> int:
        """That of standard error."""
        return sys.stderr.fileno()

    @property
    def buffer(self) -> Any:
        """Where bytes go."""
        return sys.stderr.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute there, and always ours here
        """That of standard error."""
        return sys.stderr.encoding


def _as_seen(line: str) -> str:
    """What a terminal shows of a line that was written over, as bars of progress are."""
    return line.rstrip("\r").rpartition("\r")[2]


def _of_its_own(stream: TextIO) -> TextIO:
    """Standard output on another descriptor; the usual one leads to standard error from now on."""
    try:
        if stream.fileno() != STDOUT:
            return stream
        elsewhere = sys.stderr.fileno()
        stream.flush()
        own = os.dup(STDOUT)
        os.dup2(elsewhere, STDOUT)
    except (OSError, ValueError):  # no descriptors to be had: then Python's own prints must do
        return stream
    copy = open(own, "w", encoding=stream.encoding, errors=stream.errors)  # noqa: SIM115  # kept
    copy.reconfigure(line_buffering=bool(stream.line_buffering))
    return copy
