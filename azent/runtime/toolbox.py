"""Keep tools by name, and run calls of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from azent.errors import UsageError
from azent.messages import Call, Result, Spec
from azent.runtime.calls import Execution, gathered
from azent.runtime.isolation import check_isolation
from azent.tools.tool import Tool, are_trusted, as_tool, duplicate
from azent.values.arguments import many, whole


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
        from azent.schema.validate import checked

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
