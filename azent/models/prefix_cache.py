"""The system texts that a model in this process has read, kept on disk between runs.

The system text with its functions is the same from one run to the next. llama.cpp can write what it
computed from a text (the keys and values of its attention) into a file, and reads it back in a few
milliseconds where reading the text takes seconds. Only system texts are kept, never questions or
replies. A file that is missing, damaged or of another version costs nothing but the reading; each
has its SHA-256 beside it.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from azent.errors import ModelError
from azent.messages import ChatMessage
from azent.values.files import sha256_of

MOST_BYTES = 500_000_000  # of all files together
LEAST_CHARACTERS = 200  # of a system text that is worth a file
DIGEST = ".sha256"
SECONDS = 10.0  # that writing or reading a file may take
CANNOT = "the beginning of the prompt is not kept for the next run: %s"

_logger = logging.getLogger("azent")


def cache_folder_for(folder: Path) -> Path | None:
    """Make the folder for the files, readable by its owner alone; None if that is impossible."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        _logger.debug(CANNOT, error)
        return None
    return folder if os.access(folder, os.W_OK) else None


@dataclass
class PrefixCache:
    """The files of one loaded model.

    - `folder`: where they are.
    - `model`: the model's file. It is part of each file's name, like the context and the version of
      llama.cpp: a file of another model is never read.
    - `num_ctx`: the context window in tokens.
    - `address`, `key`: where llama.cpp's own server listens on loopback, and its key.
    """

    folder: Path
    model: Path
    num_ctx: int | None
    address: str
    key: str
    _seen: set[str] = field(default_factory=set)

    def prepare(self, messages: Sequence[ChatMessage], read: Callable[[ChatMessage], None]) -> None:
        """Make the model know the system text of a request: from its file, else by reading it.

        - `read`: has the model read one message.
        """
        import httpx

        name = self._file_name(messages)
        if not name or name in self._seen:
            return
        self._seen.add(name)
        try:
            if not self._restore(name):
                read(messages[0])
                self._save(name)
                self.drop_oldest()
        except (OSError, httpx.HTTPError, ModelError) as error:
            _logger.debug(CANNOT, error)

    def _file_name(self, messages: Sequence[ChatMessage]) -> str:
        """Return the name of the file for a request, "" if it has no system text worth one."""
        if len(messages) < 2 or messages[0]["role"] != "system":
            return ""
        text = messages[0]["content"]
        if len(text) < LEAST_CHARACTERS:
            return ""
        state = self.model.stat()
        about = (str(self.model.resolve()), state.st_size, state.st_mtime_ns, self.num_ctx)
        whole = f"{about} {version('xllamacpp')}\n{text}"
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40] + ".bin"

    def _save(self, name: str) -> None:
        """Write a file under another name first, as other processes may be reading the old one."""
        part = self.folder / f"{os.getpid()}-{name}.part"
        file = self.folder / name
        try:
            if self._ask("save", part.name):
                digest = sha256_of(part)
                part.replace(file)
                file.with_suffix(DIGEST).write_text(digest)
        finally:
            part.unlink(missing_ok=True)

    def _restore(self, name: str) -> bool:
        """Read a file; only whole ones, because llama.cpp aborts the process on a damaged one."""
        file = self.folder / name
        digest = file.with_suffix(DIGEST)
        if not (file.is_file() and digest.is_file()):
            return False
        if digest.read_bytes() != sha256_of(file).encode():
            return False
        os.utime(file)  # the files that were used longest ago are dropped first
        return self._ask("restore", name)

    def _ask(self, action: str, name: str) -> bool:
        """Have llama.cpp write or read a file; return whether it did."""
        import httpx

        answer = httpx.post(
            f"{self.address}/slots/0",
            params={"action": action},
            json={"filename": name},
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=SECONDS,
            trust_env=False,
        )
        return answer.is_success

    def drop_oldest(self) -> None:
        """Delete the files that were used longest ago, until the rest is small enough."""
        files = sorted(self.folder.glob("*.bin"), key=lambda file: file.stat().st_mtime)
        total = sum(file.stat().st_size for file in files)
        for file in files:
            if total <= MOST_BYTES:
                return
            total -= file.stat().st_size
            file.unlink(missing_ok=True)
            file.with_suffix(DIGEST).unlink(missing_ok=True)
