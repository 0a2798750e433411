"""How the server is set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from azent.arguments import flag, seconds, text, whole
from azent.errors import UsageError
from azent.models.encoder import Encoder
from azent.models.encoders import AUTO

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORT = 11435  # the one after Ollama's
MOST_PORT = 65535
MEGABYTE = 1024 * 1024
LEAST = {"max_bytes": 1, "max_total_bytes": 1, "parallel": 1, "waiting": 0, "repairs": 0}


@dataclass(frozen=True, slots=True)
class Options:
    """How the server is set.

    `host` and `port` are where it listens. `hosts` are further names by which clients may call it,
    `origins` the web pages ("https://chat.example") that may. `token` is what clients must bear.
    `max_bytes` is the most of one request's body, `max_total_bytes` that of all bodies together.
    `parallel` requests are at work at once and `waiting` more may wait; beyond, clients are told to
    come back. `repairs` is the most corrections in a row. In seconds: `timeout` is the most for a
    reply (None: no limit), `read_timeout` for a client to send its request, `write_timeout` for it
    to take what is waiting for it, `grace` for replies to end when the server is told to stop.
    `prompts` names a prompt set. `encoder` tells how near the functions are to a question: an
    address, an open one, "auto" (the one inside the process, where it is installed) or None.
    `verbose` writes a line for each request. Raises UsageError for what can be none of these.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    token: str | None = None
    max_bytes: int = 8 * MEGABYTE
    max_total_bytes: int = 64 * MEGABYTE
    parallel: int = 32
    waiting: int = 256
    repairs: int = 2
    timeout: float | None = 1800.0
    read_timeout: float = 60.0
    write_timeout: float = 30.0
    prompts: str | Path | None = None
    encoder: str | Encoder | None = AUTO
    grace: float = 30.0
    verbose: bool = False

    def __post_init__(self) -> None:
        text("host", self.host)
        if whole("port", self.port, 0) > MOST_PORT:
            raise UsageError(f"port is {self.port}", f"It must be a number, {MOST_PORT} at most.")
        for name, least in LEAST.items():
            whole(name, getattr(self, name), least)
        for name in ("timeout", "read_timeout", "write_timeout", "grace"):
            if getattr(self, name) is not None:
                seconds(name, getattr(self, name))
        flag("verbose", self.verbose)

    @property
    def is_local(self) -> bool:
        """Is it reached from this machine alone?"""
        return self.host in LOOPBACK
