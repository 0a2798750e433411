"""Replace the references in a JSON Schema, and limit the size of third parties' schemas.

Small models fail at a `$ref`, and so do grammars for constrained decoding. A reference is replaced
by its target, unless the target is recursive or the copies would make the schema much larger.
Schemas may come from anywhere: nothing is fetched, and depth and size are limited.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from azent.errors import SchemaError

# ---- the keywords of JSON Schema that hold schemas -----------------------------------------------

ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
LIST = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
DEFINITIONS = frozenset({"$defs", "definitions"})


def children(node: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the direct subschemas of a schema, except its definitions."""
    for key, value in node.items():
        if key in LIST and isinstance(value, list):
            yield from value
        elif key in NAMED and isinstance(value, Mapping):
            yield from value.values()
        elif key in ONE:
            yield value


# ---- references, replaced by what they refer to --------------------------------------------------

_MOST_TARGETS = 1_000
_MOST_COPIED = 500  # nodes that inlining may add before the references are left in place

_DROPPED = DEFINITIONS | {"title", "$schema", "$id", "id", "$anchor", "$comment", "$vocabulary"}
_APPLICATORS = ONE | LIST | NAMED
_ABOUT_THE_SAME = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
_NOTES = frozenset({"description", "default", "examples", "deprecated", "readOnly", "writeOnly"})


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with references replaced by their targets, and without titles.

    Recursive parts stay references into `$defs`. A `const` becomes an `enum` of one value. Raises
    SchemaError for a reference to outside or to nothing, or if the schema is too deep or large.
    """
    check_size(schema)
    check_shape(schema)
    try:
        made = inlined_own(schema)
    except RecursionError:  # a long chain of references
        raise too_large() from None
    check_size(made)
    return made


def inlined_own(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same as `inlined` for a schema made by azent, without checks of depth and size."""
    targets = _targets(schema)
    kept = _recursive(targets)
    if _growth(schema, targets, kept) > _MOST_COPIED:
        kept = kept | _repeated(schema, targets)
    return _Inliner(targets, _names(kept)).whole(schema)


