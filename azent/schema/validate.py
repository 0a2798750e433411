"""Validate a call: resolve its tool's name, coerce its input, or report its problem.

Values are coerced only here, only if the schema asks for it, and only without loss. Any other error
becomes a `Problem`: a sentence with a path that a model can act on.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from azent.messages import Call, Problem, Specs
from azent.schema.coerce import Coercer
from azent.schema.judge import Judge, judge_for, unusable, verdict
from azent.schema.names import nearest, resolved
from azent.values.lenient_json import literal
from azent.values.strict_json import MAX_DEPTH, plain, repeated_key

_KEYED = re.compile(r"\s*(\w+)\s*[=:]")
_AROUND = ("arguments", "args", "input", "kwargs", "parameters", "params", "tool_input")
_ECHO = {"type", "properties", "required", "title", "description", "additionalProperties"}


def checked(call: Call, specs: Specs, *, trusted: bool = True) -> tuple[Call, tuple[str, ...]]:
    """Return the call, resolved and coerced or with a problem, and the repairs made.

    `trusted` allows the schema's own patterns to be evaluated. A call with a problem is unchanged.
    """
    if call.problem is not None:
        return call, ()
    name = resolved(call.tool, specs)
    if name is None:
        return dataclasses.replace(call, problem=_unknown(call.tool, specs)), ()
    bent = () if name == call.tool else (f"the tool {call.tool!r} was read as {name!r}",)
    made, more = _judged(dataclasses.replace(call, tool=name), specs[name], trusted)
    return made, bent + more


def resolved_tool(name: str, specs: Specs) -> str | None:
    """Return the registered tool name that `name` means, or None unless there is exactly one."""
    return resolved(name, specs)


def arguments_of(name: str, specs: Specs) -> dict[str, Any]:
    """Return the parameters of the tool that `name` means, each with its schema.

    The result is empty if the tool is unknown or its schema malformed.
    """
    tool = resolved_tool(name, specs)
    parameters = specs[tool].get("parameters") if tool else None
    known = (parameters or {}).get("properties")
    if not isinstance(known, Mapping):
        return {}
    return {key: part if isinstance(part, Mapping) else {} for key, part in known.items()}


def _unknown(name: str, specs: Specs) -> Problem:
    near = nearest(name, specs)
    meant = f", did you mean {near!r}?" if near else "."
    offered = ", ".join(map(repr, list(specs)[:50])) or "none"
    return Problem("unknown_tool", f"There is no tool {name!r}{meant} The tools are: {offered}.")


def _judged(call: Call, spec: Mapping[str, Any], trusted: bool) -> tuple[Call, tuple[str, ...]]:
    if (problem := _unreadable(call)) is not None:
        return dataclasses.replace(call, problem=problem), ()
    try:
        return _checked_input(call, spec, trusted)
    except Exception as error:
        return dataclasses.replace(call, problem=unusable(call.tool, error)), ()


def _checked_input(
    call: Call, spec: Mapping[str, Any], trusted: bool
) -> tuple[Call, tuple[str, ...]]:
    parameters = spec.get("accepts") or spec.get("parameters") or _NO_PARAMETERS
    judge = judge_for(parameters, trusted)
    coercer = Coercer(judge)
    given = _as_object(call.tool_input, judge, coercer)
    if not isinstance(given, dict):
        return dataclasses.replace(call, tool_input={}, problem=_no_object(call, given)), ()
    made = plain(coercer.coerced(given, judge.schema, "$"))
    problem = verdict(call.tool, made, judge) or _unencodable(call.tool, made)
    return dataclasses.replace(call, tool_input=made, problem=problem), tuple(coercer.bent)


_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def _as_object(value: Any, judge: Judge, coercer: Coercer) -> Any:
    """Return the arguments as an object, unwrapped from strings, lists and objects."""
    known = judge.schema.get("properties", {})
    if isinstance(value, str):
        value = _decoded(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        coercer.bent.append("$: a list around the arguments was taken away")
        value = value[0]
    if value is None or value == "":
        return {}
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(known) >= 1:
        return _bound(value, judge, coercer)
    if isinstance(value, dict) and (inner := _wrapped(value, known)) is not None:
        coercer.bent.append("$: an object around the arguments was taken away")
        return inner
    if isinstance(value, dict) and _is_echo(value, known):
        coercer.bent.append("$: the arguments were taken out of a copy of the schema")
        return value["properties"]
    return value


def _decoded(text: str) -> Any:
    value: Any = text
    for _ in range(3):
        if not isinstance(value, str) or value.strip()[:1] not in ('"', "{", "["):
            return value
        try:
            value = literal(value)
        except ValueError:
            return value
    return value


def _bound(value: Any, judge: Judge, coercer: Coercer) -> Any:
    """Return a bare value as the only parameter of the tool, or the only required one."""
    known = list(judge.schema.get("properties", {}))
    required = list(judge.schema.get("required", ()))
    names = known if len(known) == 1 else required
    if len(names) != 1 or (len(known) > 1 and not isinstance(value, str)):
        return value
    keyed = _KEYED.match(value) if isinstance(value, str) else None
    if keyed is not None and keyed.group(1) in known:
        return value  # `city=Oslo` is no city
    coercer.bent.append(f"$: a bare value was read as {names[0]!r}")
    return {names[0]: value}


def _wrapped(value: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments inside a key such as "arguments", or None."""
    key = next(iter(value)) if len(value) == 1 else ""
    inner = value.get(key)
    if key not in _AROUND or key in known or not isinstance(inner, dict):
        return None
    return inner if inner and inner.keys() <= set(known) else None


def _is_echo(value: dict[str, Any], known: Mapping[str, Any]) -> bool:
    inner = value.get("properties")
    return (
        isinstance(inner, dict)
        and "properties" not in known
        and value.keys() <= _ECHO
        and inner.keys() <= set(known)
        and not any(isinstance(item, dict) and "type" in item for item in inner.values())
    )


def _no_object(call: Call, given: Any) -> Problem:
    shown = repr(plain(given))[:80]
    message = f"{call.tool}: the input must be an object of named arguments, not {shown} at $"
    return Problem("invalid_argument", message)


def _unreadable(call: Call) -> Problem | None:
    if _depth(call.tool_input) > MAX_DEPTH:
        message = f"{call.tool}: the input is nested deeper than {MAX_DEPTH} levels"
        return Problem("too_deep", message)
    if not _has_names(call.tool_input):
        return Problem("invalid_argument", f"{call.tool}: names of arguments must be texts at $")
    if (key := repeated_key(call.tool_input)) is not None:
        return Problem("malformed", f"{call.tool}: {key!r} is given twice with different values")
    return None


def _has_names(tool_input: Any) -> bool:
    return not isinstance(tool_input, dict) or all(isinstance(name, str) for name in tool_input)


def _depth(value: Any) -> int:
    """Return the nesting depth of a value, `MAX_DEPTH` + 1 at most."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        level = [
            item
            for each in level
            if isinstance(each, (dict, list))
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        depth += 1
    return depth


def _unencodable(tool: str, tool_input: dict[str, Any]) -> Problem | None:
    """Return the problem of an input with half a surrogate pair, which UTF-8 cannot encode."""
    try:
        json.dumps(tool_input, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Problem("invalid_argument", f"{tool}: the input holds half of a character at $")
    return None
