"""The plain text that a pattern begins with, which tells where to look for it.

Trying every dialect's pattern at every character of a reply would be slow. So the reader first
searches for the texts that `heads` gives, and tries the patterns only where it finds one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_QUANTIFIER = "?*+{"
_SPECIAL = ".^$([)"


def heads(pattern: str) -> list[str]:
    """For each alternative of a pattern, the text that it begins with whatever it matches.

    Raises ValueError where an alternative begins with anything but a character that stands for
    itself: such a pattern could begin anywhere.
    """
    return [_head(tokens) for tokens in _alternatives(pattern)]


def _alternatives(pattern: str) -> list[list[str]]:
    """The tokens of each alternative at the top level of a pattern."""
    depth, found = 0, [list[str]()]
    for token in _TOKEN.findall(pattern):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _head(tokens: list[str]) -> str:
    head = ""
    for token, following in pairwise([*tokens, ""]):
        if token[0] in _SPECIAL or _is_class(token) or (following and following in _QUANTIFIER):
            break
        head += token.removeprefix("\\")
    if not head:
        raise ValueError(f"{''.join(tokens)!r} does not begin with a character of its own")
    return head


def _is_class(token: str) -> bool:
    """Is it an escape such as \\w or \\n, which does not stand for the character in it?"""
    return token[0] == "\\" and token[1].isalnum()


def beginnings(texts: Iterable[str]) -> str:
    """A pattern for the end of a text where one of these texts has only begun."""
    begun = {text[:size] for text in texts for size in range(1, len(text))}
    return f"(?:{'|'.join(map(re.escape, sorted(begun, reverse=True)))})\\Z"
