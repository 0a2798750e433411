"""Make the candidates of a search: the existing prompt sets, and variants with changed settings.

`SPACE` is the table of settings and their values. If a setting needs a text that its set lacks, the
text is taken from another set; if no set has it, the setting is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
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

    @property
    def is_rule(self) -> bool:
        """Return whether it is a setting in [selection]."""
        return "." in self.name

    def of(self, prompts: PromptSet) -> Any:
        """Return its value in a set."""
        return attrgetter(self.name)(prompts)

    def put(self, prompts: PromptSet, value: Any) -> PromptSet:
        """Return the set with this value in place of its own."""
        given: dict[str, Any] = {self.name.rpartition(".")[2]: value}
        if self.is_rule:
            return replace(prompts, selection=replace(prompts.selection, **given))
        return replace(prompts, **given)


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
    """Return the first candidates: the sets, then variants of them.

    The variants are the sets with the [selection] of each other, and the first set with one setting
    changed.
    """
    made = [(base, base) for base in bases]
    for base in bases:
        crossed = (replace(base, selection=other.selection) for other in bases)
        made += [(base, each) for each in (_with_bank(each, bases) for each in crossed) if each]
    made += [(bases[0], prompts) for prompts in _changed(bases[0], bases)]
    return _unlike((_named(base, prompts, bases) for base, prompts in made), ())[:count]


def neighbours(candidate: Candidate, bases: Sequence[PromptSet]) -> tuple[Candidate, ...]:
    """Return the candidates that differ from this one in one setting."""
    changed = _changed(candidate.prompts, bases)
    made = (_named(candidate.base, prompts, bases) for prompts in changed)
    return _unlike(made, [candidate])


def _changed(prompts: PromptSet, lenders: Sequence[PromptSet]) -> Iterator[PromptSet]:
    """Make the variants of a set: each other value of each setting that matters in it."""
    for setting in SPACE:
        for value in setting.values if setting.matters(prompts) else ():
            made = _lent(setting.put(prompts, value), lenders)
            if made is not None and value != setting.of(prompts):
                yield made


def _unlike(candidates: Iterable[Candidate], but: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Leave out the candidates whose texts and settings equal those of an earlier one."""
    seen = {_hash(each.prompts): each for each in but}
    for each in candidates:
        seen.setdefault(_hash(each.prompts), each)
    return tuple(seen.values())[len(but) :]


def _hash(prompts: PromptSet) -> str:
    """Hash a set without its name."""
    return version_of(replace(prompts, name="", description="", models=(), sizes=()))


# ---- texts that a setting needs ------------------------------------------------------------------


def _lent(prompts: PromptSet, lenders: Sequence[PromptSet]) -> PromptSet | None:
    """Add the texts that the settings of a set need; None if no other set has them."""
    shown = any("examples" in blanks_of(text) for text in prompts.texts.values())
    if prompts.examples and not shown:
        return None
    needed = [*prompts.decide, *(["example"] if prompts.examples else [])]
    for name in needed:
        lender = next((each for each in (prompts, *lenders) if name in each.texts), None)
        if lender is None:
            return None
        prompts = replace(prompts, texts={**prompts.texts, name: lender.texts[name]})
    if "gate" in prompts.decide and not prompts.gate:
        # Without examples for their gate, small models say yes to everything.
        prompts = replace(prompts, gate=next((each.gate for each in lenders if each.gate), ()))
    return _with_bank(prompts, lenders)


def _with_bank(prompts: PromptSet, lenders: Sequence[PromptSet]) -> PromptSet | None:
    """Add the bank of functions that the rules of a set need; None if no other set has one."""
    if prompts.selection == NO_RULES or prompts.bank:
        return prompts
    bank = next((each.bank for each in lenders if each.bank), None)
    return None if bank is None else replace(prompts, bank=bank)


# ---- names ---------------------------------------------------------------------------------------


def _named(base: PromptSet, prompts: PromptSet, bases: Sequence[PromptSet]) -> Candidate:
    """Name a candidate, such as `default[held=false selection=small selection.more=false]`."""
    changed = _changes(base, prompts, rules=False)
    alike = min((base, *bases), key=lambda other: len(_changes(other, prompts, rules=True)))
    if alike.selection != base.selection:
        changed.append(f"selection={alike.name}")
    changed += _changes(alike, prompts, rules=True)
    name = f"{base.name}[{' '.join(changed)}]" if changed else base.name
    return Candidate(name, base, replace(prompts, name=name))


def _changes(one: PromptSet, other: PromptSet, *, rules: bool) -> list[str]:
    """Write the settings of the other set that differ: those in [selection], or all others."""
    settings = [each for each in SPACE if each.is_rule is rules]
    different = [each for each in settings if each.of(one) != each.of(other)]
    return [f"{each.name}={_written(each.of(other))}" for each in different]


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(value) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
