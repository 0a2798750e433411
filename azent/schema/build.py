"""Build the Python objects that a function's annotations ask for from JSON arguments.

Pydantic builds them in its strict JSON mode: the arguments are already coerced, and a second
coercion could disagree with the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from azent.errors import AzentError
from azent.messages import Context, Problem, ProblemKind
from azent.schema.introspect import EXTRA, Introspected, adapter_for
from azent.schema.signature import EMPTY, Kind, Parameter

_UNGIVEN: Any = object()
_SUBJECT = re.compile(
    r"^[A-Z]\w+ (?=should )"
)  # "String should ...": the value replaces the subject
_STRUCTURAL = ("literal_error", "enum", "missing", "extra_forbidden")
_DATE = "should be a date as YYYY-MM-DD"
_FORMS = {  # pydantic's messages for these do not say how to write the value
    "date": _DATE,
    "date_from_datetime": _DATE,
    "datetime": "should be a date and a time as YYYY-MM-DDThh:mm:ss",
    "datetime_from_date": "should be a date and a time as YYYY-MM-DDThh:mm:ss",
    "time": "should be a time as hh:mm:ss",
    "time_delta": "should be an ISO 8601 duration such as PT1H30M",
    "uuid": "should be a UUID",
}


class InvalidArguments(AzentError):
    """The error that objects cannot be built; `problem` explains it to the model."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def build(
    introspected: Introspected, tool_input: Mapping[str, Any], context: Any = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments to call a function with.

    An absent parameter is left to the function's default. `context` is passed to the parameters
    annotated with `Context`. Raises InvalidArguments if an argument is missing, unknown or invalid.
    """
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in introspected.signature.parameters:
        value = _value(introspected, parameter, tool_input, context)
        if parameter.kind is Kind.POSITIONAL_ONLY:
            positional.append(parameter.default if value is _UNGIVEN else value)
        elif value is not _UNGIVEN:
            keywords[parameter.name] = value
    return tuple(positional), {**keywords, **_extra(introspected, tool_input)}


def _value(
    introspected: Introspected, parameter: Parameter, given: Mapping[str, Any], context: Any
) -> Any:
    if parameter.is_context:
        return context if isinstance(context, Context) else Context(context)
    if parameter.name in given:
        return _built(introspected, parameter.name, parameter.hint, given[parameter.name])
    if parameter.is_required:
        raise _invalid(introspected, "missing_argument", f"{parameter.name!r} is missing at $")
    if parameter.field is not None:
        return parameter.field.get_default(call_default_factory=True, validated_data={})
    return _UNGIVEN


def _extra(introspected: Introspected, given: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.name for each in introspected.signature.parameters if not each.is_context}
    unknown = given.keys() - names
    hint = introspected.signature.extra
    if unknown and hint is EMPTY:
        takes = ", ".join(map(repr, sorted(names))) or "none"
        sentence = f"there is no argument {min(unknown)!r} (it takes {takes}) at $"
        raise _invalid(introspected, "unexpected_argument", sentence)
    return {
        name: _built(introspected, EXTRA, hint, value, name)
        for name, value in given.items()
        if name in unknown
    }


def _built(
    introspected: Introspected, key: str, hint: Any, value: Any, name: str | None = None
) -> Any:
    """Return one argument as a Python object."""
    adapter = introspected.adapters.get(key)
    if adapter is None:
        adapter = introspected.adapters[key] = adapter_for(hint, introspected.function)
    path = f"$.{name or key}"
    try:
        return adapter.validate_json(json.dumps(value), strict=True, by_alias=True, by_name=True)
    except ValidationError as error:
        kind, sentence = _explained(error, path, value)
        raise _invalid(introspected, kind, sentence) from None
    except Exception as error:  # a validator of the author's own may raise anything
        sentence = f"{type(error).__name__}: {error} at {path}"
        raise _invalid(introspected, "invalid_argument", sentence) from error


def _explained(error: ValidationError, path: str, value: Any) -> tuple[ProblemKind, str]:
    """Return pydantic's first error as a problem kind and a sentence for the model."""
    first = _of_branch_meant(error.errors(include_url=False), value)[0]
    *above, last = first["loc"] or ("",)
    if first["type"] == "missing" and isinstance(last, str):
        return "missing_argument", f"{last!r} is missing at {path}{_steps(above, value)}"
    kind = first["type"].removesuffix("_type").removesuffix("_parsing")
    message = _FORMS.get(kind) or _SUBJECT.sub("", first["msg"].removeprefix("Value error, "))
    where = path + _steps(first["loc"], value)
    return "invalid_argument", f"{_short(first['input'])} {message} at {where}"


def _of_branch_meant(errors: list[ErrorDetails], value: Any) -> list[ErrorDetails]:
    """Return the errors of the first invalid value; in a union, of the closest alternative.

    The closest one has no errors of type, names or tags, and then the fewest errors.
    """
    branches: dict[tuple[Any, ...], list[ErrorDetails]] = {}
    for each in errors:
        branches.setdefault(_branch(each, value), []).append(each)
    first = _branch(errors[0], value)[:-1]
    return min((b for key, b in branches.items() if key[:-1] == first), key=_distance)


def _branch(error: ErrorDetails, value: Any) -> tuple[Any, ...]:
    """Return the path of an error, cut after the name of a union's alternative."""
    taken: list[Any] = []
    for step in error["loc"]:
        if _is_step(value, step):
            value = value[step]
        elif error["type"] != "missing" or step != error["loc"][-1]:
            return (*taken, step)
        taken.append(step)
    return ("",)


def _distance(errors: list[ErrorDetails]) -> tuple[bool, int]:
    """Return whether errors show another alternative of the union, and their number."""
    is_other = any(each["type"] in _STRUCTURAL or each["type"].endswith("_type") for each in errors)
    return is_other, len(errors)


def _is_step(value: Any, step: Any) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _steps(loc: Sequence[int | str], value: Any) -> str:
    """Return a path into a value as text, without pydantic's names of alternatives."""
    steps = ""
    for step in loc:
        if _is_step(value, step):
            shown = f".{step}" if isinstance(value, dict) else f"[{step}]"
            steps, value = f"{steps}{shown}", value[step]
    return steps


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _invalid(introspected: Introspected, kind: ProblemKind, sentence: str) -> InvalidArguments:
    return InvalidArguments(Problem(kind, f"{introspected.name}: {sentence}"))
