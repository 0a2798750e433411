"""The registry of tools, and the public functions that read a model's reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from azent.arguments import flag, many, whole
from azent.arguments import text as words
from azent.errors import UsageError
from azent.execute import Execution, gathered
from azent.execute.isolate import check_isolation
from azent.messages import Call, Reply, Result, Spec
from azent.tools import Tool, are_trusted, as_tool, duplicate, specs_of


class Toolbox:
    """Tools by name. `width` is the concurrency limit, in calls."""

    def __init__(self, tools: Iterable[object] = (), *, width: int = 32) -> None:
        self.width = whole("width", width, 1)
        self._tools: dict[str, Tool] = {}
        for tool in many("tools", tools, "[function, ...]"):
            self.add(tool)

    def add(self, tool: Callable[..., Any] | Tool | object) -> Tool:
        """Add a function or a tool. Raises SchemaError if it is unfit or its name is in use."""
        new = as_tool(tool)
        if new.name in self._tools:
            raise duplicate(new.name)
        if new.options.isolate:
            check_isolation(new.function)
        self._tools[new.name] = new
        return new

    @property
    def specs(self) -> dict[str, Spec]:
        """Return the specs of the tools by name, in the order in which they were added."""
        return {name: tool.spec for name, tool in self._tools.items()}

    @property
    def tools(self) -> dict[str, Tool]:
        """Return the tools by name."""
        return dict(self._tools)

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def run(self, calls: Sequence[Call], *, context: object = None) -> tuple[Result, ...]:
        """Validate, coerce and run calls concurrently, and return their results in order.

        A call that is invalid or that fails gets a result that says so. Raises UsageError for an
        object that is not a Call.
        """
        from azent.validate import checked

        listed = many("calls", calls, "reply.calls")
        specs, trusted = self.specs, are_trusted(self)
        checked_calls = [checked(_call(call), specs, trusted=trusted)[0] for call in listed]
        with Execution(self._tools, width=self.width, context=context) as execution:
            return gathered(execution, checked_calls)

    def __call__(self, call: Call) -> Result:
        """Run one call, so that a toolbox can be the `run` of an agent."""
        (result,) = self.run([call])
        return result


def _call(value: Any) -> Call:
    if isinstance(value, Call) and isinstance(value.tool, str):
        return value
    raise UsageError(f"{value!r} is no call", 'Give azent.Call("name", {...}), or reply.calls.')


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
    from azent.reply import read

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
        from azent.reply import Reader

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
