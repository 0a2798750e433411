"""A server of azent's on a port of its own, and models that answer as told, for tests."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from azent.messages import Delta, End, Request, Usage
from azent.models import Model
from azent.serve.app import app
from azent.serve.guard import Options
from azent.serve.run import listen, server_of


@dataclass
class Telling:
    """A model that answers each request by a function of it: calls, or words in pieces.

    `heard` keeps the requests, `pause` is the seconds before each piece, `given` counts the pieces,
    `stopped` the replies that were left before their end.
    """

    answer: Callable[[Request], Any]
    name: str = "telling"
    num_ctx: int | None = 8192
    pause: float = 0.0
    heard: list[Request] = field(default_factory=list)
    given: int = 0
    stopped: int = 0

    def stream(self, request: Request) -> Iterator[Delta | End]:
        raise NotImplementedError("the server waits for models without a thread where it can")

    async def astream(self, request: Request) -> AsyncIterator[Delta | End]:
        self.heard.append(request)
        said = self.answer(request)
        if isinstance(said, Exception):
            raise said
        ended = False
        try:
            for piece in pieces_of(said):
                await asyncio.sleep(self.pause)
                self.given += 1
                yield piece
            ended = True
        finally:
            self.stopped += not ended


def pieces_of(said: Any) -> Iterator[Delta | End]:
    """An answer as a model streams it: pieces as they are, text by the word."""
    if isinstance(said, str):
        words = said.split(" ")
        said = [Delta(word if at == 0 else f" {word}") for at, word in enumerate(words)]
    yield from said
    if not (said and isinstance(said[-1], End)):
        yield End(usage=Usage(prompt_tokens=10, reply_tokens=len(said), requests=1))


def calls_text(*calls: tuple[str, Mapping[str, Any]]) -> str:
    """Calls as the model is asked to write them."""
    listed = [{"tool": name, "tool_input": dict(given)} for name, given in calls]
    return json.dumps({"tools": listed}, ensure_ascii=False)


def script(*replies: Any) -> Telling:
    """A model that gives one reply after the other; the last one stays."""
    left = list(replies)
    return Telling(lambda request: left.pop(0) if len(left) > 1 else left[0])


@contextmanager
def serving(models: Mapping[str, Model], options: Options | None = None) -> Iterator[str]:
    """The URL of a server that runs in a thread for as long as the context lasts."""
    with listen(Options(port=0)) as listener:
        server = server_of(app(models, options), options or Options())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield url
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive(), "the server did not end when it was told to"


def wait_until(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.005)
