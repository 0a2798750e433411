"""Rows as text: in columns where they fit, else each row in lines of its own."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from azent.cli.streams import answers
from azent.cli.visible import visible

GAP = 2


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows, to be read on a terminal of any width, or by a program, one on each line."""
    width = shutil.get_terminal_size().columns if answers().isatty() else None
    for line in table(headings, [[visible(cell) for cell in row] for row in rows], width):
        print(line, file=answers())


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> Iterator[str]:
    """The lines of a table that is at most `width` wide; without a width it has columns."""
    widths = [max(map(_cells, column)) for column in zip(headings, *rows, strict=True)]
    if width is None or sum(widths) + GAP * (len(widths) - 1) <= width:
        yield from (_in_columns(row, widths) for row in (headings, *rows))
        return
    for row in rows:
        yield row[0]
        pairs = zip(headings[1:], row[1:], strict=True)
        facts = ", ".join(f"{name} {cell}" for name, cell in pairs)
        indent = " " * GAP
        yield from textwrap.wrap(facts, width, initial_indent=indent, subsequent_indent=indent)


def _in_columns(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell + " " * (w - _cells(cell)) for cell, w in zip(row, widths, strict=True)]
    return (" " * GAP).join(cells).rstrip()


def _cells(text: str) -> int:
    """The columns of a terminal that a text takes: some characters take two."""
    from rich.cells import cell_len

    return cell_len(text)
