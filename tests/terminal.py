"""azent on a terminal of its own, for tests: what is typed, and what is seen on the screen.

    with Terminal(["ask", "Hi"], server.url, folder, columns=60) as terminal:
        assert terminal.end() == 0
        print(terminal.screen())

A real pseudo-terminal, and a real emulator of what a terminal makes of what it is sent.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX's", allow_module_level=True)

import pexpect
import pyte

ROOT = Path(__file__).resolve().parent.parent
ROWS = 60
SECONDS = 60
TIMES = re.compile(r"\d+\.\d s")


class Terminal:
    """A program of azent's on a terminal; it is ended when this is left."""

    def __init__(
        self,
        arguments: Sequence[str],
        server: str,
        folder: Path,
        *,
        columns: int = 80,
        env: Mapping[str, str] | None = None,
    ) -> None:
        world = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE"):
            world.pop(name, None)
        world |= {"PYTHONPATH": str(ROOT), "OLLAMA_HOST": server, **(env or {})}
        self._screen = pyte.HistoryScreen(columns, ROWS, history=1000)
        self._stream = pyte.ByteStream(self._screen)
        self.sent = b""
        self._child: Any = pexpect.spawn(
            sys.executable,
            ["-m", "azent", *arguments],
            cwd=folder,
            env=world,
            dimensions=(ROWS, columns),
            timeout=SECONDS,
        )
        self._child.logfile_read = self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(force=True)

    def write(self, sent: bytes) -> None:
        """Take what the program sends to its terminal."""
        self.sent += sent
        self._stream.feed(sent)
        if b"\x1b[6n" in sent:  # where is the cursor?
            at = self._screen.cursor
            self._child.send(f"\x1b[{at.y + 1};{at.x + 1}R")

    def flush(self) -> None:
        """There is nothing that waits."""

    def type(self, keys: str) -> None:
        """Press keys."""
        self._child.send(keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._child.sendintr()

    def wait_for(self, text: str) -> None:
        """Wait until the program sends a text."""
        self._child.expect_exact(text.encode())

    def end(self) -> int:
        """Wait for the program's end; its exit code."""
        self._child.expect(pexpect.EOF)
        self._child.close()
        assert self._child.signalstatus is None
        return int(self._child.exitstatus)

    def screen(self) -> str:
        """What stands on the screen, without what differs from one run to the next."""
        lines = [line.rstrip() for line in self._screen.display]
        return TIMES.sub("0.0 s", "\n".join(lines).strip("\n") + "\n")

    def everything(self) -> str:
        """What stands on the screen, and what has left it at its top."""
        gone = ["".join(row[x].data for x in range(80)) for row in self._screen.history.top]
        return "\n".join([*gone, self.screen()])

    def rows(self) -> list[list[Any]]:
        """The cells of the screen: each has its `data`, a colour `fg`, and is `bold` or not."""
        width = range(self._screen.columns)
        return [[self._screen.buffer[y][x] for x in width] for y in range(self._screen.lines)]
