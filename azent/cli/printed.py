"""JSON on standard output, valid whatever characters the output can take."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON, on one line unless it is indented."""
    print(json_text(value, sys.stdout.encoding, indent), flush=True)


def json_text(value: Any, encoding: str | None, indent: int | None = None) -> str:
    """A value as JSON; escapes stand for characters that the encoding does not have."""
    text = json.dumps(value, ensure_ascii=False, default=str, indent=indent)
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, default=str, indent=indent)
    return text
