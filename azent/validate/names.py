"""Which registered tool, or which argument, a name means.

A name counts where it is one that was offered, or becomes one in exactly one way once case,
punctuation and invented prefixes are set aside. Nothing is guessed from similar spelling: a near
miss is named in the problem, and the model decides.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

_INVENTED = ("functions", "function", "defaultapi", "tools", "tool", "api", "mcp", "assistant")
_MARKER = re.compile(r"<[|｜].*|\[(?:ARGS|CALL_ID|TOOL_CALLS)\].*", re.DOTALL)
_DECORATION = " \t\r\n\"'`*“”"
_NUMBERED = re.compile(r":\d+$")
_CALLED = re.compile(r"\(\s*\)$")
_LONGEST = 300
_MOST_PARTS = 8
_SEPARATOR = re.compile(r"[.:/]|__")


def resolved(name: str, offered: Collection[str]) -> str | None:
    """The offered name that `name` stands for; None where there is none, or more than one."""
    if name in offered:
        return name
    if len(name) > _LONGEST:
        return None
    cleaned = _cleaned(name)
    if cleaned in offered:
        return cleaned
    return _only(_folded_matches(cleaned, offered))


def nearest(name: str, offered: Iterable[str]) -> str | None:
    """The offered name most like a wrong one, to be named in a sentence."""
    by_fold = {folded(each): each for each in offered}
    close = difflib.get_close_matches(folded(name), list(by_fold), n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """A name without case, punctuation and the ways that Unicode writes the same letter."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


def _cleaned(name: str) -> str:
    bare = _MARKER.sub("", unicodedata.normalize("NFC", name)).strip(_DECORATION)
    return _CALLED.sub("", _NUMBERED.sub("", bare)).replace("\\_", "_").strip(_DECORATION)


def _only(names: list[str]) -> str | None:
    return names[0] if len(set(names)) == 1 else None


def _folded_matches(name: str, offered: Collection[str]) -> list[str]:
    """Offered names that equal `name`, at the first level of forgiveness that has any."""
    for wanted in _forgiven(name):
        if matches := [each for each in offered if wanted and folded(each) == wanted]:
            return matches
    last = folded(name)
    return [each for each in offered if last and last == folded(_parts(each)[-1])]


def _forgiven(name: str) -> Iterable[str]:
    """The folded name; then without what is set off before it, or is often invented."""
    yield folded(name)
    parts = _parts(name)
    for begin in range(1, min(len(parts), _MOST_PARTS)):
        yield folded("".join(parts[begin:]))
    for prefix in _INVENTED:
        if folded(name).startswith(prefix):
            yield folded(name).removeprefix(prefix)


def _parts(name: str) -> list[str]:
    return _SEPARATOR.split(name)
