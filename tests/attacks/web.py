"""A server whose answers are made by hand, wrong ones too."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Page:
    """An answer: its status, its headers, and its body, whole or in chunks."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False


def page(
    body: bytes,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
    *,
    chunked: bool = False,
) -> Page:
    return Page(body, status, headers or {}, chunked)


@contextmanager
def serving(answer: Page) -> Iterator[str]:
    """The URL of a server that gives one answer to everything."""
    handler = type("Handler", (_Handler,), {"answer": answer})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Page

    def do_GET(self) -> None:
        self.close_connection = True
        self.send_response(self.answer.status)
        for name, value in self.answer.headers.items():
            self.send_header(name, value)
        if self.answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(self._chunks() if self.answer.chunked else self.answer.body)

    def _chunks(self) -> bytes:
        body = self.answer.body
        pieces = (body[at : at + 1_000] for at in range(0, len(body), 1_000))
        return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"

    def log_message(self, *args: object) -> None:
        """Tests have nothing to log."""