def without_references(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an inlined schema with recursive parts reduced to their type."""
    types = {
        f"#/$defs/{_escaped(name)}": {key: each[key] for key in ("type",) if key in each}
        for name, each in schema.get("$defs", {}).items()
    }
    copied = _Inliner(types, {}).copy(schema)
    return dict(copied)


def check_ends(schema: Mapping[str, Any]) -> None:
    """Raise SchemaError if a reference leads to itself at the same value, or to nothing.

    `{"not": {"$ref": "#"}}` would be evaluated forever.
    """
    onward = {ref: set(_in_place(target)) for ref, target in _targets(schema).items()}
    if any(ref in _reachable(ref, onward) for ref in onward):
        raise SchemaError(
            "a schema refers to itself without end",
            "Put a property or an item between a type and the same type inside of it.",
        )


class _Inliner:
    """A copier of a schema: `targets` by reference, `names` of the references that stay."""

    def __init__(self, targets: Mapping[str, Any], names: Mapping[str, str]) -> None:
        self.targets = targets
        self.names = names

    def whole(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        copy: dict[str, Any] = self.copy(schema)
        definitions = {name: self.copy(self.targets[ref]) for ref, name in self.names.items()}
        return {**copy, "$defs": definitions} if definitions else copy

    def copy(self, node: Any) -> Any:
        if not isinstance(node, Mapping):
            return node
        rest = {key: self.value(key, each) for key, each in node.items() if _is_kept(key, each)}
        if "const" in rest:
            rest["enum"] = [rest.pop("const")]
        if "$ref" in node:
            del rest["$ref"]
            return self.referred(node["$ref"], rest)
        return _without_lone_all_of(rest)

    def referred(self, ref: str, beside: dict[str, Any]) -> dict[str, Any]:
        if ref in self.names:
            return {"$ref": f"#/$defs/{_escaped(self.names[ref])}", **beside}
        target = self.copy(self.targets[ref])
        if isinstance(target, bool):
            target = {} if target else {"not": {}}
        return _merged(target, beside)

    def value(self, key: str, value: Any) -> Any:
        if key == "discriminator" and isinstance(value, Mapping):
            return {name: each for name, each in value.items() if name != "mapping"}
        if key in LIST and isinstance(value, list):
            return [self.copy(each) for each in value]
        if key in NAMED and isinstance(value, Mapping):
            return {name: self.copy(each) for name, each in value.items()}
        return self.copy(value) if key in ONE else value


def _is_kept(key: str, value: Any) -> bool:
    return key not in _DROPPED or (key == "title" and not isinstance(value, str))


def _merged(target: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    """Return a target merged with the keywords beside its reference, whose annotations win.

    Keywords that depend on their neighbours (`additionalProperties`) are combined by `allOf`.
    """
    said = beside.keys() - _NOTES
    if said & target.keys() or said & _APPLICATORS:
        return {"allOf": [target], **beside}
    return {**target, **beside}


def _without_lone_all_of(node: dict[str, Any]) -> dict[str, Any]:
    branches = node.get("allOf", ())
    if len(branches) != 1 or not isinstance(branches[0], dict):
        return node
    return _merged(branches[0], {key: each for key, each in node.items() if key != "allOf"})


# ---- references ----------------------------------------------------------------------------------


def _targets(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target of each reference in a schema, direct or indirect."""
    targets: dict[str, Any] = {}
    waiting = list(_references(schema))
    while waiting:
        ref = waiting.pop()
        if len(targets) > _MOST_TARGETS:
            raise too_large()
        if ref not in targets:
            targets[ref] = looked_up(schema, ref)
            waiting.extend(_references(targets[ref]))
    return targets


def leading_to(schema: Mapping[str, Any], holds: Callable[[Any], bool]) -> set[str]:
    """Return the references that lead, at once or through others, to a target that `holds`."""
    targets = _targets(schema)
    users: dict[str, set[str]] = {ref: set() for ref in targets}
    for ref, target in targets.items():
        for inner in _references(target):
            users[inner].add(ref)
    found = {ref for ref, target in targets.items() if holds(target)}
    waiting = list(found)
    while waiting:
        more = users[waiting.pop()] - found
        found |= more
        waiting += more
    return found


def _references(node: Any) -> Iterator[str]:
    """Yield the references in a schema, except those in its definitions."""
    if not isinstance(node, Mapping):
        return
    for key in ("$dynamicRef", "$recursiveRef"):
        if key in node:
            raise SchemaError(f"a schema uses {key}, which is not supported; use $ref")
    if "$ref" in node:
        yield _checked(node["$ref"])
    for child in children(node):
        yield from _references(child)


def _in_place(node: Any) -> Iterator[str]:
    """Yield the references in a schema that apply to the same value as the schema."""
    if not isinstance(node, Mapping):
        return
    if "$ref" in node:
        yield node["$ref"]
    for key in _ABOUT_THE_SAME & node.keys():
        inner = node[key]
        parts = inner.values() if isinstance(inner, Mapping) and key in NAMED else [inner]
        for part in parts:
            for each in part if isinstance(part, list) else [part]:
                yield from _in_place(each)


def _checked(ref: Any) -> str:
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        raise SchemaError(
            f"a schema refers to {ref!r}, outside itself",
            "Put what it refers to under $defs, and refer to it as #/$defs/NAME.",
        )
    return ref


def steps_of(ref: str) -> tuple[str, ...]:
    """Return the steps of a reference (a JSON Pointer, RFC 6901), unescaped; () for the whole."""
    steps = ref.split("/")[1:]
    return tuple(unquote(step).replace("~1", "/").replace("~0", "~") for step in steps)


def looked_up(schema: Mapping[str, Any], ref: str) -> Any:
    """Return the target of a reference. Raises SchemaError if it is missing or not a schema."""
    node: Any = schema
    for key in steps_of(ref):
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, Mapping) and key in node:
            node = node[key]
        else:
            raise SchemaError(f"a schema refers to {ref!r}, which it does not contain")
    if not isinstance(node, Mapping | bool):
        raise SchemaError(f"a schema refers to {ref!r}, which is not a schema")
    return node


def _recursive(targets: Mapping[str, Any]) -> set[str]:
    """Return the references whose targets lead back to themselves."""
    onward = {ref: set(_references(target)) for ref, target in targets.items()}
    return {ref for ref in targets if ref in _reachable(ref, onward)}


