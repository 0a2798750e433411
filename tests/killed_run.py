"""A run with side effects, to be killed at any moment: each call writes a line to a file.

    python -m tests.killed_run STORE EFFECTS

Twelve calls in four rounds, two of the tools readonly or with retries. A real agent asks a model
that decides by what it is shown: it makes the calls of the next round that has no result yet.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import azent

ROUNDS = 4
QUESTION = "Do all the work."


class Worker:
    """A model without a memory of its own: what it says depends on the request alone."""

    name = "worker"
    num_ctx = None

    def stream(self, request: azent.Request) -> Iterator[azent.Delta | azent.End]:
        """The calls of the round after the last one that was answered, piece by piece."""
        said = "\n".join(m["content"] for m in request.messages if m["role"] == "assistant")
        done = max(map(int, re.findall(r'"round": (\d+)', said)), default=0)
        for piece in re.findall(r".{1,9}", self._reply(request, done)):
            time.sleep(0.0005)
            yield azent.Delta(piece)
        yield azent.End()

    def _reply(self, request: azent.Request, done: int) -> str:
        if request.format is None:
            return "All done."
        tools = ("once", "look", "again") if done < ROUNDS else ()
        calls = (f'{{"tool": "{tool}", "tool_input": {{"round": {done + 1}}}}}' for tool in tools)
        return f'{{"tools": [{", ".join(calls)}]}}'


def agent(effects: Path) -> azent.Agent:
    """An agent whose functions write down that they ran, before and after they take their time."""

    def written(tool: str, round: int) -> str:
        for when in ("begun", "ended"):
            with effects.open("a") as file:
                file.write(f"{when} {tool} {round}\n")
                file.flush()
                os.fsync(file.fileno())
            time.sleep(0.004)
        return f"{tool} {round} done"

    def once(round: int) -> str:
        """Must never run twice."""
        return written("once", round)

    @azent.tool(readonly=True)
    def look(round: int) -> str:
        """May run again."""
        return written("look", round)

    @azent.tool(retries=1)
    def again(round: int) -> str:
        """May run again, too."""
        return written("again", round)

    return azent.Agent(Worker(), [once, look, again])


if __name__ == "__main__":
    session = azent.Session("work", azent.Store(sys.argv[1]))
    ready = agent(Path(sys.argv[2]))
    print("started", flush=True)
    print(ready.ask(QUESTION, session=session).text, flush=True)
