"""Describe validation errors in sentences that a model can act on, with paths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from azent.messages import Problem, ProblemKind
from azent.schema.unions import NO_TAG

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


class Fault(NamedTuple):
    """An error in words; `path` is empty where the sentence names its paths itself."""

    kind: ProblemKind
    sentence: str
    path: str


_KINDS: dict[str, ProblemKind] = {
    "required": "missing_argument",
    NO_TAG: "missing_argument",
    "additionalProperties": "unexpected_argument",
    "unevaluatedProperties": "unexpected_argument",
}
_ORDER = ("missing_argument", "unexpected_argument", "invalid_argument")
_MOST_FAULTS = 8
_MOST_ALTERNATIVES = 4


def problem_of(tool: str, errors: Sequence[ValidationError]) -> Problem:
    """Return the problem for validation errors: the most serious kind, and a sentence for each."""
    faults = sorted(map(_fault, errors[:_MOST_FAULTS]), key=lambda fault: _ORDER.index(fault.kind))
    return Problem(faults[0].kind, f"{tool}: {_joined(faults, '; ')}")


def _fault(error: ValidationError) -> Fault:
    if error.context:
        return _of_alternatives(error)
    kind = _KINDS.get(str(error.validator), "invalid_argument")
    say = _SENTENCES.get(str(error.validator))
    return Fault(kind, say(error) if say else _short(error.message), error.json_path)


def _joined(faults: Sequence[Fault], separator: str) -> str:
    """Return the sentences of faults, those at the same path together, each path written once."""
    by_path: dict[str, list[str]] = {}
    for fault in faults:
        by_path.setdefault(fault.path, []).append(fault.sentence)
    return separator.join(
        _at(path, (" and " if path else separator).join(dict.fromkeys(sentences)))
        for path, sentences in by_path.items()
    )


def _at(path: str, sentence: str) -> str:
    return f"{sentence} at {path}" if path else sentence


# ---- several alternatives that are as near as each other -----------------------------------------


def _of_alternatives(error: ValidationError) -> Fault:
    """Return the fault of a union: how to satisfy each of the closest alternatives."""
    groups = _by_alternative(error)
    if wanted := _wanted(groups):
        first = groups[0][0]
        return Fault(
            "invalid_argument", f"{_quoted(first.instance)} is not {wanted}", first.json_path
        )
    faults = [[_fault(each) for each in group] for group in groups]
    kind = min((fault.kind for group in faults for fault in group), key=_ORDER.index)
    paths = {fault.path for group in faults for fault in group}
    path = paths.pop() if len(paths) == 1 else ""
    shown = [[fault._replace(path="") for fault in group] if path else group for group in faults]
    ways = dict.fromkeys(_joined(group, " and ") for group in shown)
    return Fault(kind, ", or ".join(list(ways)[:_MOST_ALTERNATIVES]), path)


def _wanted(groups: Sequence[Sequence[ValidationError]]) -> str:
    """Return what the alternatives ask of the same value, if each asks for one thing; else ""."""
    firsts = [group[0] for group in groups]
    if any(len(group) > 1 for group in groups) or len(set(map(_path, firsts))) > 1:
        return ""
    if all(each.validator in ("enum", "const") for each in firsts):
        return f"one of {_quoted_list([choice for each in firsts for choice in _choices(each)])}"
    if all(each.validator in ("type", "format") for each in firsts):
        return " or ".join(dict.fromkeys(map(_form, firsts)))
    return ""


def _form(error: ValidationError) -> str:
    """Return the type or the format that an error asks for, with its article."""
    wanted: Any = error.validator_value
    return _article(wanted) if error.validator == "type" else ASKED_FOR.get(wanted, wanted)


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
    "not": lambda error: f"{_quoted(error.instance)} is not allowed",
    "const": lambda error: f"{_quoted(error.instance)} is not {_quoted(error.validator_value)}",
    "format": lambda error: f"{_quoted(error.instance)} is not {_form(error)}",
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
