"""A server of tools over standard input and output, for tests: python -m tests.mcp_tools [FILE].

A file is written to once for each start, so that a test can count them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import azent
from azent.mcp import serve_stdio


@azent.tool(readonly=True)
def add(a: int, b: Annotated[int, "the other number"] = 1) -> int:
    """Add two numbers."""
    print("what a tool prints is not part of the protocol")
    return a + b


async def slow(seconds: float) -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return f"after {seconds:g} s"


def fail() -> str:
    """Fail."""
    raise ValueError("it went wrong")


@azent.tool(confirm=True)
def launch() -> str:
    """What a person must allow."""
    return "launched"


@azent.tool(readonly=True)
def die_once(marker: str) -> str:
    """End the server, unless the marker is there."""
    if Path(marker).exists():
        return "alive"
    Path(marker).touch()
    os._exit(3)


def die() -> str:
    """End the server."""
    os._exit(3)


TOOLS = [add, slow, fail, launch, die_once, die]

if __name__ == "__main__":
    for starts in sys.argv[1:]:
        with Path(starts).open("a") as file:
            file.write("started\n")
    serve_stdio(azent.Toolbox(TOOLS))
