"""A tool: a function, the schema that a model is shown of it, and how it may be run.

Any callable is a tool as it is; `@tool` adds what cannot be read off it. The function stays what it
was, to be called, tested and pickled as before: the options are kept beside it.
"""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from azent.arguments import called, flag, one_of, seconds, text, whole
from azent.errors import SchemaError, UsageError
from azent.messages import Spec

if TYPE_CHECKING:
    from azent.schema import Introspected

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "__azent_tool__"
RESERVED = {"auto", "none", "required"}  # what `choice` can say beside a tool's name


@dataclass(frozen=True, slots=True)
class Options:
    """How a tool may be run.

    `readonly`: changes nothing, so it may start early and run again. `confirm`: a person is asked
    first. `serial`: never beside another call. `repeatable`: the same call twice means twice.
    `timeout`: seconds for one call. `isolate`: in a process of its own, killed at the limit.
    `retries`: how often it is tried again when it raises.
    """

    name: str | None = None
    description: str | None = None
    readonly: bool = False
    confirm: bool = False
    serial: bool = False
    repeatable: bool = False
    timeout: float | None = None
    isolate: bool = False
    retries: int = 0

    def __post_init__(self) -> None:
        whole("retries", self.retries, 0)
        if self.timeout is not None:
            object.__setattr__(self, "timeout", seconds("timeout", self.timeout))
        if self.timeout == 0:
            raise UsageError("timeout is 0", "Give seconds, or None for no limit.")
        for name in ("readonly", "confirm", "serial", "repeatable", "isolate"):
            flag(name, getattr(self, name))
        for name in ("name", "description"):
            if getattr(self, name) is not None:
                text(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that can be offered to a model. `function` is the original.

    `trusted` is whether its schema is the user's own: only then its patterns are evaluated.
    """

    name: str
    spec: Spec
    function: Callable[..., Any] = field(repr=False)
    introspected: Introspected = field(repr=False, compare=False)
    options: Options = Options()
    trusted: bool = True


@overload
def tool(function: Function, /) -> Function: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    readonly: bool = False,
    confirm: bool = False,
    serial: bool = False,
    repeatable: bool = False,
    timeout: float | None = None,
    isolate: bool = False,
    retries: int = 0,
) -> Callable[[Function], Function]: ...


def tool(function: Function | None = None, /, **options: Any) -> Any:
    """Mark a function as a tool, plainly (`@tool`) or with options (`@tool(readonly=True)`).

    The options are those of `Options`. Gives the function itself back, or a partial of it where it
    cannot carry a mark of its own (a bound method, a builtin, one marked otherwise before).
    """
    if function is None:
        return functools.partial(_marked, options=Options(**options))
    called("what @tool marks", function, "(options go by name: @tool(name=...))")
    return _marked(function, Options(**options))


def _marked(function: Any, options: Options) -> Any:
    if options_of(function) not in (None, options):
        function = functools.partial(function)
    try:
        setattr(function, MARK, options)
    except (AttributeError, TypeError):
        function = functools.partial(function)
        setattr(function, MARK, options)
    return function


def options_of(function: object) -> Options | None:
    """The options that `@tool` gave a function, or None."""
    found = getattr(function, MARK, None)
    return found if isinstance(found, Options) else None


def function_to_json(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> dict[str, Any]:
    """The schema of a function: {"name", "description", "parameters", "returns"}, plain JSON.

    A name and a description that are not given here are those of `@tool`, else the function's own.
    SchemaError: it cannot be offered to a model.
    """
    from azent import schema

    marked = options_of(function) or Options()
    name = marked.name if name is None else text("name", name)
    description = marked.description if description is None else text("description", description)
    return schema.function_to_json(function, name=name, description=description)


def as_tool(thing: object) -> Tool:
    """The tool that a function, or anything with a method `as_tool`, is. Raises SchemaError."""
    if isinstance(thing, Tool):
        return thing
    if hasattr(thing, "as_tool"):
        return as_tool(thing.as_tool())
    if not callable(thing):
        hint = "Tools are functions; pass the function itself, not what it returns."
        raise SchemaError(f"{reprlib.repr(thing)} cannot be called", hint)
    return _introspected(thing, options_of(thing) or Options())


def _introspected(function: Callable[..., Any], options: Options) -> Tool:
    from azent.schema import introspect

    found = introspect(function, name=options.name, description=options.description)
    if found.name in RESERVED:
        hint = f"Give it another: @tool(name=...). {', '.join(sorted(RESERVED))} are taken."
        raise SchemaError(f"no tool may bear the name {found.name!r}", hint)
    return Tool(found.name, found.spec, function, found, options)


def spec_of(thing: object) -> Spec:
    """The spec of a tool, a function, or a dict that is one already (OpenAI's wrapping too)."""
    if not isinstance(thing, Mapping):
        return as_tool(thing).spec
    from azent.schema.bounds import check_foreign
    from azent.schema.foreign import object_schema

    inner = thing.get("function", thing)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        hint = 'A tool is {"name": ..., "description": ..., "parameters": {a JSON Schema}}.'
        raise SchemaError(f"{reprlib.repr(thing)} describes no tool", hint)
    parameters = inner.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping):
        hint = 'Give a JSON Schema: {"type": "object", "properties": {...}}.'
        raise SchemaError(f"the parameters of {inner['name']!r} are no JSON Schema", hint)
    check_foreign(inner["name"], parameters)
    return {"description": "", **inner, "parameters": object_schema(parameters)}


def are_trusted(things: Iterable[object]) -> bool:
    """Are all of these the user's own? A dict may come from anywhere."""
    return all(not isinstance(t, dict) and getattr(t, "trusted", True) for t in things)


def specs_of(things: Iterable[object]) -> dict[str, Spec]:
    """The specs of many, by name. Raises SchemaError where two bear one name."""
    specs: dict[str, Spec] = {}
    for spec in map(spec_of, things):
        if spec["name"] in specs:
            raise SchemaError(
                f"two tools are named {spec['name']!r}", "Rename one: @tool(name=...)."
            )
        specs[spec["name"]] = spec
    return specs


def choice_among(choice: str, names: Iterable[str]) -> str:
    """The choice, if it is one for tools of these names. Raises UsageError."""
    return one_of("choice", choice, [*sorted(RESERVED), *names])


def duplicate(name: str) -> SchemaError:
    """The error for a name that is taken."""
    return SchemaError(f"two tools are named {name!r}", "Rename one: @azent.tool(name=...).")
