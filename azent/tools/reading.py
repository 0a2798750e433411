"""Read replies for users of the package, who give functions where the reader takes schemas."""

from __future__ import annotations

from collections.abc import Iterable

from azent.messages import Call, Reply
from azent.tools.tool import are_trusted, specs_of
from azent.values.arguments import flag, many
from azent.values.arguments import text as words


def read_reply(text: str, tools: Iterable[object], *, done_reason: str = "stop") -> Reply:
    """Parse a model's reply into calls, text, reasoning or a problem. No text raises.

    - `text`: the raw text of the reply.
    - `tools`: functions, Tools, or dicts {"name", "description", "parameters"}, also in OpenAI's
      form. Dicts are not trusted: their patterns are not evaluated and remote references are
      refused.
    - `done_reason`: the reason that the server gave; "length" says that the reply was cut.

    Calls are validated and coerced; their inputs stay JSON. Raises SchemaError for tools that
    cannot be offered.
    """
    from azent.parsing.reader import read

    tools = tuple(many("tools", tools, "[function, ...]"))
    return read(
        words("text", text), specs_of(tools), done_reason=done_reason, trusted=are_trusted(tools)
    )


class ReplyReader:
    """An incremental parser of a reply; at the end, `close` returns what `read_reply` would.

    `held` says that decoding was constrained to the schema; only then does `feed` return calls
    before the reply ends.
    """

    def __init__(self, tools: Iterable[object], *, held: bool = False) -> None:
        from azent.parsing.reader import Reader

        tools = tuple(many("tools", tools, "[function, ...]"))
        self._reader = Reader(specs_of(tools), held=flag("held", held), trusted=are_trusted(tools))

    def feed(self, piece: str) -> list[Call]:
        """Read a piece, and return the calls that it made certain."""
        return self._reader.feed(words("piece", piece))

    def words(self) -> str:
        """Return the new text that can be shown."""
        return self._reader.words()

    def close(self, done_reason: str = "stop") -> Reply:
        """Return the whole reply."""
        return self._reader.close(done_reason)
