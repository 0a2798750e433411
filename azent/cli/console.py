"""Print results on standard output and everything else on standard error.

While a command runs, whatever tools and their child processes print goes to standard error, because
it would break JSON and pipes. Control characters are replaced by visible ones everywhere.
"""

from __future__ import annotations

import functools
import io
import json
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import typer

from azent.config import variable
from azent.errors import AzentError, is_harmless, reason_of, safe_json

if TYPE_CHECKING:
    from rich.console import Console

Command = TypeVar("Command", bound=Callable[..., Any])
STDOUT = 1  # its file descriptor, which child processes inherit
SYSTEM_ERROR = 1
INTERRUPTED = 130
COLUMN_GAP = "  "
UNBREAKABLE = "\0"  # stands for a blank while lines are broken; no text has it
MIN_WIDTH = 20
USUAL_WIDTH = 80
ASCII_MARKS = {"→": "->", "←": "<-", "✓": "ok", "✗": "x", "›": ">", "·": "-"}


# ---- text from elsewhere -------------------------------------------------------------------------


def sanitize(text: str) -> str:
    """Replace control and other invisible characters by visible ones."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if is_harmless(character):
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"\\u{code:04x}"


def encodable(mark: str, encoding: str | None) -> str:
    """Return the mark, or its ASCII replacement where the encoding does not have it."""
    try:
        mark.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII_MARKS.get(mark, "?")
    return mark


# ---- terminals -----------------------------------------------------------------------------------


def is_dumb_terminal() -> bool:
    """Return whether the terminal can show plain text only."""
    return os.name != "nt" and variable("TERM") in ("dumb", "unknown")


def is_interactive(stream: TextIO) -> bool:
    """Return whether lines on this stream can be redrawn.

    With NO_COLOR they cannot. Nor can they in an encoding other than UTF-8: the escapes for missing
    characters take more columns than rich expects.
    """
    is_utf8 = (stream.encoding or "").lower().startswith("utf")
    return stream.isatty() and is_utf8 and not is_dumb_terminal() and not variable("NO_COLOR")


def console_for(stream: TextIO) -> Console:
    """Return a rich console that prints text as it is, without markup."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


# ---- printing ------------------------------------------------------------------------------------


def print_notice(*lines: str) -> None:
    """Print lines for a person on standard error; empty ones are left out."""
    for line in filter(None, lines):
        print(sanitize(line), file=sys.stderr, flush=True)


def print_text(text: str) -> None:
    """Print a text on standard output."""
    print(sanitize(text), file=output_stream(), flush=True)


def print_wrapped(text: str, *, first: str = "", indent: str = COLUMN_GAP) -> None:
    """Print a text, wrapped between words on a terminal; `first` and `indent` begin its lines."""
    width = _terminal_width()
    print_text(first + text if width is None else wrap(text, width, first, indent))


def wrap(text: str, width: int, first: str, indent: str) -> str:
    """Break a text into lines between words; a word that is wider than a line stays whole."""
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON, on one line unless it is indented."""
    print(json_text(value, output_stream().encoding, indent), file=output_stream(), flush=True)


def json_text(value: Any, encoding: str | None, indent: int | None = None) -> str:
    """Write a value as JSON, with escapes for control characters and those the encoding lacks."""
    text = safe_json(json.dumps(value, ensure_ascii=False, default=_to_json, indent=indent))
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, default=_to_json, indent=indent)
    return text


def _to_json(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


# ---- tables --------------------------------------------------------------------------------------


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: in columns where they fit, else each row on several lines."""
    sanitized = [[sanitize(cell) for cell in row] for row in rows]
    print_text("\n".join(table_lines(headings, sanitized, _terminal_width())))


def table_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> Iterator[str]:
    """Lay out a table in lines; where columns are wider than `width`, each row takes several.

    No value is cut or broken, as rich would do on a narrow terminal. None is an unlimited width.
    """
    widths = [max(map(_cell_width, column)) for column in zip(headings, *rows, strict=True)]
    if width is None or sum(widths) + len(COLUMN_GAP) * (len(widths) - 1) <= width:
        yield from (_in_columns(row, widths) for row in (headings, *rows))
        return
    for row in rows:
        # Blanks inside a value are replaced until the lines are made, so that none breaks there.
        pairs = zip(headings[1:], row[1:], strict=True)
        values = [f"{name} {cell}".replace(" ", UNBREAKABLE) for name, cell in pairs]
        lines = wrap(", ".join(values), width, COLUMN_GAP, COLUMN_GAP)
        yield row[0].strip()
        yield from lines.replace(UNBREAKABLE, " ").splitlines()


def _in_columns(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell + " " * (w - _cell_width(cell)) for cell, w in zip(row, widths, strict=True)]
    return COLUMN_GAP.join(cells).rstrip()


