"""Rewrite schemas of clients and tool servers as JSON Schema 2020-12."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from azent.errors import SchemaError
from azent.schema.discriminators import discriminated
from azent.schema.references import (
    DEFINITIONS,
    LIST,
    NAMED,
    ONE,
    check_ends,
    check_foreign,
    check_size,
    inlined,
)

_HINT = 'It has to be a JSON Schema: {"type": "object", "properties": {...}}.'


def object_schema(given: Any) -> Any:
    """Return a schema of parameters in JSON Schema 2020-12, with type object if it is implied.

    A schema that needs no change is the same object; one that cannot be fixed is unchanged.
    """
    schema = modern({} if given is None or given == [] or given is True else given)
    schema = discriminated(schema) if isinstance(schema, Mapping) else schema
    if not isinstance(schema, Mapping) or schema.get("type") == "object":
        return schema
    kinds = schema.get("type", [])
    is_object = isinstance(kinds, list) and (not kinds or "object" in kinds)
    is_nothing = kinds in ("null", ["null"])
    is_plain = is_object or is_nothing or bool(schema.get("properties"))
    return {**schema, "type": "object"} if is_plain else schema


def foreign_parameters(name: str, given: Any) -> dict[str, Any]:
    """Return the validated JSON Schema of a function's parameters; no parameters for None.

    Raises SchemaError if it is invalid, not of an object, or has an external reference. Patterns
    are not checked: those of third parties are never evaluated.
    """
    check_foreign(name, {} if given is True else given or {})
    try:
        schema = _without_reference(_mapping(object_schema(given)))
        return _checked({"type": "object", "properties": {}, **schema})
    except SchemaError as error:
        said = f"the parameters of {name!r} are no JSON Schema: {error}"
        raise SchemaError(said, _HINT) from error


def _checked(schema: dict[str, Any]) -> dict[str, Any]:
    import jsonschema

    try:
        no_formats = jsonschema.FormatChecker(formats=())
        jsonschema.Draft202012Validator.check_schema(schema, format_checker=no_formats)
    except (jsonschema.SchemaError, RecursionError) as error:
        raise SchemaError(getattr(error, "message", "it is nested too deeply")) from error
    if schema["type"] != "object":
        raise SchemaError(f"they must be of the type 'object', not {schema['type']!r}")
    inlined(schema)  # refuses what is too large with its references
    check_ends(schema)
    return schema


def _without_reference(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with a `$ref` or `allOf` at its root resolved."""
    if not schema.keys() & {"$ref", "allOf"}:
        return schema
    return inlined({key: value for key, value in schema.items() if key != "type"})


def _mapping(schema: Any) -> Mapping[str, Any]:
    if isinstance(schema, Mapping):
        return schema
    raise SchemaError(f"it is {type(schema).__name__}")


# ---- schemas of older drafts and other dialects, rewritten ---------------------------------------
# Servers and clients send forms of older drafts (`exclusiveMinimum: true`), of OpenAPI
# (`nullable`), of other languages (`"type": "str"`, PHP's `"properties": []`), and null where they
# have nothing to say. Each function below rewrites one kind of these; all else stays as it is, to
# be refused by whoever checks the schema. Enumerated values, defaults and examples are data and are
# not touched.

Node = dict[str, Any]

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_TYPE_NAMES = {
    **{name: name for name in TYPES},
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("int", "long", "int32", "int64"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    "bool": "boolean",
    **dict.fromkeys(("list", "tuple"), "array"),
    **dict.fromkeys(("dict", "map"), "object"),
    **dict.fromkeys(("none", "nil"), "null"),
}
_DATA = frozenset({"const", "default", "enum", "examples", "example"})
_SCHEMAS_BY_NAME = NAMED | DEFINITIONS
_APPLIED = frozenset({"anyOf", "oneOf", "allOf", "$ref", "const"})
_NAMES_OF_SCHEMAS = ("$id", "$anchor", "$dynamicAnchor")
_OWN = "azent:"
_BOOLEANS = {"true": True, "false": False}
_FLAGS = frozenset({"uniqueItems", "nullable", "x-nullable", "required"})
# Formats that some write where a type belongs.
_FORMATS = {"date": "date", "datetime": "date-time", "date-time": "date-time", "time": "time"}
_FORMATS |= {"email": "email", "uuid": "uuid", "uri": "uri", "url": "uri"}
_NUMERIC = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
)
_DECIMAL = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?", re.ASCII)
_KINDS_OF_NOTES: dict[str, type] = {
    **dict.fromkeys(("title", "description", "$comment", "format", "pattern", "$schema"), str),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), bool),
    "examples": list,
}


