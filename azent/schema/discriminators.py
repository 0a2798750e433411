"""Write the values of OpenAPI's discriminators into the alternatives that they name.

A discriminator may list the values of its property in a `mapping` alone: {"cat": "#/$defs/Cat"}.
Neither a model nor a validator would see them there, so `Cat` gets them as the `enum` of the
property.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from azent.schema.names import Schema, choices_of, kinds_of
from azent.schema.references import DEFINITIONS, LIST, NAMED, ONE, steps_of

_UNIONS = ("anyOf", "oneOf")
_Tags = dict[str, list[str]]  # the values of a distinguishing property, by its name


def discriminated(schema: Schema) -> Schema:
    """Return the schema with the values of its discriminators in the alternatives.

    A schema without a `mapping` is the same object.
    """
    found = list(_mapped(schema, ()))
    by_path: dict[tuple[Any, ...], _Tags] = {}
    for path, name, value in found:
        values = by_path.setdefault(path, {}).setdefault(name, [])
        if value not in values:
            values.append(value)
    for path, tags in by_path.items():
        schema = _changed(schema, path, tags)
    return schema


def _mapped(node: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str, str]]:
    """Yield each alternative that a mapping names: its path, the property and the value."""
    if not isinstance(node, Mapping):
        return
    discriminator = node.get("discriminator")
    if isinstance(discriminator, Mapping):
        for union in _UNIONS:
            if isinstance(parts := node.get(union), list):
                yield from _named(discriminator, parts, (*path, union))
    for step, inner in _inner(node):
        yield from _mapped(inner, (*path, *step))


def _inner(node: Schema) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the subschemas of a schema, definitions included, each with the steps to it."""
    for key, value in node.items():
        if key in NAMED | DEFINITIONS and isinstance(value, Mapping):
            yield from (((key, name), each) for name, each in value.items())
        elif key in LIST and isinstance(value, list):
            yield from (((key, at), each) for at, each in enumerate(value))
        elif key in ONE:
            yield (key,), value


def _named(
    discriminator: Schema, parts: Sequence[Any], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], str, str]]:
    name, mapping = discriminator.get("propertyName"), discriminator.get("mapping")
    if not isinstance(name, str) or not isinstance(mapping, Mapping):
        return
    for value, wanted in mapping.items():
        places = [at for at, part in enumerate(parts) if _is_named(part, wanted)]
        if len(places) == 1:
            ref = parts[places[0]].get("$ref")
            yield steps_of(ref) if isinstance(ref, str) else (*path, places[0]), name, value


def _is_named(part: Any, wanted: Any) -> bool:
    """Return whether a mapping means an alternative, by its reference, its name or its title."""
    if not isinstance(part, Mapping) or not isinstance(wanted, str):
        return False
    label = part.get("$ref", part.get("title"))
    return isinstance(label, str) and _last(label) == _last(wanted)


def _last(reference: str) -> str:
    return reference.rpartition("/")[2].removesuffix(".json")


def _changed(node: Any, path: Sequence[Any], tags: _Tags) -> Any:
    """Return a schema in which the subschema at a path has tags; unchanged if there is none."""
    if not path:
        return _tagged(node, tags)
    head, *rest = path
    if isinstance(node, Mapping) and head in node:
        return {**node, head: _changed(node[head], rest, tags)}
    if isinstance(node, list) and isinstance(head, int):
        return [*node[:head], _changed(node[head], rest, tags), *node[head + 1 :]]
    return node


def _tagged(node: Any, tags: _Tags) -> Any:
    """Return a schema whose properties list the values of tags, unless they list some already."""
    known = node.get("properties", {}) if isinstance(node, Mapping) else None
    if not isinstance(known, Mapping):
        return node
    parts = {name: known.get(name, {"type": "string"}) for name in tags}
    open_ones = {
        name: {**part, "enum": tags[name]} for name, part in parts.items() if _is_text(part)
    }
    return {**node, "properties": {**known, **open_ones}} if open_ones else node


def _is_text(part: Any) -> bool:
    """Return whether a schema allows any text."""
    if not isinstance(part, Mapping) or part.keys() & {"$ref", "allOf", *_UNIONS}:
        return False
    return kinds_of(part) in ((), ("string",)) and not choices_of(part)
