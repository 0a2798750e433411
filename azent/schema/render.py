"""Write schemas as text for a prompt, in five styles. The same schemas always give the same text.

    json         the JSON Schema of each function on a line of its own, as chat templates write it
    indented     the same over many lines, as people write it: the most tokens
    brief        name and description alone, on one line
    typescript   an object type for each function, with comments
    python       a signature on one line for each function, with comments: the fewest tokens

Values are written as JSON in all of them (`true`, `null`), because models have to reply in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from azent.errors import SchemaError, UsageError
from azent.messages import Spec, Specs

Style = Literal["json", "indented", "brief", "typescript", "python"]
Schema = Mapping[str, Any]
BRIEF_CHARS = 300


@dataclass(frozen=True, slots=True)
class _Language:
    """The syntax of types in a language. `{}` stands for the inner type."""

    names: Mapping[str, str]
    array: str
    tuple: str
    mapping: str


_TYPESCRIPT = _Language({}, "Array<{}>", "[{}]", "Record<string, {}>")
_PYTHON = _Language(
    {"string": "str", "integer": "int", "number": "float", "boolean": "bool"},
    "list[{}]",
    "tuple[{}]",
    "dict[str, {}]",
)
_STEPS = {"items": "[]", "additionalProperties": ".*"}
_encoder = json.JSONEncoder(ensure_ascii=False)
_FORMATS = {
    "date": "as YYYY-MM-DD",
    "time": "as hh:mm:ss",
    "date-time": "as YYYY-MM-DDThh:mm:ss",
    "duration": "an ISO 8601 duration such as PT1H30M",
    "uuid": "a UUID",
    "email": "an email address",
    "uri": "a URL",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
    "minLength": "length at least",
    "maxLength": "length at most",
    "minItems": "items at least",
    "maxItems": "items at most",
    "pattern": "matching",
}


def render(specs: Specs | Iterable[Spec], style: Style) -> str:
    """Return the functions as text for a prompt, in the given order.

    Raises UsageError for an unknown style, SchemaError for an invalid schema.
    """
    if style not in _STYLES:
        raise UsageError(f"{style!r} is no style of rendering", f"There are {', '.join(_STYLES)}.")
    listed = specs.values() if isinstance(specs, Mapping) else specs
    return "\n".join(_rendered(spec, style) for spec in listed)


def _rendered(spec: Spec, style: Style) -> str:
    try:
        return _STYLES[style](spec)
    except (AttributeError, TypeError, ValueError) as error:  # keywords with values of other kinds
        said = f"the schema of {spec['name']!r} is no JSON Schema: {error}"
        raise SchemaError(said, "Mend it, or leave this function out.") from error


# ---- whole functions -----------------------------------------------------------------------------


def _json(spec: Spec, indent: int | None = None) -> str:
    shown = {key: spec[key] for key in ("name", "description", "parameters") if spec.get(key)}
    return json.dumps(shown, ensure_ascii=False, indent=indent)


def _indented(spec: Spec) -> str:
    return _json(spec, indent=2)


def _brief(spec: Spec) -> str:
    return f"- {spec['name']}: {_line(spec.get('description') or '')}"[:BRIEF_CHARS].rstrip(": ")


def _typescript(spec: Spec) -> str:
    head = [f"// {_line(spec['description'])}"] if spec.get("description") else []
    fields = [line for each in _fields(spec) for line in _typescript_field(*each)]
    more = [f"  [name: string]: {rest};" for rest in _rest(spec, _TYPESCRIPT)]
    types = [line for each in _definitions(spec) for line in _typescript_type(*each)]
    return "\n".join([*head, f"type {spec['name']} = {{", *fields, *more, "};", *types])


def _typescript_field(name: str, schema: Schema, is_required: bool) -> Iterator[str]:
    notes = _notes(name, schema)
    said = [text for path, text in notes if path == name]
    said += [f"(default {_value(schema['default'])})"] if "default" in schema else []
    field = f"  {_key(name)}{'' if is_required else '?'}: {_type(schema, _TYPESCRIPT)};"
    yield f"{field} // {' '.join(said)}" if said else field
    yield from (f"    // {path}: {text}" for path, text in notes if path != name)


def _typescript_type(name: str, schema: Schema) -> Iterator[str]:
    yield f"type {name} = {_type(schema, _TYPESCRIPT)};"
    yield from (f"  // {path}: {text}" for path, text in _notes(name, schema))


def _python(spec: Spec) -> str:
    fields = [_python_field(*each) for each in _fields(spec)]
    more = [f"**more: {rest}" for rest in _rest(spec, _PYTHON)]
    said = [_line(spec["description"])] if spec.get("description") else []
    for name, each, _ in _fields(spec):
        said += [f"{path}: {text}" for path, text in _notes(name, each)]
    for name, each in _definitions(spec):
        said += [f"{name} = {_type(each, _PYTHON)}"]
        said += [f"{path}: {text}" for path, text in _notes(name, each)]
    lines = [f"{spec['name']}({', '.join([*fields, *more])})", *(f"  # {each}" for each in said)]
    return "\n".join(lines)


def _python_field(name: str, schema: Schema, is_required: bool) -> str:
    default = _value(schema["default"]) if "default" in schema else "..."
    field = f"{_key(name)}: {_type(schema, _PYTHON)}"
    return field if is_required else f"{field} = {default}"


_STYLES = {
    "json": _json,
    "indented": _indented,
    "brief": _brief,
    "typescript": _typescript,
    "python": _python,
}


def _fields(spec: Spec) -> list[tuple[str, Schema, bool]]:
    """Return each parameter with its schema and whether it is required."""
    parameters = spec.get("parameters", {})
    required = parameters.get("required", ())
    properties = parameters.get("properties", {})
    return [(name, _schema(each), name in required) for name, each in properties.items()]


def _rest(spec: Spec, language: _Language) -> list[str]:
    """Return the type of additional parameters in a list, empty if none are allowed."""
    more = spec.get("parameters", {}).get("additionalProperties")
    return [_type(more, language)] if more else []


def _definitions(spec: Spec) -> list[tuple[str, Schema]]:
    return list(spec.get("parameters", {}).get("$defs", {}).items())


# ---- types ---------------------------------------------------------------------------------------


def _type(schema: Any, language: _Language) -> str:
    schema = _schema(schema)
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(map(_value, schema["enum"]))
    if "const" in schema:
        return _value(schema["const"])
    if branches := _alternatives(schema):
        return " | ".join(dict.fromkeys(_type(each, language) for each in branches))
    if "allOf" in schema:
        return " & ".join(_type(each, language) for each in schema["allOf"])
    return _plain_type(schema, language)


def _plain_type(schema: Schema, language: _Language) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "any")
    if kind == "array" and "prefixItems" in schema:
        return language.tuple.format(", ".join(_type(e, language) for e in schema["prefixItems"]))
    if kind == "array":
        return language.array.format(_type(schema.get("items", {}), language))
    if kind == "object":
        return _object(schema, language)
    return language.names.get(kind, kind) if isinstance(kind, str) else "any"


def _object(schema: Schema, language: _Language) -> str:
    if not schema.get("properties"):
        return language.mapping.format(_type(schema.get("additionalProperties", {}), language))
    required = schema.get("required", ())
    fields = [
        f"{_key(name)}{'' if name in required else '?'}: {_type(each, language)}"
        for name, each in schema["properties"].items()
    ]
    return f"{{{', '.join(fields)}}}"


def _alternatives(schema: Schema) -> list[Any]:
    """Return the alternatives of a schema; an empty list if it has none."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and kinds:
        return [{**schema, "type": kind} for kind in kinds]
    return list(schema.get("anyOf") or schema.get("oneOf") or ())


