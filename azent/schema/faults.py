"""Describe validation errors in sentences that a model can act on, with paths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from functools import cache
from typing import TYPE_CHECKING, Any

from azent.messages import Problem, ProblemKind
from azent.schema.unions import NO_TAG

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


Fault = tuple[ProblemKind, str]

_KINDS: dict[str, ProblemKind] = {
    "required": "missing_argument",
    NO_TAG: "missing_argument",
    "additionalProperties": "unexpected_argument",
    "unevaluatedProperties": "unexpected_argument",
}
_ORDER = ("missing_argument", "unexpected_argument", "invalid_argument")
_MOST_FAULTS = 8


def problem_of(tool: str, errors: Sequence[ValidationError]) -> Problem:
    """Return the problem for validation errors: the most serious kind, and a sentence for each."""
    faults = sorted(map(_fault, errors[:_MOST_FAULTS]), key=lambda fault: _ORDER.index(fault[0]))
    return Problem(faults[0][0], f"{tool}: " + "; ".join(sentence for _, sentence in faults))


def _fault(error: ValidationError) -> Fault:
    if error.context:
        return _of_alternatives(error)
    kind = _KINDS.get(str(error.validator), "invalid_argument")
    say = _SENTENCES.get(str(error.validator))
    said = say(error) if say else _short(error.message)
    return kind, f"{said} at {error.json_path}"


# ---- several alternatives that are as near as each other -----------------------------------------


def _of_alternatives(error: ValidationError) -> Fault:
    """Return the fault of a union: how to satisfy each of the closest alternatives."""
    groups = _by_alternative(error)
    firsts = [group[0] for group in groups]
    if all(len(group) == 1 for group in groups) and len({_path(each) for each in firsts}) == 1:
        if all(each.validator == "type" for each in firsts):
            kinds = [_article(each.validator_value) for each in firsts]
            return _invalid(firsts[0], " or ".join(dict.fromkeys(kinds)))
        if all(each.validator in ("enum", "const") for each in firsts):
            choices = [choice for each in firsts for choice in _choices(each)]
            return _invalid(firsts[0], f"one of {_quoted_list(choices)}")
    faults = [[_fault(each) for each in group] for group in groups]
    sentences = [" and ".join(sentence for _, sentence in group) for group in faults]
    kind = min((kind for group in faults for kind, _ in group), key=_ORDER.index)
    return kind, ", or ".join(list(dict.fromkeys(sentences))[:4])


def _by_alternative(error: ValidationError) -> list[list[ValidationError]]:
    """Return the errors of each alternative; a wrong type hides other errors at its path."""
    groups: dict[Any, list[ValidationError]] = {}
    for each in error.context or ():
        groups.setdefault(each.relative_schema_path[0], []).append(each)
    return [_without_echoes(group) for group in groups.values()]


def _without_echoes(group: list[ValidationError]) -> list[ValidationError]:
    wrong = {_path(each) for each in group if each.validator == "type"}
    return [each for each in group if each.validator == "type" or _path(each) not in wrong]


def _path(error: ValidationError) -> tuple[Any, ...]:
    return tuple(error.absolute_path)


def _choices(error: ValidationError) -> list[Any]:
    value: Any = error.validator_value
    return [value] if error.validator == "const" else list(value)


def _invalid(error: ValidationError, wanted: str) -> Fault:
    return "invalid_argument", f"{_quoted(error.instance)} is not {wanted} at {error.json_path}"


# ---- a sentence for each keyword -----------------------------------------------------------------


def _missing(error: ValidationError) -> str:
    given = error.instance if isinstance(error.instance, dict) else {}
    required: Any = error.validator_value
    absent = [name for name in required if name not in given]
    this = next((name for name in absent if repr(name) in error.message), absent[0])
    return f"{this!r} is missing"


def _unexpected(error: ValidationError) -> str:
    known = list(error.schema.get("properties", ())) if isinstance(error.schema, Mapping) else []
    given: Any = error.instance
    extra = [name for name in given if name not in known]
    names = ", ".join(repr(name) for name in extra[:5])
    takes = f"it takes {', '.join(map(repr, known[:20]))}" if known else "it takes none"
    return f"there is no argument {names} ({takes})"


def _formatted(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    return f"{_quoted(error.instance)} is not {ASKED_FOR.get(wanted, wanted)}"


def _article(kind: Any) -> str:
    kinds = [kind] if isinstance(kind, str) else list(kind)
    return " or ".join(
        "null" if each == "null" else f"{'an' if each[0] in 'aeiou' else 'a'} {each}"
        for each in kinds
    )


def _quoted(value: Any) -> str:
    return _short(repr(value) if isinstance(value, str) else json.dumps(value, default=str))


def _quoted_list(values: Any) -> str:
    return ", ".join(_quoted(each) for each in list(values)[:20])


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


_SENTENCES: dict[str, Callable[[ValidationError], str]] = {
    "type": lambda error: f"{_quoted(error.instance)} is not {_article(error.validator_value)}",
    "enum": lambda error: (
        f"{_quoted(error.instance)} is not one of " + _quoted_list(error.validator_value)
    ),
    "const": lambda error: f"{_quoted(error.instance)} is not {_quoted(error.validator_value)}",
    "format": _formatted,
    "required": _missing,
    "additionalProperties": _unexpected,
    "minimum": lambda error: f"{_quoted(error.instance)} is less than {error.validator_value}",
    "maximum": lambda error: f"{_quoted(error.instance)} is more than {error.validator_value}",
    "minItems": lambda error: f"it needs {error.validator_value} items or more",
    "maxItems": lambda error: f"it takes {error.validator_value} items or fewer",
}


# ---- the formats of texts ------------------------------------------------------------------------
# The checks accept the standard's forms and those that servers usually accept: a time without
# seconds or zone, a URI with letters of any language.

_DATE = r"(\d{4}-\d\d-\d\d)"
_TIME = r"(\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?:[Zz]|[+-][0-2]\d:?[0-5]\d)?"
_PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}[Tt ]{_TIME}",
    "email": r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)*",
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?[^\s<>\"{}|\\^`/][^\s<>\"{}|\\^`]*"
    r"|[A-Za-z][A-Za-z0-9+.-]*:///?[^\s<>\"{}|\\^`/][^\s<>\"{}|\\^`]*",
}
_COMPILED = {name: re.compile(pattern, re.ASCII) for name, pattern in _PATTERNS.items()}
ASKED_FOR = {
    "date": "a date as YYYY-MM-DD",
    "time": "a time as hh:mm:ss",
    "date-time": "a date and a time as YYYY-MM-DDThh:mm:ssZ",
    "email": "an email address",
    "uuid": "a UUID",
    "uri": "a URI such as https://example.com/page",
}


def has_format(name: str, value: Any) -> bool:
    """Return whether a value has the format; a value that is no string always has."""
    if not isinstance(value, str):
        return True
    found = _COMPILED[name].fullmatch(value)
    return found is not None and _is_real(name, found.groups())


def _is_real(name: str, parts: tuple[str, ...]) -> bool:
    """Return whether the date and the time exist; a leap second is accepted."""
    try:
        if name in ("date", "date-time"):
            date.fromisoformat(parts[0])
        if name in ("time", "date-time"):
            time.fromisoformat(re.sub(r":60$", ":59", parts[-1]))
    except ValueError:
        return False
    return True


@cache
def format_checker() -> Any:
    """Return jsonschema's checker of these formats; it accepts any other format."""
    import jsonschema

    checker = jsonschema.FormatChecker(formats=())
    for name in _PATTERNS:
        checker.checks(name)(_check(name))
    return checker


def _check(name: str) -> Callable[[Any], bool]:
    return lambda value: has_format(name, value)
