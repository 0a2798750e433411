"""Read strings that are quoted or escaped wrongly: find their end, and decode them.

A quote ends a string only if a character that may follow a value comes next, so quotes inside need
no escapes. Backslashes that are no JSON escape are kept, because they come from paths, regular
expressions and LaTeX; for ambiguous ones the caller decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

QUOTES = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": '”“"',
    "”": '”"',
    "„": '“”"',
    "‘": "’'",
    "’": "’'",
    "‚": "‘’'",
    "＂": '＂"',
    "«": '»"',
    "»": '«"',
    "‹": "›'",
    "「": "」",
    "『": "』",
    "〝": "〞〟",
    "‟": '”"',
    "‛": "’'",
    "″": '″"',
    "＇": "＇'",
    "❝": "❞",
    "❛": "❜",
}
_DOUBLE = '"“”„＂«»‟″'
_SINGLE = "'‘’‚‹›‛＇"
_OPENERS = "".join(QUOTES)
_CLOSERS = {opener: re.compile(f"[\\\\{closers}]") for opener, closers in QUOTES.items()}
_MIXED = {
    **_CLOSERS,
    **{opener: re.compile(f"[\\\\{_DOUBLE}]") for opener in _DOUBLE},
    **{opener: re.compile(f"[\\\\{_SINGLE}]") for opener in _SINGLE},
}
_TYPOGRAPHIC = re.compile("[“”„＂]")
_KEY = rf"[{_OPENERS}][^{_OPENERS}\n]{{1,80}}[{_OPENERS}›」』〞〟❞❜]\s*+[:：=]"
_BARE_KEY = r"[A-Za-z_][\w-]{0,60}\s*+[:：=]"
_SHUT = r"[}\])｝］][ \t]*+(?:$|[\n\r,，}\])｝］;<`\"'/#])"
_VALUE = rf"[rRuU]?[\"']|[{_OPENERS}\[{{(\-\d]|true\b|false\b|null\b|True\b|False\b|None\b"

# What may follow a string, by the kind of its surroundings.
_FOLLOWS = {
    "member": re.compile(rf"\s*+(?:$|{_SHUT}|[,，]\s*+(?:$|[}}\]｝]|//|/\*|#|{_KEY})|{_KEY})"),
    "bare member": re.compile(
        rf"\s*+(?:$|{_SHUT}|[,，]\s*+(?:$|[}}\]｝]|//|/\*|#|{_KEY}|{_BARE_KEY})|\s{_BARE_KEY})"
    ),
    "item": re.compile(
        rf"\s*+(?:$|{_SHUT}|[,，]\s*+(?:$|[\]}}］]|//|/\*|#|\.\.\.|{_VALUE}))|\s++[{_OPENERS}]"
    ),
    "argument": re.compile(rf"\s*+(?:$|\)|{_SHUT}|,\s*+(?:$|\)|#|[A-Za-z_]\w*\s*=|{_VALUE}))"),
    "anything": re.compile(""),
}

_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SELF = '"\\/'
_PYTHON_SIMPLE = {**_SIMPLE, "a": "\a", "v": "\v", "0": "\0", "\n": ""}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_INVALID = re.compile(r"\\(?:[^\"\\/bfnrtu'`]|u(?![0-9a-fA-F]{4}))")
_CONTROL = re.compile(r"\\[nrt]")
_PATH = re.compile(r"(?:[A-Za-z]:|\.{1,2})\\[^\n\"<>|?]*|[\w.$-]+(?:\\[\w.$-]+)+\.\w{1,5}")
_JOINED = re.compile(r"[\"']\s*[+.,]\s*[\"']|[\"']\s+[\"']")
_LATEX = re.compile(
    r"\\(?:t(?:imes|heta|au|ext\w*|an|o|op|ilde|riangle\w*)|n(?:abla|eq?|u|ot\w*)"
    r"|r(?:ho|ight\w*|angle|floor|ceil))(?![A-Za-z])"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A string in a text: its content from `begin` to `end`, and the number of `inner` quotes."""

    begin: int
    end: int
    after: int
    inner: int = 0


def quoted(text: str, at: int, place: str, naive: bool, mixed: bool = False) -> Span | None:
    """Return the string whose opening quote is at `at`; None if it never ends.

    With `naive` the first quote ends it, whatever follows. With `mixed` a quote of another style
    may end it.
    """
    opener = text[at]
    closer = (_MIXED if mixed else _CLOSERS)[opener]
    follows = _FOLLOWS["anything" if naive else place]
    position, inner = at + 1, 0
    while match := closer.search(text, position):
        if match.group() == "\\":
            position = match.end() + 1
        elif follows.match(text, match.end()):
            return Span(at + 1, match.start(), match.end(), inner)
        else:
            position, inner = match.end(), inner + 1
    return None


def fenced(text: str, at: int, fence: str) -> Span | None:
    """Return the string between two fences (triple quotes, a token), which opens at `at`."""
    begin = at + len(fence)
    end = text.find(fence, begin)
    return None if end < 0 else Span(begin, end, end + len(fence))


def ends_inside(text: str, span: Span, opener: str) -> bool:
    """Return whether the quote of another style that ends a string may belong to its content."""
    others = (set(_DOUBLE) if opener == '"' else set(_SINGLE)) - {opener}
    other_style = text[span.end : span.after] != opener and opener.isascii()
    return other_style and not others.isdisjoint(text[span.begin : span.end])


def is_odd(span: Span, raw: str) -> bool:
    """Return whether a quote inside a string has no partner, typographic ones included."""
    return bool(span.inner % 2) and len(_TYPOGRAPHIC.findall(raw)) % 2 == 0


def is_joined(raw: str) -> bool:
    """Return whether the content is several strings to join, not one with inner quotes."""
    return bool(_JOINED.search(raw))


def has_unknown_escapes(raw: str) -> bool:
    """Return whether a string has an escape that JSON forbids."""
    return bool(_INVALID.search(_without_pairs(raw)))


def is_ambiguous(raw: str) -> bool:
    """Return whether backslashes may be literal as well as escapes."""
    single = _without_pairs(raw)
    unclear = _CONTROL.search(_LATEX.sub("", single)) and "\\\\" not in raw
    return bool(unclear) and not _PATH.fullmatch(raw)


def decoded(raw: str, python: bool = False, literal: bool = False) -> str:
    """Return the content of a string; `literal` keeps ambiguous backslashes."""
    if "\\" not in raw:
        return raw
    if has_unknown_escapes(raw) and "\\\\" not in raw and (literal or not is_ambiguous(raw)):
        return re.sub(r"\\([\"'])", r"\1", raw)
    known = _PYTHON_SIMPLE if python else _SIMPLE
    return _paired(_ESCAPE.sub(lambda match: _escaped(match, known, python), raw))


def _escaped(match: re.Match[str], known: dict[str, str], python: bool) -> str:
    four, two, eight, one = match.groups()
    if four or ((two or eight) and python):
        code = int(four or two or eight, 16)
        return chr(code) if code < 0x110000 else match.group()
    if one is None:
        return match.group()
    if one in _SELF or one in "'`":
        return str(one)
    return known.get(one, match.group())


def _paired(text: str) -> str:
    """Return the text with pairs of surrogates joined into characters."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _without_pairs(raw: str) -> str:
    return raw.replace("\\\\", "")
