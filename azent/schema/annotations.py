"""Look annotations up, and make them such that pydantic can build their values.

Most are unchanged. What pydantic refuses or builds only in part is replaced: `typing.TypedDict`
(refused before Python 3.12), enums with values that are not JSON (offered by name), `Literal` of
enum members, subclasses of str and numbers, abstract collections.
"""

from __future__ import annotations

import builtins
import collections.abc
import contextlib
import enum
import functools
import operator
import sys
import types
import typing
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic.fields import FieldInfo

_KIN: dict[Any, Any] = {
    typing.LiteralString: str,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Container: list,
    collections.abc.Reversible: list,
    bytearray: bytes,
}
SCALARS = (str, int, float, bool, types.NoneType)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the annotations of one function share: its local names, and the classes replaced so far.

    A class is replaced once, also if it is recursive or used by several parameters.
    """

    names: Mapping[str, Any] = field(default_factory=dict)
    replaced: dict[Any, Any] = field(default_factory=dict)


def text_in(metadata: Any) -> str | None:
    """Return the text of one piece of `Annotated` metadata (str, `Doc`, `Field`), or None."""
    if isinstance(metadata, str):
        return metadata
    for attribute in ("documentation", "description"):
        if isinstance(text := getattr(metadata, attribute, None), str):
            return text
    return None


def buildable(hint: Any, scope: Scope | None = None) -> Any:
    """Return the annotation to give to pydantic.

    Raises TypeError if no JSON value can become such an object, NameError for an unknown name.
    """
    scope = scope or Scope()
    origin = get_origin(hint)
    if hint is type or origin is type:
        raise TypeError("a class cannot be given as JSON")
    if origin is Literal:
        return _literal(hint)
    if origin is Annotated:
        base, *metadata = get_args(hint)
        known = [each for piece in metadata for each in _known(piece)]
        return Annotated[(buildable(base, scope), *known)]
    return _class(hint, scope) if origin is None else _generic(hint, origin, scope)


def has_plain_values(kind: type[enum.Enum]) -> bool:
    """Return whether all values of an enum are JSON scalars."""
    return all(isinstance(member.value, SCALARS) for member in kind)


def _class(hint: Any, scope: Scope) -> Any:
    if type(hint).__module__ == "typing" and typing.is_typeddict(hint):
        return scope.replaced[hint] if hint in scope.replaced else _typed_dict(hint, scope)
    if not isinstance(hint, type) or hasattr(hint, "__get_pydantic_core_schema__"):
        return _KIN.get(hint, hint) if isinstance(hint, collections.abc.Hashable) else hint
    if issubclass(hint, enum.Enum):
        is_known = has_plain_values(hint)
        return hint if is_known else _chosen(hint, {each.name: each for each in hint})
    base = next((kind for kind in (str, int, float) if issubclass(hint, kind)), hint)
    is_derived = base is not hint and hint is not bool
    return Annotated[base, AfterValidator(hint)] if is_derived else _KIN.get(hint, hint)


def _literal(hint: Any) -> Any:
    values = get_args(hint)
    if not any(isinstance(value, enum.Enum) for value in values):
        return hint
    return _chosen(hint, {getattr(value, "value", value): value for value in values})


def _chosen(hint: Any, choices: dict[Any, Any]) -> Any:
    """Return an annotation for one of several objects, given by JSON values."""

    def pick(given: Any) -> Any:
        if given not in choices:
            raise ValueError(f"should be one of {', '.join(map(repr, choices))}")
        return choices[given]

    return Annotated[hint, BeforeValidator(pick), WithJsonSchema({"enum": list(choices)})]


def _typed_dict(hint: Any, scope: Scope) -> Any:
    """Return a typing_extensions copy of a `TypedDict`; keys are set last, as they may recur."""
    kin: Any = typing_extensions.TypedDict(hint.__name__, {})  # type: ignore[misc]  # a variable
    scope.replaced[hint] = kin
    keys = typing.get_type_hints(hint, localns=dict(scope.names), include_extras=True)
    built = {key: buildable(each, scope) for key, each in keys.items()}
    kin.__annotations__ = {key: _with_aliases(each, keys[key]) for key, each in built.items()}
    kin.__required_keys__, kin.__optional_keys__ = hint.__required_keys__, hint.__optional_keys__
    kin.__doc__, kin.__module__ = hint.__doc__, hint.__module__
    return kin


def _with_aliases(built: Any, hint: Any) -> Any:
    """Return the annotation of a key with the aliases that its `Field` declares."""
    metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    for each in metadata:
        if isinstance(each, FieldInfo) and (alias := each.validation_alias or each.alias):
            return Annotated[built, Field(validation_alias=alias)]
    return built


def _generic(hint: Any, origin: Any, scope: Scope) -> Any:
    given = get_args(hint)
    if origin is deque:  # which some versions of pydantic do not build inside of a list
        items = types.GenericAlias(list, (buildable(given[0], scope),))
        return Annotated[items, AfterValidator(deque)]
    kin = _KIN.get(origin, origin)
    inner = tuple(each if each is ... else buildable(each, scope) for each in given)
    if kin is origin and all(new is old for new, old in zip(inner, given, strict=True)):
        return hint
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, inner)
    return kin[inner[0] if len(inner) == 1 else inner]


def _known(metadata: Any) -> list[Any]:
    """Return metadata as pydantic fields, without names and defaults.

    The parameter has its own name and default, and pydantic warns of metadata it cannot use.
    """
    if isinstance(metadata, FieldInfo):
        kept = ("description", "examples", "discriminator", "json_schema_extra", "deprecated")
        said = {name: getattr(metadata, name) for name in kept}
        return [*metadata.metadata, Field(**said)]
    if isinstance(metadata, str) or hasattr(metadata, "documentation"):
        return [Field(description=text_in(metadata))]
    return [metadata]


# ---- names in annotations, looked up where their author wrote them -------------------------------
# Names are looked up as Python does: in the function's closure, among the locals of enclosing
# functions that still run, then in its module.


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An annotation with a name that cannot be found, and the reason."""

    annotation: Any
    reason: str


