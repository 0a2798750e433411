"""Aliases of pydantic fields: the model sees one name, calls may use any.

They are kept under azent's own keyword in the schema that calls are validated against, and removed
from the schema that a model sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import AliasChoices, AliasPath
from pydantic.fields import FieldInfo

from azent.messages import ALIASES

Place = Sequence[str | int]


def with_aliases(made: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a class with the aliases of its fields added.

    `fields` are those of pydantic's core schema, by their Python names.
    """
    found: dict[str, list[Place]] = {}
    for name, field in fields.items():
        places = [*_places(field.get("validation_alias", name)), [name]]
        shown = next((p[0] for p in places if len(p) == 1 and p[0] in made["properties"]), None)
        others = [place for place in places if place != [shown]]
        if shown is not None and others:
            found[str(shown)] = others
    return {**made, ALIASES: found} if found else made


def aliases_of(field: FieldInfo) -> list[Place]:
    """Return the aliases that a parameter's `Field` declares."""
    alias = field.validation_alias or field.alias
    if isinstance(alias, AliasChoices | AliasPath):
        return _places(alias.convert_to_aliases())
    return _places(alias) if alias else []


def without_aliases(schema: Any) -> Any:
    """Return the schema without aliases, as a model sees it."""
    if isinstance(schema, list):
        return [without_aliases(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_aliases(each) for key, each in schema.items() if key != ALIASES}


def _places(alias: str | Sequence[Any]) -> list[Place]:
    """Return an alias of pydantic's core schema (a name, a path, a list of paths) as paths."""
    if isinstance(alias, str):
        return [[alias]]
    return list(alias) if alias and isinstance(alias[0], list) else [alias]
