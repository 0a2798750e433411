"""How many parameters the model in a GGUF file has, read from the head of the file.

The head has the metadata, then the name and the shape of each tensor: a tensor has as many
parameters as the product of its shape. The format is described in ggml's docs/gguf.md. Files may be
damaged or made up: what is read is bounded, and what makes no sense tells nothing.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

MAGIC = b"GGUF"
VERSIONS = (2, 3)
COUNT = "general.parameter_count"
PARTS = "split.count"  # a model in several files has some of its tensors in each
MOST_BYTES = 1 << 25  # of a head; vocabularies of 250,000 words take less than half of that
MOST_ENTRIES = 1 << 16  # of metadata, and of tensors
MOST_ITEMS = 1 << 22  # of all arrays together
MOST_DIMENSIONS = 8
STRING, ARRAY = 8, 9
FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class _Damaged(Exception):
    """What was read makes no sense."""


def parameter_count(path: Path) -> int | None:
    """The parameters of the model in a file; None where the file does not tell. Raises nothing."""
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, size: int) -> int | None:
    """Reads a file; `changed` and `size` say when what was read before will do."""
    with path.open("rb") as file:
        head = _Head(file.read(MOST_BYTES))
    try:
        return _count(head)
    except (struct.error, _Damaged):
        return None


def _count(head: _Head) -> int | None:
    """The count that the metadata tell, else the sum over all tensors."""
    if head.bytes(4) != MAGIC or head.number("I") not in VERSIONS:
        raise _Damaged
    tensors, entries = head.few(MOST_ENTRIES), head.few(MOST_ENTRIES)
    told = dict(head.entry() for _ in range(entries))
    if isinstance(told.get(COUNT), int):
        return int(told[COUNT])
    if told.get(PARTS, 1) != 1:
        return None
    return sum(head.tensor() for _ in range(tensors))


class _Head:
    """The head of a file, read from its beginning on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._items = MOST_ITEMS

    def bytes(self, size: int) -> bytes:
        """The next bytes."""
        start = self._at
        self.skip(size)
        return self._data[start : self._at]

    def skip(self, size: int) -> None:
        """Go on behind so many bytes."""
        if size > len(self._data) - self._at:
            raise _Damaged
        self._at += size

    def number(self, form: str) -> Any:
        """The next number, little-endian, in a form of the module struct."""
        return struct.unpack(f"<{form}", self.bytes(struct.calcsize(f"<{form}")))[0]

    def few(self, most: int) -> int:
        """The next count, which must not be larger than that."""
        count = int(self.number("Q"))
        if count > most:
            raise _Damaged
        return count

    def entry(self) -> tuple[str, Any]:
        """A name and its value; None stands for a value that is text or an array."""
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
        kind, count = self.number("I"), self.few(self._items)
        self._items -= count
        if kind in FORMS:
            self.skip(count * struct.calcsize(FORMS[kind]))
        elif kind == STRING:
            self._skip_texts(count)
        else:
            raise _Damaged  # arrays of arrays are allowed, and no model has them

    def _skip_texts(self, count: int) -> None:
        """Go on behind so many texts: hundreds of thousands, so this is done in one loop."""
        length_at, at = struct.Struct("<Q").unpack_from, self._at
        for _ in range(count):
            at += 8 + length_at(self._data, at)[0]
            if at > len(self._data):
                raise _Damaged
        self.skip(at - self._at)

    def tensor(self) -> int:
        """The parameters of a tensor."""
        self.skip(self.number("Q"))  # its name
        dimensions = self.number("I")
        if dimensions > MOST_DIMENSIONS:
            raise _Damaged
        shape = [self.number("Q") for _ in range(dimensions)]
        self.skip(12)  # its type and its place in the file
        return math.prod(shape)
