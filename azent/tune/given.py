"""What a search is given: cases in two halves, and the prompt sets to begin with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from azent import prompt
from azent.errors import CasesError, PromptError
from azent.evaluate import Case, cases_from
from azent.prompt import PromptSet
from azent.wording import counted

LEAST_CASES = 4  # in each half


@dataclass(frozen=True, slots=True)
class Halves:
    """The cases to search with, and those that are set aside for the final judgement."""

    search: tuple[Case, ...]
    aside: tuple[Case, ...]


def halves(
    sources: Sequence[str], functions: Sequence[object] = (), *, sample: int | None = None
) -> Halves:
    """The cases of some sources, parted as `azent eval --part` does; a sample of each category.

    Raises CasesError, also where there are too few, and UsageError for cases that come twice.
    """
    search = cases_from(sources, functions, part="dev", sample=sample)
    found = Halves(
        tuple(search), tuple(cases_from(sources, functions, part="final", sample=sample))
    )
    check_halves(found)
    return found


def check_halves(given: Halves) -> None:
    """Raise CasesError where cases are too few, or would be looked at and judged by too."""
    few = min(len(given.search), len(given.aside))
    if few < LEAST_CASES:
        hint = (
            f"Give {2 * LEAST_CASES} cases or more, two or more of each kind (a category, and "
            "whether one call is due, several or none): every second one of a kind is set aside."
        )
        there = f"{counted(len(given.search), 'case')} to search with, {len(given.aside)} set aside"
        raise CasesError(f"{there}: {LEAST_CASES} are needed of each", hint)
    if both := {each.id for each in given.search} & {each.id for each in given.aside}:
        hint = "Give cases ids of their own."
        raise CasesError(f"the case {min(both)!r} is also among those set aside", hint)


def bases_for(model: str, without: str = "") -> tuple[PromptSet, ...]:
    """The set that the model gets, then all others of its language that are not broken.

    The one named by `without` is left out: it is the one to be written. PromptError where the
    first of them is broken.
    """
    start = prompt.suited(model, without)
    names = [name for name in prompt.folders() if name not in (without, start.name)]
    others = (each for each in _sound(names) if each.language == start.language)
    return (start, *others)


def _sound(names: Iterable[str]) -> Iterable[PromptSet]:
    for name in names:
        try:
            yield prompt.load(name)
        except PromptError:
            continue  # nobody asked for it; `azent prompts list` tells what is wrong with it
