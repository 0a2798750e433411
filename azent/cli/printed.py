"""Text and JSON on standard output, whatever characters the output can take."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

from azent.cli.streams import answers
from azent.cli.visible import visible
from azent.wording import safe_json


def print_text(text: str) -> None:
    """Print a text, of which control characters are shown and not obeyed."""
    print(visible(text), file=answers(), flush=True)


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON, valid in any encoding, on one line unless it is indented."""
    print(json_text(value, answers().encoding, indent), file=answers(), flush=True)


def json_text(value: Any, encoding: str | None, indent: int | None = None) -> str:
    """A value as JSON; escapes stand for what a terminal obeys, or the encoding does not have."""
    text = safe_json(json.dumps(value, ensure_ascii=False, default=_plain, indent=indent))
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, default=_plain, indent=indent)
    return text


def _plain(value: Any) -> Any:
    """What JSON does not have, as what is nearest to it."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
