"""Find the alternative of a union that a value is meant for, to report errors against that one.

Alternatives of another type, or with another value of a distinguishing property (`kind`, `type`),
are excluded. Of the others, the one that knows most of the value's names is meant, then the one
with the fewest errors. Checking the property first also keeps validation linear in the depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from azent.schema.names import IS, Schema, choices_of, kinds_of, nearest, same

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


UNIONS = ("anyOf", "oneOf")
BRANCHES = "azent:branches"  # the keyword with the description of the alternatives
NO_TAG = "azent:no tag"  # the error that the distinguishing property is missing
_MOST_COMPARED = 20  # unknown names, each with as many known ones


@dataclass(frozen=True, slots=True)
class Branch:
    """What distinguishes an alternative from the others."""

    kinds: tuple[str, ...] = ()  # its types
    tags: Mapping[str, Sequence[Any]] = field(
        default_factory=dict
    )  # values of distinguishing properties
    required: frozenset[str] = frozenset()  # its required properties
    names: tuple[str, ...] = ()  # its properties

    def misses(self, value: Any) -> list[str]:
        """Return the tags for which the value has another value than this alternative."""
        if not isinstance(value, dict):
            return []
        return [
            name
            for name, choices in self.tags.items()
            if name in value and not any(same(value[name], choice) for choice in choices)
        ]

    def distance(self, value: Any) -> tuple[bool, int]:
        """Return whether the value has another type, and the number of tags that differ."""
        fits = not self.kinds or any(IS[kind](value) for kind in self.kinds if kind in IS)
        return not fits, len(self.misses(value))

    def strangers(self, value: Any) -> tuple[int, int]:
        """Return how many names in a value this alternative lacks: even misspelt, and exactly."""
        if not isinstance(value, dict) or not self.names:
            return 0, 0
        unknown = [str(name) for name in value if name not in self.names]
        missing = [name for name in self.names if name not in value]
        unlike = [name for name in unknown[:_MOST_COMPARED] if not _is_near(name, missing)]
        return len(unlike), len(unknown)


def _is_near(name: str, others: Sequence[str]) -> bool:
    """Return whether a name is a misspelling or an abbreviation of one of the others."""
    begins = any(len(name) > 1 and other.startswith(name) for other in others)
    return begins or nearest(name, others[:_MOST_COMPARED]) is not None


# ---- what is known of the alternatives of a schema -----------------------------------------------


def branches_of(
    parts: Sequence[Any], beside: Schema, target: Callable[[Any], Schema]
) -> tuple[Branch, ...]:
    """Return the alternatives of a union; `beside` is the schema that contains it."""
    schemas = [_said(part, target) for part in parts]
    choices = [_choices(said, target) for said in schemas]
    tags = _tags(choices, beside)
    return tuple(
        Branch(
            kinds_of(said[0]),
            {tag: own[tag] for tag in tags if tag in own},
            _required(said),
            tuple(dict.fromkeys(name for part in said for name in _properties(part))),
        )
        for said, own in zip(schemas, choices, strict=True)
    )


def _said(part: Any, target: Callable[[Any], Schema]) -> list[Schema]:
    """Return a schema and its `allOf` schemas, references resolved."""
    schema = target(part)
    more = schema.get("allOf")
    return [schema, *(map(target, more) if isinstance(more, list) else ())]


def _choices(said: Sequence[Schema], target: Callable[[Any], Schema]) -> dict[str, list[Any]]:
    """Return the values that schemas list for their properties, by name."""
    found: dict[str, list[Any]] = {}
    for part in said:
        for name, each in _properties(part).items():
            if choices := choices_of(target(each)):
                found[name] = choices
    return found


def _properties(schema: Schema) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _tags(choices: Sequence[Mapping[str, list[Any]]], beside: Schema) -> list[str]:
    discriminator = beside.get("discriminator")
    named = discriminator.get("propertyName") if isinstance(discriminator, Mapping) else None
    if isinstance(named, str) and any(named in own for own in choices):
        return [named]
    names = dict.fromkeys(name for own in choices for name in own)
    listed = {name: [own[name] for own in choices if name in own] for name in names}
    return [name for name, each in listed.items() if any(other != each[0] for other in each)]


def _required(said: Sequence[Schema]) -> frozenset[str]:
    listed = [each["required"] for each in said if isinstance(each.get("required"), list)]
    return frozenset(name for names in listed for name in names if isinstance(name, str))


# ---- the one that is meant -----------------------------------------------------------------------


def meant(value: Any, branches: Sequence[Branch]) -> list[int]:
    """Return the indexes of the alternatives closest to a value, by type, then by tags."""
    distances = [branch.distance(value) for branch in branches]
    least = min(distances, default=None)
    return [at for at, each in enumerate(distances) if each == least]


@cache
def validator_class() -> Any:
    """Return jsonschema's validator class with our own check of unions."""
    import jsonschema

    keywords = {keyword: partial(_judged, keyword) for keyword in UNIONS}
    extend: Any = jsonschema.validators.extend
    return extend(jsonschema.Draft202012Validator, keywords)


