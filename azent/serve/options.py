"""How the server is set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from azent.arguments import flag, seconds, text, whole
from azent.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORT = 11435  # the one after Ollama's
MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Options:
    """How the server is set.

    `host` and `port` are where it listens. `hosts` are further names by which clients may call it,
    `origins` the web pages ("https://chat.example") that may. `token` is what clients must bear.
    `max_bytes` is the most of one request's body. `parallel` requests are at work at once and
    `waiting` more may wait; beyond, clients are told to come back. `repairs` is the most
    corrections in a row, `timeout` the most seconds for a reply with tools. `prompts` names a
    prompt set. `grace` is the seconds that replies have to end when the server is told to stop.
    `verbose` writes a line for each request. Raises UsageError for what can be none of these.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    token: str | None = None
    max_bytes: int = 32 * 1024 * 1024
    parallel: int = 32
    waiting: int = 256
    repairs: int = 2
    timeout: float | None = None
    prompts: str | Path | None = None
    grace: float = 30.0
    verbose: bool = False

    def __post_init__(self) -> None:
        text("host", self.host)
        if whole("port", self.port, 0) > MOST_PORT:
            raise UsageError(f"port is {self.port}", f"It must be a number, {MOST_PORT} at most.")
        for name, least in {"max_bytes": 1, "parallel": 1, "waiting": 0, "repairs": 0}.items():
            whole(name, getattr(self, name), least)
        for name in ("timeout", "grace"):
            if getattr(self, name) is not None:
                seconds(name, getattr(self, name))
        flag("verbose", self.verbose)

    @property
    def is_local(self) -> bool:
        """Is it reached from this machine alone?"""
        return self.host in LOOPBACK