def _reachable(start: str, onward: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(onward[start])
    while waiting:
        ref = waiting.pop()
        if ref not in seen:
            seen.add(ref)
            waiting.extend(onward[ref])
    return seen


def _repeated(schema: Mapping[str, Any], targets: Mapping[str, Any]) -> set[str]:
    """Return the references that are used more than once."""
    used = Counter(ref for node in (schema, *targets.values()) for ref in _references(node))
    return {ref for ref, times in used.items() if times > 1}


def _growth(schema: Mapping[str, Any], targets: Mapping[str, Any], kept: set[str]) -> int:
    """Return the number of nodes that inlining adds if only `kept` stay references."""
    sizes: dict[str, int] = dict.fromkeys(kept, 0)

    def size(ref: str) -> int:
        if ref not in sizes:
            target = targets[ref]
            sizes[ref] = _nodes(target) + sum(map(size, _references(target)))
        return sizes[ref]

    inlined_size = sum(map(size, _references(schema)))
    return inlined_size - sum(_nodes(target) for target in targets.values())


def _names(refs: set[str]) -> dict[str, str]:
    """Return a short unique name for each reference, made of its last step."""
    names: dict[str, str] = {}
    for ref in sorted(refs):
        *_, wanted = ("whole", *steps_of(ref))
        number = sum(name.split("__")[0] == wanted for name in names.values())
        names[ref] = f"{wanted}__{number + 1}" if number else wanted
    return names


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _nodes(node: Any) -> int:
    if not isinstance(node, Mapping):
        return 1
    return 1 + sum(map(_nodes, children(node)))


# ---- limits of schemas of third parties ----------------------------------------------------------

_DEEPEST = 100
_MOST_NODES = 50_000
FOREIGN_NODES = 10_000  # validating a schema of this size takes about two seconds
FOREIGN_CHARACTERS = 1_000_000
_SHAPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(NAMED | DEFINITIONS, Mapping),
    **dict.fromkeys(LIST - {"items"} | {"enum", "required"}, list),
    **dict.fromkeys(("description", "format", "pattern"), str),
    "type": (str, list),
}
_OF_STRINGS = {"type", "required"}
_LESS = "Offer less at once: a function for each part of it."
_SHAPE = "It has to be a JSON Schema: https://json-schema.org."


def check_foreign(tool: str, schema: Any) -> None:
    """Raise SchemaError if a third party's parameters are too deep or large, or not JSON."""
    try:
        check_size(schema, FOREIGN_NODES)
        text = json.dumps(schema, default=str)
    except (SchemaError, TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"the parameters of {tool!r} are no JSON Schema: {error}") from error
    if len(text) > FOREIGN_CHARACTERS:
        raise SchemaError(f"the parameters of {tool!r} have {len(text):,} characters", _LESS)


def check_size(schema: Any, most_nodes: int = _MOST_NODES) -> None:
    """Raise SchemaError if a schema is too deep or has too many nodes; does not recurse."""
    if not isinstance(schema, Mapping):
        raise SchemaError(f"a schema must be an object, not {type(schema).__name__}")
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > _DEEPEST or count > most_nodes:
            raise too_large()
        values = node.values() if isinstance(node, Mapping) else node
        inner = [each for each in values if isinstance(each, Mapping | list)]
        waiting.extend((each, depth + 1) for each in inner)


def check_shape(schema: Mapping[str, Any]) -> None:
    """Raise SchemaError if a keyword has a value of the wrong type; later code relies on it."""
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            _check_keywords(node)
            defined = [each for key in DEFINITIONS for each in node.get(key, {}).values()]
            waiting += [*defined, *children(node)]
        elif not isinstance(node, bool):
            raise SchemaError(f"where a schema must stand there is {type(node).__name__}", _SHAPE)


def _check_keywords(node: Mapping[str, Any]) -> None:
    for key in node.keys() & _SHAPES.keys():
        if not _fits(key, node[key]):
            kind = type(node[key]).__name__
            raise SchemaError(f"{key!r} in a schema cannot be {kind}", _SHAPE)


def _fits(key: str, value: Any) -> bool:
    if not isinstance(value, _SHAPES[key]):
        return False
    if key in _OF_STRINGS and isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return True


def too_large() -> SchemaError:
    return SchemaError(
        "a schema is nested too deeply or is too large to be offered",
        _LESS,
    )