def resolve(annotations: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function with all names resolved.

    One that cannot be resolved becomes `Unresolved`; nothing is raised.
    """
    home = source_of(function)
    names = {**local_names(home), **_type_parameters(home)}
    try:
        return _evaluated(annotations, home, names)
    except Exception:
        return {name: _resolve_one(each, home, names) for name, each in annotations.items()}


def source_of(function: Any) -> Any:
    """Return the plain function behind a partial, method, wrapper, class or callable instance."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, types.MethodType | staticmethod):
            function = function.__func__
        elif isinstance(function, type):
            return vars(function).get("__init__", function)
        elif hasattr(function, "__globals__") or isinstance(function, types.BuiltinFunctionType):
            return function
        else:
            function = type(function).__call__
            if not hasattr(function, "__globals__"):
                return function


def local_names(function: Any) -> dict[str, Any]:
    """Return the names of a function's closure and of enclosing functions that still run."""
    function = source_of(function)
    if not isinstance(function, types.FunctionType) or "<locals>" not in function.__qualname__:
        return {}
    return {**_running_locals(function), **_closure(function)}


def _closure(function: types.FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a cell that is still empty
            found[name] = cell.cell_contents
    return found


def _running_locals(function: types.FunctionType) -> dict[str, Any]:
    parts = function.__qualname__.split(".<locals>")
    around = {".<locals>".join(parts[:count]) for count in range(1, len(parts))}
    found: dict[str, Any] = {}
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals is function.__globals__ and frame.f_code.co_qualname in around:
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def _resolve_one(annotation: Any, home: Any, names: dict[str, Any]) -> Any:
    try:
        return _evaluated({"it": annotation}, home, names)["it"]
    except Exception as error:
        return Unresolved(annotation, f"{type(error).__name__}: {error}")


def _evaluated(annotations: Mapping[str, Any], home: Any, names: dict[str, Any]) -> dict[str, Any]:
    scope = getattr(home, "__globals__", {})
    found = {name: _looked_up(each, names, scope) for name, each in annotations.items()}
    holder = types.SimpleNamespace(__annotations__=found)
    return typing.get_type_hints(holder, scope, names, include_extras=True)


def _looked_up(annotation: Any, names: dict[str, Any], scope: dict[str, Any]) -> Any:
    """Return the object that a one-word annotation names; most are, and this is fast."""
    if not isinstance(annotation, str):
        return annotation
    return names.get(annotation, scope.get(annotation, getattr(builtins, annotation, annotation)))


def _type_parameters(home: Any) -> dict[str, Any]:
    return {each.__name__: each for each in getattr(home, "__type_params__", ())}
