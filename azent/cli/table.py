"""Rows and lines as text, for a terminal of any width: what is too long is wrapped, never cut."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence

from azent.cli.printed import print_text
from azent.cli.streams import answers
from azent.cli.visible import visible
from azent.settings import variable

GAP = 2
INDENT = " " * GAP
NARROWEST = 20
USUAL = 80


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows, to be read on a terminal of any width, or by a program, one on each line."""
    for line in table(headings, [[visible(cell) for cell in row] for row in rows], _width()):
        print_text(line)


def print_wrapped(text: str, *, first: str = "", indent: str = INDENT) -> None:
    """Print a text, wrapped between words on a terminal; `first` and `indent` begin its lines."""
    width = _width()
    print_text(first + text if width is None else wrapped(text, width, first, indent))


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> Iterator[str]:
    """The lines of a table that is at most `width` wide; without a width it has columns.

    Where columns do not fit, each row has lines of its own, and no value is broken to fit in.
    """
    widths = [max(map(_cells, column)) for column in zip(headings, *rows, strict=True)]
    if width is None or sum(widths) + GAP * (len(widths) - 1) <= width:
        yield from (_in_columns(row, widths) for row in (headings, *rows))
        return
    for row in rows:
        yield row[0].strip()
        pairs = zip(headings[1:], row[1:], strict=True)
        yield from _in_lines([f"{name} {cell}" for name, cell in pairs], width)


def wrapped(text: str, width: int, first: str, indent: str) -> str:
    """A text in lines that are at most so wide, but for words that are wider."""
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width() -> int | None:
    """The columns of the terminal that answers go to; None where they go elsewhere."""
    stream = answers()
    if not stream.isatty():
        return None
    told = variable("COLUMNS") or ""
    try:
        columns = int(told) if told.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = USUAL
    return max(columns or USUAL, NARROWEST)


def _in_lines(facts: Sequence[str], width: int) -> Iterator[str]:
    """Facts one after the other, as many on a line as fit."""
    line = ""
    for fact in facts:
        longer = f"{line}, {fact}" if line else f"{INDENT}{fact}"
        if line and _cells(longer) >= width:  # the comma that may follow has to fit, too
            yield f"{line},"
            longer = f"{INDENT}{fact}"
        line = longer
    yield line


def _in_columns(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell + " " * (w - _cells(cell)) for cell, w in zip(row, widths, strict=True)]
    return (" " * GAP).join(cells).rstrip()


def _cells(text: str) -> int:
    """The columns of a terminal that a text takes: some characters take two."""
    from rich.cells import cell_len

    return cell_len(text)
