"""Makes examples of requests and calls from the functions that are offered. Pure.

A small model does what it is shown, so it is shown its own functions: a request that needs one
call, one that needs two, one that needs none, and a near miss, which is about a function and needs
no call either. The values are plausible, not real: those that the schema names (examples, defaults,
enumerations), else what the parameter's name suggests. A function whose values may be wrong (a
pattern, a schema without a type) is left out. The same functions always give the same examples.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from azent.messages import Call, Spec, Specs
from azent.schema.references import inlined

Kind: TypeAlias = Literal["one", "two", "none", "near"]
Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """A request, and the calls that it needs: none, where no function is meant."""

    question: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class _Wording:
    """How the requests of examples are worded in a language."""

    inputs: str
    join: str
    then: str
    none: tuple[str, ...]
    near: str


_WORDINGS = {
    "en": _Wording(
        inputs="{task} ({values})",
        join=", ",
        then="{first}, and then: {second}",
        none=("Write two lines about the sea.", "Thank you, that was all.", "Who are you?"),
        near='What does the word "{word}" mean?',
    ),
    "zh": _Wording(
        inputs="{task}（{values}）",
        join="，",
        then="{first}，然后{second}",
        none=("写两句关于大海的话。", "谢谢，没有别的了。", "你是谁？"),
        near="“{word}”这个词是什么意思？",
    ),
}
_WORDS: dict[str, tuple[str, str]] = {  # by a word of the parameter's name
    "city": ("Oslo", "Lima"),
    "location": ("Oslo", "Lima"),
    "place": ("Oslo", "Lima"),
    "country": ("Norway", "Peru"),
    "name": ("Anna", "Ben"),
    "person": ("Anna", "Ben"),
    "user": ("anna", "ben"),
    "email": ("anna@example.com", "ben@example.com"),
    "date": ("2024-05-01", "2024-06-15"),
    "time": ("09:30", "18:00"),
    "currency": ("EUR", "USD"),
    "language": ("French", "Greek"),
    "unit": ("km", "kg"),
    "url": ("https://example.com", "https://example.org"),
    "path": ("notes.txt", "report.txt"),
    "file": ("notes.txt", "report.txt"),
    "color": ("red", "blue"),
    "expression": ("2 + 3", "7 * 8"),
    "query": ("green tea", "old maps"),
    "title": ("Green tea", "Old maps"),
    "text": ("Good morning", "See you soon"),
    "message": ("Good morning", "See you soon"),
}
_FORMATS = {
    "date": ("2024-05-01", "2024-06-15"),
    "time": ("09:30:00", "18:00:00"),
    "date-time": ("2024-05-01T09:30:00", "2024-06-15T18:00:00"),
    "duration": ("PT30M", "PT2H"),
    "email": ("anna@example.com", "ben@example.com"),
    "uri": ("https://example.com/a", "https://example.org/b"),
    "uuid": ("7b0c6f0e-3d6f-4f0e-9b57-1f6c2a1d5e01", "c2d9a4b8-88f5-4d0a-8a53-6f1b9e7d2c02"),
}
_UNSURE = ("pattern", "allOf", "not", "if", "$ref", "multipleOf", "dependentRequired")


class _Unsure(Exception):
    """No value can be made that is certainly valid; caught within this module."""


def examples(specs: Specs, kinds: Iterable[Kind], language: str = "en") -> tuple[Example, ...]:
    """Return an example of each kind, in order, of one function after another.

    Kinds that cannot be made are left out. A language without wording of its own gets English.
    """
    wording = _WORDINGS.get(language, _WORDINGS["en"])
    usable = [spec for spec in specs.values() if _inputs(spec, 0) is not None]
    numbers: Counter[str] = Counter()  # of examples made of each kind
    made: dict[str, Example] = {}  # by question, so that none is shown twice
    for kind in kinds:
        example = _example(kind, numbers[kind], usable, specs, wording)
        made |= {example.question: example} if example else {}
        numbers[kind] += 1
    return tuple(made.values())


def _example(
    kind: Kind, number: int, usable: Sequence[Spec], specs: Specs, wording: _Wording
) -> Example | None:
    match kind:
        case "none":
            return Example(wording.none[number % len(wording.none)])
        case "near":
            return _near(list(specs.values()), number, wording)
        case "one":
            return _one(usable[number % len(usable)], number % 2, wording) if usable else None
        case "two":
            return _two(usable, number, wording) if usable else None


def _near(specs: Sequence[Spec], number: int, wording: _Wording) -> Example | None:
    """Return a request about the subject of a function, which no function answers."""
    if not specs:
        return None
    word = _words(specs[number % len(specs)]["name"])[-1]
    return Example(wording.near.format(word=word))


def _one(spec: Spec, which: int, wording: _Wording) -> Example:
    inputs = _inputs(spec, which) or {}
    return Example(_request(spec, inputs, wording), (Call(spec["name"], inputs),))


def _two(usable: Sequence[Spec], number: int, wording: _Wording) -> Example:
    """Return two calls, of two functions where there are two, else of one with other values."""
    first = _one(usable[number % len(usable)], 0, wording)
    second = _one(usable[(number + 1) % len(usable)], 1, wording)
    then = second.question[:1].lower() + second.question[1:]
    question = wording.then.format(first=first.question, second=then)
    return Example(question, first.calls + second.calls)


def _request(spec: Spec, inputs: Mapping[str, Any], wording: _Wording) -> str:
    """Return a request in words: what the function does, and the values."""
    task = _task(spec)
    shown = wording.join.join(f"{' '.join(_words(n))} {_value_text(v)}" for n, v in inputs.items())
    return wording.inputs.format(task=task, values=shown) if shown else task


def _task(spec: Spec) -> str:
    described = " ".join(str(spec.get("description", "")).split())
    sentence = described.split(". ")[0].split("。")[0].rstrip(".")
    return sentence if 0 < len(sentence) <= 120 else " ".join(_words(spec["name"])).capitalize()


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words(name: str) -> list[str]:
    """Return the words of a name, however it joins them: getUser_name is get, user, name."""
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    return spaced.replace("_", " ").replace("-", " ").replace(".", " ").split() or [name]


# ---- values --------------------------------------------------------------------------------------


def _inputs(spec: Spec, which: int) -> dict[str, Any] | None:
    """Return values for the required parameters, else the first; None where some may be wrong."""
    try:
        return _object(inlined(spec.get("parameters") or {}), which)
    except _Unsure:
        return None


def _object(schema: Schema, which: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    names = [name for name in properties if name in schema.get("required", ())]
    names = names or list(properties)[:1]
    if set(schema.get("required", ())) - set(names) or schema.get("minProperties", 0) > len(names):
        raise _Unsure
    return {name: _value(name, properties[name], which) for name in names}


def _value(name: str, schema: Any, which: int) -> Any:
    """Return a value that the schema allows. `which`, 0 or 1, chooses between two."""
    if not isinstance(schema, Mapping) or any(key in schema for key in _UNSURE):
        raise _Unsure
    if given := _given(schema):
        return given[which % len(given)]
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return _value(name, _first_not_null(branches), which)
    return _of_kind(name, schema, which)


def _given(schema: Schema) -> list[Any]:
    """Return the values that the schema itself names."""
    if "const" in schema:
        return [schema["const"]]
    named = schema.get("enum") or schema.get("examples")
    if isinstance(named, list) and named:
        return named
    return [schema["default"]] if schema.get("default") not in (None, "", [], {}) else []


def _first_not_null(branches: Sequence[Any]) -> Any:
    """Return the first alternative that is not null."""
    others = (b for b in branches if isinstance(b, Mapping) and b.get("type") != "null")
    return next(others, None)


def _of_kind(name: str, schema: Schema, which: int) -> Any:
    kind = schema.get("type")
    kind = next((k for k in kind if k != "null"), None) if isinstance(kind, list) else kind
    match kind:
        case "boolean":
            return which == 0
        case "integer":
            return int(_number(schema, (3, 7)[which], whole=True))
        case "number":
            return _number(schema, (2.5, 40)[which], whole=False)
        case "string":
            return _string(name, schema, which)
        case "array":
            return _array(name, schema, which)
        case "object":
            return _object(schema, which)
    raise _Unsure


def _number(schema: Schema, wanted: float, *, whole: bool) -> float:
    """Return the wanted number, moved into the bounds of the schema."""
    step = 1 if whole else 0.5
    least = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf) + step)
    most = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf) - step)
    number: float = min(max(wanted, least), most)
    if number < least or (whole and number != int(number)):
        raise _Unsure
    return number


def _string(name: str, schema: Schema, which: int) -> str:
    if "format" in schema:
        return _of_length(_FORMATS.get(schema["format"], ()), schema, which)
    known = [_WORDS[word] for word in reversed(_words(name)) if word in _WORDS]
    made = " ".join(_words(name))
    return _of_length(known[0] if known else (f"some {made}", f"other {made}"), schema, which)


def _of_length(texts: Sequence[str], schema: Schema, which: int) -> str:
    allowed = [
        t for t in texts if schema.get("minLength", 0) <= len(t) <= schema.get("maxLength", 99)
    ]
    if not allowed:
        raise _Unsure
    return allowed[which % len(allowed)]


def _array(name: str, schema: Schema, which: int) -> list[Any]:
    if "prefixItems" in schema:
        return [_value(name, each, which) for each in schema["prefixItems"]]
    count = max(1, schema.get("minItems", 1))
    if count > 2 or schema.get("maxItems", count) < count:
        raise _Unsure
    return [_value(name, schema.get("items"), (which + n) % 2) for n in range(count)]
