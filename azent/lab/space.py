"""The search space: the existing prompt sets, and their variants with changed settings. Pure.

`SPACE` is the table of settings and their values; a new setting of prompt sets is one more row. A
candidate can always be written to files: a text that a setting needs and that its set lacks is
taken from another set, and a setting whose text no set has is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from azent.lab.evaluation import version_of
from azent.prompt import PromptSet, blanks_of
from azent.prompt.value import NO_RULES

FIELD = 16  # candidates that a round begins with


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, the values to try, and the sets in which it matters.

    A name such as "selection.more" means `more` in the table [selection].
    """

    name: str
    values: tuple[Any, ...]
    matters: Callable[[PromptSet], bool] = lambda prompts: True

    def of(self, prompts: PromptSet) -> Any:
        """Its value in a set."""
        where, name = self._place
        return getattr(prompts.selection if where else prompts, name)

    def put(self, prompts: PromptSet, value: Any) -> PromptSet:
        """The set with this value in place of its own."""
        where, name = self._place
        given: dict[str, Any] = {name: value}
        if where:
            return replace(prompts, selection=replace(prompts.selection, **given))
        return replace(prompts, **given)

    @property
    def is_rule(self) -> bool:
        """Tell whether it is a setting in [selection]."""
        return bool(self._place[0])

    @property
    def _place(self) -> tuple[str, str]:
        where, _, name = self.name.rpartition(".")
        return where, name


def _by_meaning(prompts: PromptSet) -> bool:
    return prompts.selection.relevance


SPACE = (  # the settings that are likely to matter come first
    Setting("answers", ("apart", "after results", "always"), lambda each: each.turn != "single"),
    Setting("decide", ((), ("gate",), ("choose",), ("list",)), lambda each: each.turn != "single"),
    Setting(
        "examples", ((), ("two", "none"), ("one", "two", "none"), ("one", "two", "none", "near"))
    ),
    Setting("functions", ("python", "typescript", "json", "indented")),
    Setting("held", (True, False)),
    Setting("selection.relevance", (False, True)),
    Setting("selection.none_below", (-2.0, -1.0, 0.0, 1.0), _by_meaning),
    Setting("selection.call_above", (-1.0, 0.0, 1.0, 2.0), _by_meaning),
    Setting("selection.more", (False, True)),
    Setting("selection.within", (0.0, 1.5, 2.5, 4.0)),
    Setting("selection.shown", (0, 4, 8, 16)),
    Setting("thought", (False, True)),
    Setting("turn", ("decide-answer", "single"), lambda each: not each.decide),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set to try. Its name tells from which set it was made, and what was changed."""

    name: str
    base: PromptSet = field(compare=False, repr=False)
    prompts: PromptSet = field(compare=False, repr=False)


def first_field(bases: Sequence[PromptSet], count: int = FIELD) -> tuple[Candidate, ...]:
    """The first candidates: the sets, the sets with the [selection] of each other, and variants.

    The variants are the first set with one setting changed.
    """
    pairs = [(base, replace(base, selection=other.selection)) for base in bases for other in bases]
    banked = [(base, _with_bank(prompts, bases)) for base, prompts in pairs]
    crossed = [(base, prompts) for base, prompts in banked if prompts]
    made = [(base, base) for base in bases] + crossed
    changed = [(bases[0], prompts) for prompts in _changed(bases[0], bases)]
    return _unlike((_named(base, prompts, bases) for base, prompts in made + changed), ())[:count]


def neighbours(candidate: Candidate, bases: Sequence[PromptSet]) -> tuple[Candidate, ...]:
    """The candidates that differ from this one in one setting."""
    changed = _changed(candidate.prompts, bases)
    made = (_named(candidate.base, prompts, bases) for prompts in changed)
    return _unlike(made, [candidate])


def _changed(prompts: PromptSet, lenders: Sequence[PromptSet]) -> Iterator[PromptSet]:
    """The variants of a set: each other value of each setting that matters in it."""
    for setting in SPACE:
        for value in setting.values if setting.matters(prompts) else ():
            made = _lent(setting.put(prompts, value), lenders)
            if made is not None and value != setting.of(prompts):
                yield made


def _unlike(candidates: Iterable[Candidate], but: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates without those whose texts and settings equal those of an earlier one."""
    seen = {_hash(each.prompts) for each in but}
    kept = []
    for each in candidates:
        if _hash(each.prompts) not in seen:
            kept.append(each)
        seen.add(_hash(each.prompts))
    return tuple(kept)


def _hash(prompts: PromptSet) -> str:
    """Hash a set without its name."""
    return version_of(replace(prompts, name="", description="", models=(), sizes=()))


# ---- texts that a setting needs ------------------------------------------------------------------


def _lent(prompts: PromptSet, lenders: Sequence[PromptSet]) -> PromptSet | None:
    """The set with the texts that its settings need; None if no other set has them."""
    shown = any("examples" in blanks_of(text) for text in prompts.texts.values())
    if prompts.examples and not shown:
        return None
    needed = [*prompts.decide, *(["example"] if prompts.examples else [])]
    for name in [name for name in needed if name not in prompts.texts]:
        lender = next((each for each in lenders if name in each.texts), None)
        if lender is None:
            return None
        prompts = replace(prompts, texts={**prompts.texts, name: lender.texts[name]})
    return _with_bank(_with_gate(prompts, lenders), lenders)


def _with_gate(prompts: PromptSet, lenders: Sequence[PromptSet]) -> PromptSet:
    """The set with examples for its gate, without which small models say yes to everything."""
    if "gate" not in prompts.decide or prompts.gate:
        return prompts
    return replace(prompts, gate=next((each.gate for each in lenders if each.gate), ()))


def _with_bank(prompts: PromptSet, lenders: Sequence[PromptSet]) -> PromptSet | None:
    """The set with the bank of functions that its selection needs; None if no other set has one."""
    if prompts.selection == NO_RULES or prompts.bank:
        return prompts
    bank = next((each.bank for each in lenders if each.bank), None)
    return None if bank is None else replace(prompts, bank=bank)


# ---- names ---------------------------------------------------------------------------------------


def _named(base: PromptSet, prompts: PromptSet, bases: Sequence[PromptSet]) -> Candidate:
    """Name a candidate, such as `default[held=false selection=small selection.more=false]`."""
    plain = [each for each in SPACE if not each.is_rule]
    changed = [
        _assignment(each.name, each.of(prompts)) for each in plain if _differs(each, base, prompts)
    ]
    changed += _rules_changed(base, prompts, bases)
    name = f"{base.name}[{' '.join(changed)}]" if changed else base.name
    return Candidate(name, base, replace(prompts, name=name))


def _rules_changed(base: PromptSet, prompts: PromptSet, bases: Sequence[PromptSet]) -> list[str]:
    """Tell how [selection] differs from that of the base, or of the set that is most similar."""
    rules = [each for each in SPACE if each.is_rule]

    def different(other: PromptSet) -> list[str]:
        changed = [each for each in rules if _differs(each, other, prompts)]
        return [_assignment(each.name, each.of(prompts)) for each in changed]

    alike = min((base, *bases), key=lambda other: len(different(other)))
    own = alike.selection == base.selection
    return [*([] if own else [f"selection={alike.name}"]), *different(alike)]


def _differs(setting: Setting, one: PromptSet, other: PromptSet) -> bool:
    return bool(setting.of(one) != setting.of(other))


def _assignment(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return f"{name}={'+'.join(value) or 'none'}"
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"