@contextmanager
def counting() -> Iterator[None]:
    """Cache the error counts of values against alternatives while entered.

    Nested unions would otherwise count the errors of inner values for each outer alternative, which
    is exponential in the depth.
    """
    token = _counted.set({})
    try:
        yield
    finally:
        _counted.reset(token)


# By the ids of a value and of an alternative; the value is kept, so that its id stays unique.
_counted: ContextVar[dict[tuple[int, int], tuple[Any, int]]] = ContextVar("counted")


def _judged(
    keyword: str, validator: Any, parts: Sequence[Any], value: Any, schema: Schema
) -> Iterator[ValidationError]:
    """Yield the errors of a value that fits no alternative, against the one that is meant."""
    branches = schema[BRANCHES][keyword]
    places = meant(value, branches)
    if fault := _tag_fault(value, [branches[at] for at in places]):
        yield fault
    elif len(places) == 1:
        yield from validator.descend(value, parts[places[0]], schema_path=places[0])
    else:
        counts = {at: _count(validator, parts[at], value) for at in places}
        fitting = list(counts.values()).count(0)
        if not fitting:
            costs = {at: (branches[at].strangers(value), counts[at]) for at in places}
            least = min(costs.values())
            closest = [at for at in places if costs[at] == least]
            yield from _of_closest(validator, parts, value, closest)
        elif fitting > 1 and keyword == "oneOf":
            yield _fault("it fits more than one of the alternatives")


def _count(validator: Any, part: Any, value: Any) -> int:
    counted = _counted.get()
    key = id(value), id(part)
    if key not in counted:
        counted[key] = value, len({_place(each) for each in validator.descend(value, part)})
    return counted[key][1]


def _place(fault: ValidationError) -> tuple[Any, ...]:
    """Return what identifies an error: its path, and the name that is missing."""
    missing = fault.message if fault.validator == "required" else ""
    return (*fault.relative_path, missing)


def _of_closest(
    validator: Any, parts: Sequence[Any], value: Any, closest: Sequence[int]
) -> Iterator[ValidationError]:
    """Yield the errors against the closest alternative, or one combined error for several.

    If the errors lie deep, the first alternative is taken: checking all at each level would be
    exponential.
    """
    first, *others = closest
    faults = list(validator.descend(value, parts[first], schema_path=first))
    if not others or any(_depth(fault) > 1 for fault in faults):
        yield from faults
        return
    for at in others:
        faults += validator.descend(value, parts[at], schema_path=at)
    yield _fault("", context=faults)


def _tag_fault(value: Any, branches: Sequence[Branch]) -> ValidationError | None:
    """Return the error of a tag that is missing or has a value of no alternative, or None."""
    missed = [branch.misses(value) for branch in branches]
    for tag in missed[0] if missed else ():
        if all(tag in each for each in missed):
            choices = _united(tag, branches)
            return _fault(
                "", path=[tag], validator="enum", validator_value=choices, instance=value[tag]
            )
    absent = _absent(value, branches) if len(branches) > 1 else None
    if absent is None:
        return None
    listed = ", ".join(map(repr, _united(absent, branches)))
    return _fault(f"{absent!r} is missing (it is one of {listed})", validator=NO_TAG)


def _absent(value: Any, branches: Sequence[Branch]) -> str | None:
    """Return the tag that all alternatives require and the value lacks, or None."""
    if not isinstance(value, dict):
        return None
    needed = (tag for tag in branches[0].tags if tag not in value)
    return next(
        (tag for tag in needed if all(tag in b.tags and tag in b.required for b in branches)), None
    )


def _united(tag: str, branches: Sequence[Branch]) -> list[Any]:
    return [choice for branch in branches for choice in branch.tags.get(tag, ())]


def _depth(fault: ValidationError) -> int:
    """Return how deep inside a value an error lies."""
    return len(fault.relative_path) + max(map(_depth, fault.context or ()), default=0)


def _fault(message: str, **more: Any) -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message, **more)
