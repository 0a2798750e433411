"""How a server is reached over HTTP: what its clients have in common."""

from __future__ import annotations

import base64
import ssl

FIRST_TOKEN_SECONDS = 600.0  # loading a large model from a slow disk takes minutes


def basic(login: str | None) -> dict[str, str]:
    """The header that gives "user:password" away, none for nobody."""
    if login is None:
        return {}
    return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


def certificates(host: str, verify: bool | str | ssl.SSLContext) -> bool | ssl.SSLContext:
    """What certificates are checked against; building that costs time, so only for HTTPS."""
    if not host.startswith("https:"):
        return False
    if isinstance(verify, str):
        return ssl.create_default_context(cafile=verify)
    return verify