def _cell_width(text: str) -> int:
    """Count the columns that a text takes on a terminal: some characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def _terminal_width() -> int | None:
    """Return the columns of the terminal that output goes to; None for a file or a pipe."""
    stream = output_stream()
    if not stream.isatty():
        return None
    columns = variable("COLUMNS") or ""
    width = int(columns) if columns.isdecimal() else 0
    with suppress(OSError):
        width = width or os.get_terminal_size(stream.fileno()).columns
    return max(width or USUAL_WIDTH, MIN_WIDTH)


# ---- errors --------------------------------------------------------------------------------------


def error_boundary(command: Command) -> Command:
    """Wrap a command: its errors are printed as a sentence and a hint, and set the exit code.

    Options that contradict each other are refused before it runs. What tools print is redirected.
    """
    from azent.cli.options import check_options

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        with redirect_prints(), _errors_printed():
            check_options(kwargs)
            command(*args, **kwargs)
            output_stream().flush()  # a full disk is noticed here, not when Python ends

    return run  # type: ignore[return-value]  # it has the command's own signature


@contextmanager
def _errors_printed() -> Iterator[None]:
    try:
        yield
    except AzentError as error:
        print_notice(f"azent: {error}", error.hint)
        raise typer.Exit(error.exit_code) from error
    except KeyboardInterrupt as error:
        print_notice("azent: interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except OSError as error:
        reader_is_gone = isinstance(error, BrokenPipeError)
        if reader_is_gone:
            sys.stderr.close()
        else:
            where = f": {error.filename}" if error.filename else ""
            print_notice(f"azent: the system refuses: {reason_of(error)}{where}")
        with suppress(OSError):  # Python would fail once more when it writes the rest at its end
            output_stream().close()
        raise typer.Exit(0 if reader_is_gone else SYSTEM_ERROR) from error


# ---- prints of tools -----------------------------------------------------------------------------


_CAPTURE: ContextVar[PrintCapture | None] = ContextVar("capture", default=None)


def output_stream() -> TextIO:
    """Return the stream for a command's own output: standard output as the command found it."""
    capture = _CAPTURE.get()
    return capture.output if capture else sys.stdout


@contextmanager
def redirect_prints() -> Iterator[None]:
    """Redirect to standard error whatever azent's own functions do not print.

    The descriptor stays redirected: a call that hangs may still print while the program ends.
    """
    capture = PrintCapture(_duplicate(sys.stdout))
    token = _CAPTURE.set(capture)
    try:
        with redirect_stdout(capture):
            yield
    finally:
        with suppress(OSError, ValueError):  # standard error may be closed by now
            capture.flush_all()
        _CAPTURE.reset(token)


def _duplicate(stream: TextIO) -> TextIO:
    """Copy standard output to another descriptor, and point its own one to standard error."""
    try:
        if stream.fileno() != STDOUT:
            return stream
        stderr = sys.stderr.fileno()
        stream.flush()
        copy = os.dup(STDOUT)
        os.dup2(stderr, STDOUT)
    except (OSError, ValueError):  # without descriptors, only what Python prints is redirected
        return stream
    opened = open(copy, "w", encoding=stream.encoding, errors=stream.errors)  # noqa: SIM115  # kept
    opened.reconfigure(line_buffering=bool(stream.line_buffering))
    return opened


@contextmanager
def capture_prints(show: Callable[[str], None]) -> Iterator[None]:
    """Pass each line that tools print to `show`, so that it does not disturb the display."""
    capture = _CAPTURE.get()
    if capture is None:
        yield
        return
    capture.show = show
    try:
        yield
    finally:
        capture.flush_all()
        capture.show = None


def flush_prints() -> None:
    """Show the incomplete lines that tools have printed."""
    if capture := _CAPTURE.get():
        capture.flush_all()


class PrintCapture(io.TextIOBase):
    """Stands in for `sys.stdout`: prints whole lines on standard error, or hands them to `show`.

    A line is held back until it ends or is flushed, so that lines of several threads do not mix.
    `output` is the standard output that it replaces.
    """

    def __init__(self, output: TextIO) -> None:
        self.output = output
        self.show: Callable[[str], None] | None = None
        self._unfinished: dict[int, str] = {}  # by thread

    def write(self, text: str) -> int:
        """Print the lines that this text completes."""
        thread = threading.get_ident()
        lines, end, rest = (self._unfinished.pop(thread, "") + text).rpartition("\n")
        if rest:
            self._unfinished[thread] = rest
        if end:
            self._print(lines + end)
        return len(text)

    def flush(self) -> None:
        """Print the unfinished line of this thread, unless whole lines are wanted."""
        if self.show is None and (rest := self._unfinished.pop(threading.get_ident(), "")):
            self._print(rest)

    def flush_all(self) -> None:
        """Print the unfinished lines of all threads as whole ones."""
        with suppress(KeyError):  # raised when none is left
            while True:
                self._print(self._unfinished.popitem()[1] + "\n")

    def _print(self, text: str) -> None:
        if self.show is None:
            sys.stderr.write(sanitize(text))
            sys.stderr.flush()
            return
        for line in text.removesuffix("\n").split("\n"):
            self.show(line.rstrip("\r").rpartition("\r")[2])  # a progress bar overwrites its line

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def reconfigure(self, **settings: Any) -> None:
        """Ignore the settings: the encoding is that of standard error."""

    def fileno(self) -> int:
        """Return the descriptor of standard error."""
        return sys.stderr.fileno()

    @property
    def buffer(self) -> Any:
        """The binary stream of standard error."""
        return sys.stderr.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute there, a property here
        """The encoding of standard error."""
        return sys.stderr.encoding