def modern(schema: Any) -> Any:
    """Return the schema in JSON Schema 2020-12; the same object if nothing changes.

    Raises SchemaError for a schema that is too deep or too large.
    """
    if not isinstance(schema, Mapping):
        return schema
    check_size(schema)
    made = _schema(schema)
    return schema if made == schema else made


def _schema(node: Any) -> Any:
    if not isinstance(node, Mapping):
        return {} if node is None or node == [] else node
    if _is_simple(node):
        return node
    made = {
        key: _value(key, value)
        for key, value in _with_lifted_required(node).items()
        if value is not None or key in _DATA - {"enum"}
    }
    for rewritten in _REWRITES:
        made = rewritten(made)
    return made


def _is_simple(node: Mapping[str, Any]) -> bool:
    """Return whether a schema has only a type and a description, and so needs no rewriting."""
    is_short = node.keys() <= {"type", "description"} and node.get("type") in TYPES
    return is_short and isinstance(node.get("description", ""), str)


def _value(key: str, value: Any) -> Any:
    """Return the value of a keyword with its subschemas rewritten."""
    if key in _FLAGS and isinstance(value, str):
        return _BOOLEANS.get(value.casefold(), value)
    if key == "components" and isinstance(value, Mapping):  # OpenAPI's definitions
        return {**value, "schemas": _value("$defs", value.get("schemas", {}))}
    if key in _SCHEMAS_BY_NAME:
        value = {} if value == [] else value
        known = isinstance(value, Mapping)
        return {name: _schema(each) for name, each in value.items()} if known else value
    if key in LIST and isinstance(value, list):
        return [_schema(each) for each in value] or ({} if key == "items" else [])
    if key in LIST - ONE and isinstance(value, Mapping):
        return [_schema(value)]
    if key in ONE:
        return _schema(_BOOLEANS.get(value, value) if isinstance(value, str) else value)
    return value


# ---- one kind of form each: a schema in, whose inner schemas are rewritten already ---------------


