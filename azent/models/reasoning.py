"""Whether the replies of a model begin within its reasoning, because the prompt opened it.

Some chat templates end each prompt with `<think>`. The reply is then the rest of the reasoning,
`</think>` and the answer, without the opening tag. Where that is known before a reply comes, its
first words are not shown as the answer. It is known from an earlier reply of the same model, from
the template that the server tells, or else from the name, for families whose templates all do so.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from dataclasses import replace

from azent.messages import Delta, End

_TAG = r"(?:<(?:think|thinking|thought|seed:think)>|\[THINK\]|◁think▷)"
_OPENED = re.compile(rf"{_TAG}\s*\Z")
_OPENER = re.compile(_TAG)
_CLOSER = re.compile(
    r"(?<![`\"'“])(?:</(?:think|thinking|thought|seed:think)>|\[/THINK\]|◁/think▷)"
)
_LONGEST_TAG = 16
_NAMES = re.compile(
    r"(?:^|[/:_-])(?:qwq(?!.*preview)|deepseek-r1(?!-(?:0528|zero))|qwen3\S*-thinking|minimax-m2)",
    re.IGNORECASE,
)

# Of a template in Go's language (Ollama's), and of one in Jinja.
_GO_TAIL = re.compile(r"\{\{-?\s*(?:end|\.Response|/\*[^{}]*\*/)\s*-?\}\}\s*\Z")
_GO_ACTION = re.compile(r"\{\{([^{}]*)\}\}")
_JINJA_STATEMENT = re.compile(r"\{%-?\s*(\w+)\b([^%]*)%\}|\{\{(.*?)\}\}", re.DOTALL)
_JINJA_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_THINKS = re.compile(r"think|reason", re.IGNORECASE)
_NEGATED = re.compile(r"\bnot\b|\bis false\b|== ?false\b", re.IGNORECASE)


def opens_reasoning(template: str) -> bool:
    """Does a chat template, in Go's language or in Jinja, end each prompt with an opening tag?

    A tag that is written only where thinking was asked for does not count: a server that can be
    asked for it tells reasoning and answer apart itself.
    """
    if "{%" in template:
        return _jinja_opens(template)
    return _go_opens(template)


def named_to_open_reasoning(name: str) -> bool:
    """Does the name of a model tell that it is of a family whose templates open reasoning?"""
    return _NAMES.search(name) is not None


def _go_opens(template: str) -> bool:
    text = template.rstrip()
    while (tail := _GO_TAIL.search(text)) is not None:
        text = text[: tail.start()].rstrip()
    tag = _OPENED.search(text)
    if tag is None:
        return False
    before = _GO_ACTION.findall(text[: tag.start()])
    condition = before[-1] if before else ""
    return not _THINKS.search(condition) or bool(_NEGATED.search(condition))


def _jinja_opens(template: str) -> bool:
    """Whether any text behind the last `add_generation_prompt` ends with the tag by default."""
    _, asked, tail = template.rpartition("add_generation_prompt")
    if not asked:
        return False
    conditions: list[str] = []
    for statement in _JINJA_STATEMENT.finditer(tail):
        keyword, rest, expression = statement.groups()
        if keyword == "if":
            conditions.append(rest)
        elif keyword in ("elif", "else") and conditions:
            conditions[-1] = rest if keyword == "elif" else _otherwise(conditions[-1])
        elif keyword == "endif" and conditions:
            conditions.pop()
        elif expression and _OPENED.search(_joined(expression)):
            return not any(_THINKS.search(condition) for condition in conditions)
    return False


def _otherwise(condition: str) -> str:
    """The condition of an else: none where thinking is only left out when it was switched off."""
    return "" if re.search(r"is defined|is false|== ?false", condition) else condition


def _joined(expression: str) -> str:
    """All texts of a Jinja expression, one behind the other."""
    texts = (one or other for one, other in _JINJA_TEXT.findall(expression))
    return "".join(texts).replace("\\n", "\n")


class Opening:
    """What is known of one model: whether its replies begin within reasoning."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._told: bool | None = None
        self._seen = False

    def take_template(self, template: str | None) -> None:
        """Take what the server tells as the template, if it does."""
        if template:
            self._told = opens_reasoning(template)

    def notice(self, closed: bool) -> None:
        """Take from a whole reply whether it closed reasoning that it had not opened."""
        self._seen = closed

    @property
    def expected(self) -> bool:
        """Is the next reply expected to begin within reasoning?"""
        return self._seen or bool(self._told) or named_to_open_reasoning(self._name)

    def marked(
        self, pieces: Generator[Delta | End, None, None], held: bool
    ) -> Generator[Delta | End, None, None]:
        """Mark the first text of a reply where it is expected to begin within reasoning.

        A reply that is held to a schema has no reasoning, and tells nothing about other replies.
        """
        mark = None if held else _Mark(self)
        with closing(pieces):
            for piece in pieces:
                yield mark.on(piece) if mark else piece

    async def amarked(
        self, pieces: AsyncGenerator[Delta | End, None], held: bool
    ) -> AsyncGenerator[Delta | End, None]:
        """The asynchronous twin of `marked`."""
        mark = None if held else _Mark(self)
        async with aclosing(pieces):
            async for piece in pieces:
                yield mark.on(piece) if mark else piece


class _Mark:
    """Follows one reply: marks its first text, and notices which tag comes first."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._marks = opening.expected
        self._tail = ""
        self._closed: bool | None = None  # whether the first tag was a closing one

    def on(self, piece: Delta | End) -> Delta | End:
        """The piece, marked if it is the first text and within reasoning."""
        if isinstance(piece, End):
            self._opening.notice(bool(self._closed))
            return piece
        if piece.thinking:  # the server tells reasoning apart
            self._marks, self._closed = False, False
        if not piece.text:
            return piece
        self._look(piece.text)
        marks, self._marks = self._marks, False
        return replace(piece, in_reasoning=True) if marks else piece

    def _look(self, text: str) -> None:
        if self._closed is not None:
            return
        text = self._tail + text
        if _OPENER.search(text) or _CLOSER.search(text):
            self._closed = not _OPENER.search(text)
        self._tail = text[-_LONGEST_TAG:]
