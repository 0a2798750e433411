"""Read files of unknown origin: only regular ones, of limited size.

A path may lead to a pipe without a writer, an endless device, or a file larger than memory. The
functions raise OSError or ValueError for those and never block; only `open_stream` and
`read_stream` accept pipes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

LARGEST_TEXT = 1_000_000  # bytes in a text of a prompt
LARGEST_TOML = 100_000  # characters in a file of settings
LONGEST_LINE = 1 << 24  # bytes in a line of a file of many records
MOST_DOTS = 1_000  # in a line of TOML: a key takes quadratic time in the number of its dots


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for a pipe, a device or a folder."""
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115  # the caller closes it
    _check_regular(file)
    return file


def open_stream(path: Path) -> BinaryIO:
    """Open a regular file or a pipe for reading. Raises OSError for a device or a folder.

    It waits for the writer of a pipe, because the user named the pipe on purpose.
    """
    file = open(path, "rb")  # noqa: SIM115  # the caller closes it
    if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
        _check_regular(file)
    return file


def _check_regular(file: BinaryIO) -> None:
    """Raise OSError for a pipe or a device, and close it."""
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(file.name))


def read_text(path: Path) -> str:
    """Read the text of a regular file in UTF-8. Raises OSError and UnicodeDecodeError."""
    with open_regular(path) as file:
        body = file.read(LARGEST_TEXT + 1)
    if len(body) > LARGEST_TEXT:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_TEXT:,} bytes", str(path))
    return _text_in(body)


def read_stream(path: Path) -> str:
    """Read the text of a regular file or a pipe in UTF-8, of any size. Raises OSError."""
    with open_stream(path) as file:
        return _text_in(file.read())


def _text_in(body: bytes) -> str:
    return body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file. Raises OSError for a line that is too long."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            message = f"line {number} is longer than {LONGEST_LINE:,} bytes"
            raise OSError(errno.EFBIG, message, str(file.name))
        yield line


def read_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document. Raises ValueError, also if it is too large or nested too deeply."""
    import tomllib

    if len(text) > LARGEST_TOML:
        raise ValueError(f"it is larger than {LARGEST_TOML:,} characters")
    if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        raise ValueError(f"a line has more than {MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text. Raises OSError."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open_at_once(path: str, flags: int) -> int:
    """Open a path without waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