# ---- words ---------------------------------------------------------------------------------------


def _notes(path: str, schema: Any) -> list[tuple[str, str]]:
    """Return the descriptions and bounds inside a schema, each with its path."""
    schema = _schema(schema)
    own = _said(schema)
    inner = [note for step, each in _parts(schema) for note in _notes(path + step, each)]
    notes = [(path, own)] if own else []
    return list(dict.fromkeys(notes + inner))


def _parts(schema: Schema) -> Iterator[tuple[str, Any]]:
    """Yield the direct subschemas, each with its step of the path."""
    for key, value in schema.items():
        if key == "properties":
            yield from ((f".{name}", each) for name, each in value.items())
        elif key == "prefixItems":
            yield from ((f"[{index}]", each) for index, each in enumerate(value))
        elif key in ("anyOf", "oneOf", "allOf"):
            yield from (("", each) for each in value)
        elif key in _STEPS:
            yield _STEPS[key], value


def _said(schema: Schema) -> str:
    """Return the description of a schema, then in brackets the bounds that its type lacks."""
    bounds = [f"{_BOUNDS[key]} {_value(value)}" for key, value in schema.items() if key in _BOUNDS]
    if "prefixItems" in schema:
        bounds = []  # the type shows how many there are
    if form := _FORMATS.get(schema.get("format", ""), ""):
        bounds.append(form)
    text = _line(schema.get("description", ""))
    return " ".join(filter(None, (text, f"({', '.join(bounds)})" if bounds else "")))


def _schema(schema: Any) -> Schema:
    """Return a schema as an object; `true` becomes an empty one."""
    return schema if isinstance(schema, dict) else {}


def _line(text: str) -> str:
    return " ".join(text.split())


def _key(name: str) -> str:
    return name if name.isidentifier() else _value(name)


def _value(value: Any) -> str:
    return _encoder.encode(value)
