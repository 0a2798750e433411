"""What a model of a server is set to, checked as it is made and not at the first request."""

from __future__ import annotations

import ssl
from typing import Any

from azent.arguments import named, seconds, text, whole
from azent.errors import UsageError


def headers_of(headers: Any) -> dict[str, str]:
    """Headers by name. Raises UsageError for values that are no texts."""
    given = named("headers", headers)
    return {name: text(f"the header {name}", value) for name, value in given.items()}


def tokens(num_ctx: Any) -> int:
    """A context, in tokens. Raises UsageError."""
    return whole("num_ctx", num_ctx, 1)


def seconds_or_none(name: str, value: Any) -> float | None:
    """A limit in seconds, or None for none. Raises UsageError."""
    return None if value is None else seconds(name, value)


def kept_alive(value: str | float | None) -> str | float | None:
    """How long a model stays loaded: "10m", seconds, or None. Raises UsageError."""
    is_time = isinstance(value, str) or (isinstance(value, int | float) and value == value)
    if value is None or (is_time and not isinstance(value, bool)):
        return value
    raise UsageError(f"keep_alive is {value!r}", 'It is a time such as "10m", or seconds.')


def verified(value: bool | str | ssl.SSLContext) -> bool | str | ssl.SSLContext:
    """Whose certificates are trusted. Raises UsageError."""
    if isinstance(value, bool | str | ssl.SSLContext):
        return value
    hint = "It is False, a file of certificates, or an SSLContext."
    raise UsageError(f"verify is {value!r}", hint)
