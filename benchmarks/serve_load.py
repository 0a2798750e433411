"""`azent serve` under many clients, some of which misbehave: is it there for the others?

    python benchmarks/serve_load.py [SECONDS [CLIENTS]]

The server runs in a process of its own, with a model that answers at once. Of the clients, a third
ask and read to the end; the others hang up at a random time, read slowly or not at all, or send
their request a few bytes at a time. Meanwhile `/health` is asked again and again. The goals: the
99th percentile of its times is at most 100 ms, no honest request is lost, and no answer is another
client's. The exit code says whether all were met.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

GOAL = 0.1  # seconds, for /health at the 99th percentile
CALM_SECONDS = 5.0  # before the load, to see what the machine itself does
PAUSE = 0.05  # seconds between two questions about the server's health
THOUGHT = 5.0  # seconds that a client waits between two requests, on average
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}


def main() -> int:
    """Measure, print what was found, and return 1 if a goal was missed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        load = Load(ours.recv(), time.monotonic() + seconds)
        asyncio.run(load.run(clients))
        return _report(load)
    finally:
        server.terminate()
        server.join()


def _report(load: Load) -> int:
    print(f"requests: {dict(sorted(load.counts.items()))}")
    print(f"/health before the load: {_summary(load.calm)}")
    print(f"/health under the load: {_summary(load.health)} (goal {GOAL * 1000:.0f})")
    print(f"lost: {load.counts['lost']}, crossed: {load.counts['crossed']}")
    slow = _percentile(load.health) > GOAL
    return int(slow or load.counts["lost"] > 0 or load.counts["crossed"] > 0)


def _percentile(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def _summary(times: list[float]) -> str:
    values = (statistics.median(times), _percentile(times), max(times))
    median, high, worst = (f"{value * 1000:.1f} ms" for value in values)
    return f"{len(times)} times, median {median}, 99th percentile {high}, worst {worst}"


# ---- clients -------------------------------------------------------------------------------------


class Load:
    """All clients of one run, and what they saw."""

    def __init__(self, port: int, until: float) -> None:
        self.port = port
        self.until = until
        self.counts: Counter[str] = Counter()
        self.calm: list[float] = []  # the times of /health before the load
        self.health: list[float] = []

    async def run(self, clients: int) -> None:
        kinds = [self.honest, self.hang_up, self.read_slowly, self.honest, self.send_slowly]
        kinds += [self.read_nothing]
        self.calm = await self._watch(time.monotonic() + CALM_SECONDS)
        asking = [self._repeat(kinds[number % len(kinds)], number) for number in range(clients)]
        self.health, *_ = await asyncio.gather(self._watch(self.until), *asking)

    async def _repeat(self, kind: Callable[[str], Awaitable[None]], number: int) -> None:
        await asyncio.sleep(random.random())
        count = 0
        while time.monotonic() < self.until:
            count += 1
            try:
                await kind(f"{number}-{count}")
                self.counts[kind.__name__] += 1
            except (OSError, ValueError, EOFError, TimeoutError):
                self.counts["lost" if kind == self.honest else "cut"] += 1

    async def _watch(self, until: float) -> list[float]:
        """Ask for the server's health, on a new connection each time; the seconds that it takes."""
        times: list[float] = []
        while time.monotonic() < until:
            began = time.perf_counter()
            await self._exchange(
                b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            times.append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE)
        return times

    async def honest(self, mine: str) -> None:
        """Ask, and read the whole answer, which has to be to this question."""
        answer = await asyncio.wait_for(self._exchange(_request(mine)), 60)
        head, _, body = answer.partition(b"\r\n\r\n")
        if b" 200 " not in head[:20]:
            raise ValueError(head)
        calls = json.loads(body)["message"].get("tool_calls", [])
        if [call["function"]["arguments"] for call in calls] != [{"city": mine}]:
            self.counts["crossed"] += 1
        await asyncio.sleep(random.expovariate(1 / THOUGHT))

    async def hang_up(self, mine: str) -> None:
        """Ask, and leave at a random time."""
        _, writer = await self._connected()
        writer.write(_request(mine))
        await asyncio.sleep(random.random() / 2)
        writer.transport.abort()
        await asyncio.sleep(random.expovariate(1 / THOUGHT))

    async def read_slowly(self, mine: str) -> None:
        """Ask for a long streamed answer, and read some of it slowly."""
        reader, writer = await self._connected()
        writer.write(_request(mine, long=True))
        for _ in range(20):
            await reader.read(1000)
            await asyncio.sleep(0.2)
        writer.close()

    async def read_nothing(self, mine: str) -> None:
        """Ask for a long streamed answer, and never read it."""
        _, writer = await self._connected()
        writer.write(_request(mine, long=True))
        await asyncio.sleep(10)
        writer.transport.abort()

    async def send_slowly(self, mine: str) -> None:
        """Send a request in small pieces, and then read the answer."""
        reader, writer = await self._connected()
        whole = _request(mine)
        for at in range(0, len(whole), 40):
            writer.write(whole[at : at + 40])
            await asyncio.sleep(0.2)
        await asyncio.wait_for(reader.read(), 60)
        writer.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, limit=1024)

    async def _exchange(self, request: bytes) -> bytes:
        reader, writer = await self._connected()
        writer.write(request)
        answer = await reader.read()
        writer.close()
        return answer


def _request(mine: str, *, long: bool = False) -> bytes:
    question = "Write a long text." if long else f"Where is #{mine} now?"
    said = [{"role": "user", "content": question}]
    tools = [] if long else [WEATHER]
    body = json.dumps({"model": "m", "messages": said, "tools": tools, "stream": long}).encode()
    lines = ["POST /api/chat HTTP/1.1", "Host: localhost", "Connection: close"]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


# ---- the server, in a process of its own ---------------------------------------------------------


def _serve(told: Connection) -> None:
    from azent.messages import Delta, Request
    from azent.serve import Options, listen, run
    from tests.serving import Telling, calls_text

    def answer(request: Request) -> object:
        said = request.messages[-1]["content"]
        if "#" not in said:
            return [Delta("word " * 2000)] * 500
        number = said[said.index("#") + 1 :].split()[0]
        return calls_text(("get_weather", {"city": number}))

    options = Options(port=0, parallel=128, waiting=512, write_timeout=5.0)
    with listen(options) as listener:
        told.send(listener.getsockname()[1])
        run({"m": Telling(answer)}, options, listener)


if __name__ == "__main__":
    sys.exit(main())
