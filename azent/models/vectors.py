"""Keeps vectors, so that no text is encoded twice.

Vectors of passages, such as the descriptions of functions, are kept in memory and in the user's
cache folder; those of queries, which seldom come again, only in memory. The folder only saves time:
a file that is damaged, or cannot be read or written, counts as empty. It can be deleted.
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

from azent import config
from azent.errors import ModelError
from azent.models.encoder import Encoder, Kind, Vector, VersionedEncoder, texts_of

MAX_KEPT: Mapping[Kind, int] = {"passage": 2000, "query": 200}
PREPARATION = "1"  # to be changed when encoders are given texts in another form than before
MAX_BYTES = 64_000_000  # of a file; azent never writes a larger one
UNIT_TOLERANCE = 1e-3


class Kept:
    """An encoder whose vectors are kept, in memory and in a folder.

    `folder` is "vectors" in the cache folder unless another is given. Only an encoder with a
    version has a file there, so that new weights under an old name never meet old vectors.
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
        """Return a vector for each text; only new texts are encoded. Raises EncoderFailed."""
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
        """Return the vectors that are kept under some keys, and mark them as used last."""
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
            while len(kept) > MAX_KEPT[kind]:
                kept.popitem(last=False)
            if kind == "passage" and self._file is not None:
                write_vectors(self._file, {**read_vectors(self._file), **kept})

    def _read_file(self) -> None:
        self._file_was_read = True
        self._file = file_of(self.encoder, self._folder or config.cache_folder() / "vectors")
        if self._file is not None:
            self._vectors["passage"].update(read_vectors(self._file))


def kept(encoder: Encoder) -> Encoder:
    """Return the encoder with its vectors kept from now on."""
    return encoder if isinstance(encoder, Kept) else Kept(encoder)


def key_of(text: str, kind: Kind) -> str:
    """Return the key of a text's vector."""
    return hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest()[:32]


def file_of(encoder: Encoder, folder: Path) -> Path | None:
    """Return the file for an encoder's vectors, None for one without a version."""
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
    """Return the vectors in a file by their keys; of a damaged file, those that are whole."""
    try:
        if file.stat().st_size > MAX_BYTES:
            return {}
        return dict(_whole_ones(json.loads(file.read_bytes())))
    except (OSError, ValueError, RecursionError):
        return {}


def write_vectors(file: Path, vectors: Mapping[str, Vector]) -> None:
    """Write the newest of some vectors to a file, where it can be written and is not too large."""
    newest = list(vectors.items())[-MAX_KEPT["passage"] :]
    content = json.dumps({key: _packed(vector) for key, vector in newest}).encode()
    if len(content) > MAX_BYTES:
        return
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, content)


def _replace(file: Path, content: bytes) -> None:
    """Write a new file beside the old one, and then put it in its place."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(content)
        os.replace(name, file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _whole_ones(content: Any) -> Iterator[tuple[str, Vector]]:
    """Return the vectors of unit length in a file's content that are as long as the last one."""
    packed = content if isinstance(content, dict) else {}
    whole = {key: vector for key, text in packed.items() if (vector := _unpacked(text))}
    size = len(next(reversed(whole.values()))) if whole else 0
    return ((key, vector) for key, vector in whole.items() if len(vector) == size)


def _packed(vector: Vector) -> str:
    return base64.b64encode(array("f", vector).tobytes()).decode()


def _unpacked(text: Any) -> Vector | None:
    """Return the vector in a text, None for any other value."""
    try:
        numbers = array("f", base64.b64decode(text, validate=True))
    except (TypeError, ValueError):
        return None
    is_unit = abs(math.hypot(*numbers) - 1) < UNIT_TOLERANCE
    return tuple(numbers) if is_unit else None
