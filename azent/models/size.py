"""How many parameters a model has: read from what servers state, and from the head of GGUF files.

The head of a file has the metadata, then the name and the shape of each tensor: a tensor has as
many parameters as the product of its shape. The format is described in ggml's docs/gguf.md. Files
may be damaged or made up: what is read is bounded, and a head that makes no sense has no count.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

BILLION = 1e9
MAX_PARAMETERS = 1e18  # a larger count is damage
UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
LONGEST_SIZE = 40  # characters
_SIZE = re.compile(r"(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?)\s*([KMBT])", re.IGNORECASE)

MAGIC = b"GGUF"
VERSIONS = (2, 3)
COUNT = "general.parameter_count"
PARTS = "split.count"  # a model in several files has some of its tensors in each
MAX_BYTES = 1 << 25  # of a head; vocabularies of 250,000 words take less than half of that
MAX_ENTRIES = 1 << 16  # of metadata, and of tensors
MAX_ITEMS = 1 << 22  # of all arrays together
MAX_DIMENSIONS = 8
STRING, ARRAY = 8, 9
FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def billions_of(count: object) -> float | None:
    """Return the billions in a count of parameters, None for a value that is not a count."""
    if not isinstance(count, int | float) or not 0 < count < MAX_PARAMETERS:
        return None
    return count / BILLION


def billions_in(text: object) -> float | None:
    """Return the billions in a size as people write it ("630.17M", "1.8B", "8x7B"), else None."""
    if not isinstance(text, str) or len(text) > LONGEST_SIZE:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    experts, number, unit = found.groups()
    return billions_of(int(experts or 1) * float(number) * UNITS[unit.upper()])


def billions_shown(facts: Mapping[str, Any], size: object) -> float | None:
    """Return the billions in Ollama's description of a model: its count, else its size in words."""
    return billions_of(facts.get("general.parameter_count")) or billions_in(size)


def billions_listed(page: object, name: str) -> float | None:
    """Return the billions in a list of models in OpenAI's protocol, where llama-server wrote it.

    It serves one model, whatever name it is asked for.
    """
    listed = page.get("data") if isinstance(page, Mapping) else None
    models = [m for m in listed if isinstance(m, Mapping)] if isinstance(listed, list) else []
    only: Mapping[str, Any] = models[0] if len(models) == 1 else {}
    meta = next((model for model in models if model.get("id") == name), only).get("meta")
    return billions_of(meta.get("n_params")) if isinstance(meta, Mapping) else None


# ---- GGUF files ----------------------------------------------------------------------------------


class _Damaged(Exception):
    """The head of a file makes no sense."""


def parameter_count(path: Path) -> int | None:
    """Return the parameters of the model in a file, None where it has no count. Raises nothing."""
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, size: int) -> int | None:
    """Read a file; it is read again when `changed` or `size` differ."""
    with path.open("rb") as file:
        head = _Head(file.read(MAX_BYTES))
    try:
        return _count(head)
    except (struct.error, _Damaged):
        return None


def _count(head: _Head) -> int | None:
    """Return the count in the metadata, else the sum over all tensors."""
    if head.bytes(4) != MAGIC or head.number("I") not in VERSIONS:
        raise _Damaged
    tensors, entries = head.count(MAX_ENTRIES), head.count(MAX_ENTRIES)
    metadata = dict(head.entry() for _ in range(entries))
    if isinstance(metadata.get(COUNT), int):
        return int(metadata[COUNT])
    if metadata.get(PARTS, 1) != 1:
        return None
    return sum(head.tensor() for _ in range(tensors))


class _Head:
    """The head of a file, read from its beginning."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._items = MAX_ITEMS

    def bytes(self, size: int) -> bytes:
        """Return the next bytes."""
        start = self._at
        self.skip(size)
        return self._data[start : self._at]

    def skip(self, size: int) -> None:
        """Skip so many bytes."""
        if size > len(self._data) - self._at:
            raise _Damaged
        self._at += size

    def number(self, form: str) -> Any:
        """Return the next number, little-endian, in a form of the module struct."""
        return struct.unpack(f"<{form}", self.bytes(struct.calcsize(f"<{form}")))[0]

    def count(self, most: int) -> int:
        """Return the next count. Raises _Damaged where it is larger than `most`."""
        count = int(self.number("Q"))
        if count > most:
            raise _Damaged
        return count

    def entry(self) -> tuple[str, Any]:
        """Return a name and its value, which is None for texts and arrays."""
        name = self.bytes(self.number("Q")).decode("utf-8", "replace")
        kind = self.number("I")
        if kind in FORMS:
            return name, self.number(FORMS[kind])
        if kind == STRING:
            self.skip(self.number("Q"))
        elif kind == ARRAY:
            self._skip_array()
        else:
            raise _Damaged
        return name, None

    def _skip_array(self) -> None:
        kind, count = self.number("I"), self.count(self._items)
        self._items -= count
        if kind in FORMS:
            self.skip(count * struct.calcsize(FORMS[kind]))
        elif kind == STRING:
            self._skip_texts(count)
        else:
            raise _Damaged  # arrays of arrays are allowed, and no model has them

    def _skip_texts(self, count: int) -> None:
        """Skip so many texts: there are hundreds of thousands, so this is one loop."""
        length_at, at = struct.Struct("<Q").unpack_from, self._at
        for _ in range(count):
            at += 8 + length_at(self._data, at)[0]
            if at > len(self._data):
                raise _Damaged
        self.skip(at - self._at)

    def tensor(self) -> int:
        """Return the number of parameters in a tensor."""
        self.skip(self.number("Q"))  # its name
        dimensions = self.number("I")
        if dimensions > MAX_DIMENSIONS:
            raise _Damaged
        shape = [self.number("Q") for _ in range(dimensions)]
        self.skip(12)  # its type and its place in the file
        return math.prod(shape)
