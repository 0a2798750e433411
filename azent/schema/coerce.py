"""Coerce values to the types of a schema, only without loss.

"3" becomes 3 for an integer, and 3 becomes "3" for a string; "20%" becomes no number. A value that
cannot be coerced is unchanged, and validation reports it. Each coercion is recorded in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from azent.messages import ALIASES
from azent.schema.judge import Judge
from azent.schema.names import (
    IS,
    Schema,
    choices_of,
    folded,
    folded_choice,
    kinds_of,
    resolved,
    same,
    whole,
    written_as,
)
from azent.schema.unions import BRANCHES, Branch
from azent.values.lenient_json import literal
from azent.values.strict_json import Bare, Number, plain

_INTEGER = re.compile(r"[+-]?\d{1,4000}(?:\.0*)?(?:[eE]\+?\d{1,3})?")
_NUMBER = re.compile(r"[+-]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][+-]?\d{1,3})?")
_TRUTHS = {"true": True, "false": False}
_NOTHINGS = ("null", "none", "nil", "undefined", "")

_Trial = tuple[int, int, str]  # the ids of a value and of a part of the schema, and the path
_Try = tuple[Any, list[str], Any]  # what became of a value, what was done to it, and the value


class Coercer:
    """A coercer of the values of one call; `bent` lists the coercions.

    `_tries` caches what was tried for an alternative of a union, because nested unions would try it
    again for each alternative of the outer one.
    """

    def __init__(self, judge: Judge, tries: dict[_Trial, _Try] | None = None) -> None:
        self.judge = judge
        self.bent: list[str] = []
        self._tries: dict[_Trial, _Try] = {} if tries is None else tries

    def coerced(self, value: Any, part: Any, path: str) -> Any:
        """Return `value` coerced to a subschema, or unchanged."""
        schema = self.judge.target(part)
        for union, branches in schema.get(BRANCHES, {}).items():
            value = self._chosen(value, schema[union], branches, path)
        for each in schema.get("allOf", ()):
            value = self.coerced(value, each, path)
        if choices := choices_of(schema):
            return self._enumerated(value, choices, path)
        return self._typed(value, schema, path)

    def _tell(self, path: str, was: Any, now: Any) -> None:
        self.bent.append(f"{path}: {_brief(was)} was read as {_brief(now)}")

    # ---- unions ----

    def _chosen(self, value: Any, parts: list[Any], branches: Sequence[Branch], path: str) -> Any:
        """Return `value` coerced to an alternative of a union.

        An alternative that accepts the value unchanged comes first, then the one with the fewest
        coercions, then the closest one.
        """
        for part in sorted(parts, key=_is_text) if isinstance(value, Bare) else parts:
            if isinstance(value, Bare):
                made, _ = self._tried(value, part, path)
                if made is not value and not isinstance(made, list):
                    return made
            if self.judge.allows(plain(value), part):
                return self._tried(value, part, path)[0]
        tries = [self._tried(value, part, path) for part in parts]
        faults = [
            self.judge.faults(plain(t[0]), part) for t, part in zip(tries, parts, strict=True)
        ]
        if 0 in faults:
            fitting = [each for each, count in zip(tries, faults, strict=True) if not count]
            return self._cheapest([(len(bent), made, bent) for made, bent in fitting], value)
        distances = [each.distance(made) for each, (made, _) in zip(branches, tries, strict=True)]
        costs = zip(distances, faults, strict=True)
        return self._cheapest([(cost, *t) for cost, t in zip(costs, tries, strict=True)], value)

    def _cheapest(self, outcomes: list[tuple[Any, Any, list[str]]], value: Any) -> Any:
        """Return the outcome with the least cost; the value unchanged if several differ."""
        least = min((cost for cost, _, _ in outcomes), default=0)
        cheapest = [(made, bent) for cost, made, bent in outcomes if cost == least]
        if not cheapest or any(repr(made) != repr(cheapest[0][0]) for made, _ in cheapest):
            return value
        self.bent += cheapest[0][1]
        return cheapest[0][0]

    def _tried(self, value: Any, part: Any, path: str) -> tuple[Any, list[str]]:
        key = id(value), id(part), path
        if key not in self._tries:
            trial = Coercer(self.judge, self._tries)
            self._tries[key] = (trial.coerced(value, part, path), trial.bent, value)
        made, bent, _ = self._tries[key]
        return made, bent

    # ---- enumerations ----

    def _enumerated(self, value: Any, choices: list[Any], path: str) -> Any:
        if any(same(value, choice) for choice in choices):
            return plain(value)
        written = written_as(value)
        if isinstance(value, list) and len(value) == 1:
            written = written_as(value[0])
        if written is None:
            return value
        exact = [choice for choice in choices if written_as(choice) == written]
        fits = exact or [choice for choice in choices if folded_choice(choice) == folded(written)]
        if len(fits) != 1 or not folded(written):
            return value
        self._tell(path, value, fits[0])
        return fits[0]

    # ---- types ----

    def _typed(self, value: Any, schema: Schema, path: str) -> Any:
        kinds = kinds_of(schema)
        if isinstance(value, Bare) and len(kinds) > 1:
            value = self._literal(value, kinds, schema, path)
        if not kinds or any(IS[kind](value) for kind in kinds if kind in IS):
            return self._inside(value, schema, path)
        made = [(kind, _BENDS[kind](self, value, schema, path)) for kind in kinds if kind in _BENDS]
        fits = [new for kind, new in made if IS[kind](new)]
        if not fits or any(repr(new) != repr(fits[0]) for new in fits):
            return value
        self._tell(path, value, fits[0])
        return self._inside(fits[0], schema, path)

    def _literal(self, value: Bare, kinds: tuple[str, ...], schema: Schema, path: str) -> Any:
        """Return unquoted text as another type than string, if the schema allows one."""
        for kind in kinds:
            if kind != "string" and value and kind in _BENDS:
                made = _BENDS[kind](self, value, schema, path)
                if IS[kind](made) and not isinstance(made, list):
                    return made
        return value

    def _inside(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, dict):
            return self._object(value, schema, path)
        if isinstance(value, list):
            return self._array(value, schema, path)
        if isinstance(value, float) and value.is_integer() and kinds_of(schema) == ("integer",):
            return int(value)
        return value

    def _array(self, value: list[Any], schema: Schema, path: str) -> list[Any]:
        heads = schema.get("prefixItems", ())
        rest = schema.get("items", {})
        made = [
            self.coerced(item, heads[at] if at < len(heads) else rest, f"{path}[{at}]")
            for at, item in enumerate(value)
        ]
        if schema.get("uniqueItems"):
            unique = list({repr(item): item for item in made}.values())
            if len(unique) < len(made):
                self.bent.append(f"{path}: repeated items were left out")
            return unique
        return made

    def _object(self, value: dict[str, Any], schema: Schema, path: str) -> dict[str, Any]:
        known = schema.get("properties", {})
        extra = schema.get("additionalProperties", {})
        made: dict[str, Any] = {}
        named = self._unaliased(value, known, schema.get(ALIASES, {}), path)
        for key, item in self._renamed(named, known, schema, path).items():
            part = known.get(key, extra)
            new = self.coerced(item, part, f"{path}.{key}")
            if key in known and self._says_nothing(new, part):
                required = key in schema.get("required", ())
                if new is None or not required:
                    self.bent.append(f"{path}.{key}: {_brief(item)} was left out")
                    continue
            made[key] = new
        return made

    def _unaliased(
        self, value: dict[str, Any], known: Schema, aliases: Mapping[str, Any], path: str
    ) -> dict[str, Any]:
        """Return the object with aliases replaced by the shown names."""
        made = value
        for shown, places in aliases.items():
            others = [place for place in places if place[0] not in known]
            found = next(filter(None, (_found(value, place, known) for place in others)), None)
            if found is not None and shown not in value:
                key, item = found
                made = {**{name: made[name] for name in made if name != key}, shown: item}
                self.bent.append(f"{path}: {key!r} was read as {shown!r}")
        return made

    def _renamed(
        self, value: dict[str, Any], known: Schema, schema: Schema, path: str
    ) -> dict[str, Any]:
        """Return the object with misspelt keys replaced by the schema's, if unambiguous."""
        if all(key in known for key in value) or not known:
            return value
        made: dict[str, Any] = {}
        for key, item in value.items():
            free = [name for name in known if name not in value]
            name = key if key in known else resolved(key, free)
            if name is None or name in made or folded(name) != folded(key):
                name = key
            if name != key:
                self.bent.append(f"{path}: {key!r} was read as {name!r}")
            made[name] = item
        return made

    def _says_nothing(self, value: Any, part: Any) -> bool:
        """Return whether a value is a null or filler that the schema forbids: it is left out."""
        if value is None:
            return not self.judge.allows(None, part)
        if not isinstance(value, str) or value.strip().casefold() not in _NOTHINGS:
            return False
        return not self.judge.allows(str(value), part)

    # ---- one kind into another ----

    def to_string(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            return value[0]
        return value if (text := written_as(value)) is None else text

    def to_integer(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, Number) or (
            isinstance(value, str) and _INTEGER.fullmatch(value.strip())
        ):
            return whole(value.text if isinstance(value, Number) else value.strip())
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value

    def to_number(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
            return value
        text = value.strip()
        if _INTEGER.fullmatch(text) and "." not in text and "e" not in text.lower():
            return int(text)
        return float(text) if abs(Decimal(text)) < Decimal("1e308") else value

    def to_boolean(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str):
            return _TRUTHS.get(value.strip().casefold(), value)
        return bool(value) if type(value) is int and value in (0, 1) else value

    def to_null(self, value: Any, schema: Schema, path: str) -> Any:
        return None if isinstance(value, str) and value.strip().casefold() in _NOTHINGS else value

    def to_array(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "("):
            return _parsed(value)
        if isinstance(value, str) and re.search(r"[,;\n]", value):
            return value
        item, bent = self._tried(value, schema.get("items", {}), f"{path}[0]")
        if value is None or not self.judge.allows(plain(item), schema.get("items", {})):
            return value
        self.bent += bent
        return [item]

    def to_object(self, value: Any, schema: Schema, path: str) -> Any:
        if isinstance(value, str) and value.lstrip()[:1] in ("{", '"'):
            return _parsed(value)
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            return value[0]
        return value


_BENDS: dict[str, Callable[[Coercer, Any, Schema, str], Any]] = {
    "null": Coercer.to_null,
    "integer": Coercer.to_integer,
    "number": Coercer.to_number,
    "boolean": Coercer.to_boolean,
    "array": Coercer.to_array,
    "object": Coercer.to_object,
    "string": Coercer.to_string,
}


def _found(value: dict[str, Any], place: Sequence[Any], known: Schema) -> tuple[str, Any] | None:
    """Return the value at a path, and the first key as it was written, or None."""
    head, *steps = place
    near = (key for key in value if key not in known and folded(key) == folded(head))
    key = head if head in value else next(near, None)
    if key is None:
        return None
    item = value[key]
    for step in steps:
        if not _has(item, step):
            return None
        item = item[step]
    return key, item


def _has(item: Any, step: Any) -> bool:
    if isinstance(item, dict):
        return step in item
    return isinstance(item, list) and isinstance(step, int) and -len(item) <= step < len(item)


def _is_text(branch: Any) -> bool:
    return isinstance(branch, Mapping) and branch.get("type") == "string"


def _parsed(text: str) -> Any:
    """Return the value that a string encodes, up to three times over, or the string."""
    value: Any = text
    for _ in range(3):
        try:
            value = literal(value)
        except (ValueError, RecursionError):
            return text
        if not isinstance(value, str):
            return value
    return text


def _brief(value: Any) -> str:
    shown = repr(str(value)) if isinstance(value, str) else repr(plain(value))
    return shown if len(shown) <= 60 else shown[:57] + "..."
