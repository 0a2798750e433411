"""A tool: a function, the schema that a model sees, and options for running it.

Any callable can be a tool; `@tool` adds what its signature cannot say. The function itself stays
unchanged, so that it can be called, tested and pickled as before.
"""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from azent.errors import SchemaError, UsageError
from azent.messages import Spec
from azent.values.arguments import called, flag, one_of, seconds, text, whole

if TYPE_CHECKING:
    from azent.schema.introspect import Introspected


Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "__azent_tool__"
RESERVED = {"auto", "none", "required"}  # what `choice` can say beside a tool's name


@dataclass(frozen=True, slots=True)
class Options:
    """How a tool may be run.

    - `name`, `description`: replace those of the function.
    - `readonly`: it changes nothing, so it may start early and run again.
    - `confirm`: a person has to approve each call.
    - `serial`: it never runs beside another call.
    - `repeatable`: two equal calls both run.
    - `timeout`: the time limit of one call, in seconds.
    - `isolate`: it runs in a process of its own, which is killed at the time limit.
    - `retries`: how many times a call is tried again after an exception.
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

    `trusted` says whether the schema is the user's own: only then are its patterns evaluated.
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

    The options are the fields of `Options`. Returns the function itself, or a partial of it if no
    attribute can be set on it (a bound method, a builtin, or one that has other options already).
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
    """Return the options that `@tool` gave a function, or None."""
    found = getattr(function, MARK, None)
    return found if isinstance(found, Options) else None


def function_to_json(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> dict[str, Any]:
    """Return the schema of a function: {"name", "description", "parameters", "returns"}.

    By default the name and description are those of `@tool`, else the function's own. Raises
    SchemaError for a function that cannot be offered to a model.
    """
    from azent.schema import introspect as schema

    marked = options_of(function) or Options()
    name = marked.name if name is None else text("name", name)
    description = marked.description if description is None else text("description", description)
    return schema.function_to_json(function, name=name, description=description)


def as_tool(thing: object) -> Tool:
    """Return the Tool of a function, or of an object with `as_tool`. Raises SchemaError."""
    if isinstance(thing, Tool):
        return thing
    if hasattr(thing, "as_tool"):
        return as_tool(thing.as_tool())
    if not callable(thing):
        hint = "Tools are functions; pass the function itself, not what it returns."
        raise SchemaError(f"{reprlib.repr(thing)} cannot be called", hint)
    return _introspected(thing, options_of(thing) or Options())


def _introspected(function: Callable[..., Any], options: Options) -> Tool:
    from azent.schema.introspect import introspect

    found = introspect(function, name=options.name, description=options.description)
    if found.name in RESERVED:
        hint = f"Give it another: @tool(name=...). {', '.join(sorted(RESERVED))} are taken."
        raise SchemaError(f"no tool may bear the name {found.name!r}", hint)
    return Tool(found.name, found.spec, function, found, options)


def spec_of(thing: object) -> Spec:
    """Return the spec of a tool, a function, or a dict that is a spec (also in OpenAI's form)."""
    if not isinstance(thing, Mapping):
        return as_tool(thing).spec
    from azent.schema.drafts import object_schema
    from azent.schema.references import check_foreign

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
    """Return whether all schemas are the user's own; a dict may come from anywhere."""
    return all(not isinstance(t, dict) and getattr(t, "trusted", True) for t in things)


def specs_of(things: Iterable[object]) -> dict[str, Spec]:
    """Return the specs of tools by name. Raises SchemaError if two have the same name."""
    specs: dict[str, Spec] = {}
    for spec in map(spec_of, things):
        if spec["name"] in specs:
            raise SchemaError(
                f"two tools are named {spec['name']!r}", "Rename one: @tool(name=...)."
            )
        specs[spec["name"]] = spec
    return specs


def choice_among(choice: str, names: Iterable[str]) -> str:
    """Return `choice` if it is valid for tools of these names. Raises UsageError."""
    return one_of("choice", choice, [*sorted(RESERVED), *names])


def duplicate(name: str) -> SchemaError:
    """Return the error for a name that is already in use."""
    return SchemaError(f"two tools are named {name!r}", "Rename one: @azent.tool(name=...).")
