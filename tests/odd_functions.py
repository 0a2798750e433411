"""Functions of every odd kind, at the top level of a module, where other processes find them."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import azent


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Unpicklable:
    def __reduce__(self) -> str:
        raise TypeError("not to be pickled")

    def __repr__(self) -> str:
        return "<unpicklable>"


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def move(point: Point, by: int = 1) -> Point:
    """Move a point."""
    return Point(point.x + by, point.y + by)


def count(to: int) -> Iterator[int]:
    """Count."""
    yield from range(to)


async def later(n: int) -> int:
    """Come later."""
    await asyncio.sleep(0)
    return n


async def stream(to: int) -> AsyncIterator[int]:
    """Stream."""
    for n in range(to):
        yield n


def divide(a: int, b: int) -> float:
    """Divide."""
    return a / b


def flaky(note: str) -> str:
    """Fail twice, keeping count in a file."""
    tries = Path(note)
    tries.write_text(f"{tries.read_text() if tries.exists() else ''}x")
    if len(tries.read_text()) < 3:
        raise OSError("not yet")
    return "at last"


def refuse() -> None:
    """Refuse."""
    raise azent.ToolFailed("not on Sundays")


def leave(code: int = 3) -> None:
    """Leave."""
    sys.exit(code)


def vanish() -> None:
    """End the process without a word."""
    os._exit(7)


def crash() -> None:
    """End as a fault in C ends."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(note: str) -> None:
    """Leave a note of the process, and never come back."""
    Path(note).write_text(str(os.getpid()))
    while True:
        time.sleep(60)


def hang_in_c() -> None:
    """Keep the interpreter busy in C, where no signal handler and no thread gets a turn."""
    pow(3, 10**9)


def start_another(note: str) -> None:
    """Start a process that never ends, and wait for it."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        Path(note).write_text(str(child.pid))


def unpicklable() -> Unpicklable:
    """Give what cannot be pickled."""
    return Unpicklable()


def talk() -> str:
    """Print, and read."""
    print("printed")
    return repr(sys.stdin.read())


def whoami(context: azent.Context[str]) -> str:
    """Tell who asks."""
    return context.value


def process() -> int:
    """Tell the process."""
    return os.getpid()
