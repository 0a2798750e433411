"""Who may come in: the checks that stand before every request.

A browser lets any page that it shows talk to this machine's ports. So the name by which the server
is called must be one of its own (a foreign one is a rebound DNS name), and a page that asks must be
one that was named. A token, where there is one, is compared in constant time. Bodies have limits.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from azent.errors import RequestRefused
from azent.serve.bodies import BodyLimits
from azent.serve.options import LOOPBACK, Options
from azent.serve.refusal import refusal

HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
EVERYWHERE = ("0.0.0.0", "::")
OPEN_PATHS = ("/health",)  # what may be asked without a token


class Guard:
    """The application behind its checks."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self.app = app
        self.options = options
        self.bodies = BodyLimits(options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self.check(scope["path"], Headers(scope=scope))
        except RequestRefused as error:
            await refusal(scope["path"], error)(scope, receive, send)
            return
        async with self.bodies.receiving(receive) as limited:
            await self.app(scope, limited, send)

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Raise RequestRefused for what may not come in."""
        self._check_host(headers.get("host", ""))
        self._check_origin(headers.get("origin"), headers.get("host", ""))
        if self.options.token is not None and path not in OPEN_PATHS:
            _check_token(headers.get("authorization", ""), self.options.token)
        self.bodies.check_length(headers.get("content-length", "0"))

    def _check_host(self, host: str) -> None:
        match = HOST.fullmatch(host)
        name = match[1].strip("[]").lower() if match else ""
        named = (*LOOPBACK, self.options.host, *self.options.hosts)
        if (name and name in named) or (self.options.host in EVERYWHERE and _is_address(name)):
            return
        hint = "Allow it with --allow-host."
        raise RequestRefused(f"this server is not called {host!r}", hint, status=403)

    def _check_origin(self, origin: str | None, host: str) -> None:
        own = (f"http://{host}", f"https://{host}")
        if origin is None or origin in (*own, *self.options.origins):
            return
        hint = "Allow it with --allow-origin."
        raise RequestRefused(f"pages of {origin!r} may not ask here", hint, status=403)


def _check_token(header: str, token: str) -> None:
    kind, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), token.encode())
    if kind.lower() == "bearer" and same:
        return
    hint = "Send it: Authorization: Bearer TOKEN."
    raise RequestRefused("this server wants a bearer token", hint, status=401)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
