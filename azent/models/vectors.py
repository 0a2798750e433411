"""Vectors that are kept, so that no text is encoded twice.

Those of passages, such as the descriptions of functions, are kept in memory and in the user's cache
folder; those of queries, which seldom come again, in memory alone. The folder only saves time: a
file that is damaged, or cannot be read or written, counts as empty. It can be deleted at any time.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import tempfile
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from azent import settings
from azent.errors import ModelError
from azent.models.encoder import Encoder, Kind, Vector, VersionedEncoder, texts_of

MOST_KEPT: Mapping[Kind, int] = {"passage": 2000, "query": 200}
PREPARATION = "1"  # to be counted up where encoders are given texts in another form than before
MOST_BYTES = 64_000_000  # of a file; azent never writes a larger one
UNIT_TOLERANCE = 1e-3


class Kept:
    """An encoder whose vectors are kept, in memory and in a folder.

    `folder` is "vectors" in the cache folder unless another is given. Only an encoder that tells
    its version has a file there, so that new weights under an old name never meet old vectors.
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None) -> None:
        self.encoder = encoder
        self.name = encoder.name
        self._folder = folder
        self._file: Path | None = None
        self._file_was_read = False
        self._lock = threading.Lock()
        self._vectors: Mapping[Kind, OrderedDict[str, Vector]] = {
            "passage": OrderedDict(),
            "query": OrderedDict(),
        }

    def __repr__(self) -> str:
        return f"Kept({self.encoder!r})"

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """A vector for each text; the encoder is given the unknown ones. Raises EncoderFailed."""
        texts_by_key = [(key_of(each, kind), each) for each in texts_of(texts, kind)]
        known = self._known([key for key, _ in texts_by_key], kind)
        unknown = {key: each for key, each in texts_by_key if key not in known}
        if unknown:
            encoded = self.encoder.encode(list(unknown.values()), kind)
            fresh = dict(zip(unknown, encoded, strict=True))
            self._keep(fresh, kind)
            known |= fresh
        return [known[key] for key, _ in texts_by_key]

    def _known(self, keys: Sequence[str], kind: Kind) -> dict[str, Vector]:
        """The vectors that are kept for these keys, which count as used last from now on."""
        with self._lock:
            if kind == "passage" and not self._file_was_read:
                self._read_file()
            kept = self._vectors[kind]
            known = {key: kept[key] for key in keys if key in kept}
            for key in known:
                kept.move_to_end(key)
            return known

    def _keep(self, fresh: Mapping[str, Vector], kind: Kind) -> None:
        with self._lock:
            kept = self._vectors[kind]
            kept.update(fresh)
            while len(kept) > MOST_KEPT[kind]:
                kept.popitem(last=False)
            if kind == "passage" and self._file is not None:
                write_vectors(self._file, {**read_vectors(self._file), **kept})

    def _read_file(self) -> None:
        self._file_was_read = True
        self._file = file_of(self.encoder, self._folder or settings.cache_folder() / "vectors")
        if self._file is not None:
            self._vectors["passage"].update(read_vectors(self._file))


def kept(encoder: Encoder) -> Encoder:
    """The encoder, its vectors kept from now on."""
    return encoder if isinstance(encoder, Kept) else Kept(encoder)


def key_of(text: str, kind: Kind) -> str:
    """What a text's vector is kept under."""
    return hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest()[:32]


def file_of(encoder: Encoder, folder: Path) -> Path | None:
    """The file for an encoder's vectors, None for one that does not tell its version."""
    if not isinstance(encoder, VersionedEncoder):
        return None
    with suppress(ModelError):
        if version := encoder.version():
            whole = f"{encoder.name}\0{version}\0{PREPARATION}"
            name = re.sub(r"[^A-Za-z0-9.]+", "-", encoder.name)[:40]
            return folder / f"{name}-{hashlib.sha256(whole.encode()).hexdigest()[:12]}.json"
    return None


# ---- the file ------------------------------------------------------------------------------------


def read_vectors(file: Path) -> dict[str, Vector]:
    """The vectors in a file by their keys; those of them that are whole, where it is damaged."""
    try:
        if file.stat().st_size > MOST_BYTES:
            return {}
        return dict(_whole_ones(json.loads(file.read_bytes())))
    except (OSError, ValueError, RecursionError):
        return {}


def write_vectors(file: Path, vectors: Mapping[str, Vector]) -> None:
    """Put the newest of some vectors into a file, all or none of them; or let it be."""
    newest = list(vectors.items())[-MOST_KEPT["passage"] :]
    content = json.dumps({key: _packed(vector) for key, vector in newest}).encode()
    if len(content) > MOST_BYTES:
        return
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, content)


def _replace(file: Path, content: bytes) -> None:
    """Write a file beside the old one, and then put it in its place."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(content)
        os.replace(name, file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _whole_ones(content: Any) -> Iterator[tuple[str, Vector]]:
    """The vectors in a file's content that are of unit length, and as long as the last of them."""
    packed = content if isinstance(content, dict) else {}
    whole = {key: vector for key, text in packed.items() if (vector := _unpacked(text))}
    size = len(next(reversed(whole.values()))) if whole else 0
    return ((key, vector) for key, vector in whole.items() if len(vector) == size)


def _packed(vector: Vector) -> str:
    return base64.b64encode(array("f", vector).tobytes()).decode()


def _unpacked(text: Any) -> Vector | None:
    """The vector in a text, None for a text that holds none."""
    try:
        numbers = array("f", base64.b64decode(text, validate=True))
    except (TypeError, ValueError):
        return None
    is_unit = abs(math.hypot(*numbers) - 1) < UNIT_TOLERANCE
    return tuple(numbers) if is_unit else None