def _with_lifted_required(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with draft 3's `required: true` of properties as a `required` list."""
    parts = node.get("properties")
    given = parts.items() if isinstance(parts, Mapping) else ()
    names = [name for name, part in given if isinstance(part, dict) and _is_required(part)]
    return {**node, "required": [*_listed(node.get("required")), *names]} if names else node


def _is_required(part: Node) -> bool:
    return _BOOLEANS.get(str(part.get("required")).casefold(), False)


def _required(node: Node) -> Node:
    """Return the schema with `required` as a list of names, each with a property."""
    given, known = node.get("required"), node.get("properties", {})
    if isinstance(given, Mapping) and all(isinstance(each, bool) for each in given.values()):
        given = [name for name, is_needed in given.items() if is_needed]
    names = _listed(given)
    is_nothing = isinstance(given, list) and not names and node["required"] != []
    if isinstance(given, bool) or is_nothing:
        return _without(node, "required")
    if not names or not isinstance(known, dict) or not all(isinstance(n, str) for n in names):
        return node
    if isinstance(given, str) and given not in known:
        return node
    is_whole = bool(known) and not node.keys() & (_APPLIED | {"patternProperties"})
    unknown: Node = {n: {} for n in names if n not in known} if is_whole else {}
    more = {"properties": {**known, **unknown}} if unknown else {}
    return {**node, **more, "required": list(dict.fromkeys(names))}


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [each for each in value if each is not None]
    return [value] if isinstance(value, str) else []


def _types(node: Node) -> Node:
    """Return the schema with standard type names; "any" is removed, a format becomes one."""
    if not isinstance(node.get("type"), str | list):
        return node
    given = node["type"].split("|") if isinstance(node["type"], str) else node["type"]
    names = [_type(each) for each in given]
    if not names or "any" in names:
        return _without(node, "type")
    if len(names) == 1 and names[0] in _FORMATS:
        return {"format": _FORMATS[names[0]], **node, "type": "string"}
    unique = [name for at, name in enumerate(names) if name not in names[:at]]
    return {**node, "type": unique if isinstance(node["type"], list) else _one_or_more(unique)}


def _type(name: Any) -> Any:
    """Return the standard name of a type; an unknown name is unchanged, to be refused later."""
    if not isinstance(name, str):
        return "null" if name is None else name
    folded = name.strip().casefold()
    if folded in ("any", ""):
        return "any"
    return folded if folded in _FORMATS else _TYPE_NAMES.get(folded, name)


def _one_or_more(names: list[Any]) -> Any:
    return names[0] if len(names) == 1 else names


def _bounds(node: Node) -> Node:
    """Return the schema with numeric bounds; draft 4's boolean `exclusiveMinimum` is rewritten."""
    made = {key: _number(value) if key in _NUMERIC else value for key, value in node.items()}
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        is_excluded = made.get(exclusive)
        if isinstance(is_excluded, bool):
            del made[exclusive]
            if is_excluded and bound in made:
                made[exclusive] = made.pop(bound)
    return made


def _number(value: Any) -> Any:
    """Return a bound written as text ("0", "true") as its value."""
    if not isinstance(value, str):
        return value
    if _DECIMAL.fullmatch(value.strip()):
        return float(value) if "." in value else int(value)
    return _BOOLEANS.get(value.casefold(), value)


def _tuples(node: Node) -> Node:
    """Return the schema with a list under `items` moved to `prefixItems`."""
    if not isinstance(node.get("items"), list):
        return node
    rest = _without(node, "items", "additionalItems")
    after = {"items": node["additionalItems"]} if "additionalItems" in node else {}
    return {**rest, "prefixItems": node["items"], **after}


def _dependencies(node: Node) -> Node:
    """Return the schema with `dependencies` split into the two keywords that replaced it."""
    given = node.get("dependencies")
    if not isinstance(given, Mapping):
        return node
    names = {key: each for key, each in given.items() if isinstance(each, list)}
    schemas = {key: _schema(each) for key, each in given.items() if key not in names}
    parts = {"dependentRequired": names, "dependentSchemas": schemas}
    return {**_without(node, "dependencies"), **{k: part for k, part in parts.items() if part}}


def _choices(node: Node) -> Node:
    """Return the schema with the `enum` of an array moved to its items; without an empty one."""
    choices, items = node.get("enum"), node.get("items", {})
    if isinstance(choices, str):
        return {**node, "enum": [choices]}
    if choices == []:
        return _without(node, "enum")
    if node.get("type") != "array" or not isinstance(choices, list) or not isinstance(items, dict):
        return node
    if any(isinstance(choice, list) for choice in choices):
        return node
    return {**_without(node, "enum"), "items": {**items, "enum": choices}}


def _nullable(node: Node) -> Node:
    """Return the schema with OpenAPI's `nullable` rewritten as type null."""
    if True not in (node.get("nullable"), node.get("x-nullable")):
        return node
    rest = _without(node, "nullable", "x-nullable")
    if rest.keys() & _APPLIED:
        notes: Node = {key: rest.pop(key) for key in ("description", "default") if key in rest}
        return {"anyOf": [rest, {"type": "null"}], **notes}
    if isinstance(choices := rest.get("enum"), list) and None not in choices:
        rest["enum"] = [*choices, None]
    kinds = rest.get("type")
    listed = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(listed, list) and "null" not in listed:
        rest["type"] = [*listed, "null"]
    return rest


def _notes(node: Node) -> Node:
    """Return the schema without invalid annotations and empty lists of alternatives.

    Names of schemas are removed too, because references are paths here. Azent's own keywords are
    removed, as others must not set them.
    """
    return {
        key: value
        for key, value in node.items()
        if not (key in _KINDS_OF_NOTES and not isinstance(value, _KINDS_OF_NOTES[key]))
        and not (key in LIST - {"items"} and value == [])
        and key not in _NAMES_OF_SCHEMAS
        and not key.startswith(_OWN)
    }


def _without(node: Node, *keys: str) -> Node:
    return {key: value for key, value in node.items() if key not in keys}


_REWRITES: tuple[Callable[[Node], Node], ...] = (
    _types,
    _required,
    _bounds,
    _tuples,
    _dependencies,
    _choices,
    _nullable,
    _notes,
)
