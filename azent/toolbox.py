"""The registry of tools, and the public face of the reader, which takes functions for specs."""

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
    """Tools by name. `width` is the most calls that run at once."""

    def __init__(self, tools: Iterable[object] = (), *, width: int = 32) -> None:
        self.width = whole("width", width, 1)
        self._tools: dict[str, Tool] = {}
        for tool in many("tools", tools, "[function, ...]"):
            self.add(tool)

    def add(self, tool: Callable[..., Any] | Tool | object) -> Tool:
        """Add a function or a tool. Raises SchemaError: cannot be offered, or the name is taken."""
        new = as_tool(tool)
        if new.name in self._tools:
            raise duplicate(new.name)
        if new.options.isolate:
            check_isolation(new.function)
        self._tools[new.name] = new
        return new

    @property
    def specs(self) -> dict[str, Spec]:
        """What a model is shown of each tool, by name, in the order in which they were added."""
        return {name: tool.spec for name, tool in self._tools.items()}

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools by name."""
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
        """Validate, coerce and run the calls, side by side; their results, in order.

        A call that is illegal or that fails has a result that says so.
        Raises UsageError for what is no call.
        """
        from azent.validate import checked

        listed = many("calls", calls, "reply.calls")
        specs, trusted = self.specs, are_trusted(self)
        checked_calls = [checked(_call(call), specs, trusted=trusted)[0] for call in listed]
        with Execution(self._tools, width=self.width, context=context) as execution:
            return gathered(execution, checked_calls)

    def __call__(self, call: Call) -> Result:
        """Run one call: so a toolbox can be the `run` of an agent that only offers its tools."""
        (result,) = self.run([call])
        return result


def _call(value: Any) -> Call:
    if isinstance(value, Call) and isinstance(value.tool, str):
        return value
    raise UsageError(f"{value!r} is no call", 'Give azent.Call("name", {...}), or reply.calls.')


def read_reply(text: str, tools: Iterable[object], *, done_reason: str = "stop") -> Reply:
    """What a model's reply means: calls, words, reasoning, or a problem. Pure; no text raises.

    `tools` are functions, Tools, or dicts {"name", "description", "parameters"} (OpenAI's wrapping
    too), which are not trusted: their patterns are not evaluated, remote references are refused.
    `done_reason` is the server's: "length" says that the reply was cut. Calls are validated and
    coerced, their inputs stay JSON. Raises SchemaError for tools that cannot be offered.
    """
    from azent.reply import read

    tools = tuple(many("tools", tools, "[function, ...]"))
    return read(
        words("text", text), specs_of(tools), done_reason=done_reason, trusted=are_trusted(tools)
    )


class ReplyReader:
    """Reads a reply that comes in pieces; however it was cut, `close` equals `read_reply`.

    `feed` gives the calls that are certain before the end: only where decoding was held to the
    schema (`held`). `words` gives what is safe to show and was not given before.
    """

    def __init__(self, tools: Iterable[object], *, held: bool = False) -> None:
        from azent.reply import Reader

        tools = tuple(many("tools", tools, "[function, ...]"))
        self._reader = Reader(specs_of(tools), held=flag("held", held), trusted=are_trusted(tools))

    def feed(self, piece: str) -> list[Call]:
        """Take a piece; the calls that became certain by it."""
        return self._reader.feed(words("piece", piece))

    def words(self) -> str:
        """The words that can be shown by now and were not given before."""
        return self._reader.words()

    def close(self, done_reason: str = "stop") -> Reply:
        """What the whole reply means."""
        return self._reader.close(done_reason)
