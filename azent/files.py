"""Reads files that someone else may have put in place: only regular files, of a bounded size.

A path may lead to a pipe that nobody writes to, to a device without an end, or to more than fits
into memory. Everything here raises OSError or ValueError for those, and never waits.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

LARGEST_TEXT = 1_000_000  # bytes in a file of settings or of a prompt
LONGEST_LINE = 1 << 26  # bytes in a line of a file of many records
MOST_DOTS = 1_000  # in a line of TOML: a key takes quadratic time in the number of its dots


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for a pipe, a device or a folder."""
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115  # the caller closes it
    try:
        check_regular(file)
    except OSError:
        file.close()
        raise
    return file


def check_regular(file: IO[Any]) -> None:
    """Raise OSError where an open file is a pipe or a device."""
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(file.name))


def read_text(path: Path) -> str:
    """The text of a regular file in UTF-8. Raises OSError and UnicodeDecodeError."""
    with open_regular(path) as file:
        body = file.read(LARGEST_TEXT + 1)
    if len(body) > LARGEST_TEXT:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_TEXT:,} bytes", str(path))
    return body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file. Raises ValueError for one that is longer than any record."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise ValueError(f"line {number} is longer than {LONGEST_LINE:,} bytes")
        yield line


def read_toml(text: str) -> dict[str, Any]:
    """The values in a TOML document. Raises ValueError, also where it is nested too deeply."""
    import tomllib

    if any(line.count(".") > MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"a line has more than {MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _open_at_once(path: str, flags: int) -> int:
    """Open a path without waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
