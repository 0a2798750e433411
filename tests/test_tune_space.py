"""What is tried: sets that could stand in files, each once, and every setting that there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest

from azent import prompt
from azent.lab import version_of
from azent.lab.space import SPACE, Candidate, first_field, neighbours
from azent.prompt import PromptSet, SelectionRules, files_of, read

OWN = ("small", "default", "medium", "article")
NOT_SEARCHED = {
    "name",
    "texts",
    "folder",
    "description",
    "language",
    "models",
    "selection",
    "gate",
    "bank",
    "sizes",
}


@pytest.fixture(scope="module")
def bases() -> tuple[PromptSet, ...]:
    return tuple(map(prompt.load, OWN))


def test_every_setting_has_a_row() -> None:
    """A new setting of prompt sets needs a row in SPACE, or has no place in a search."""
    settings = {field.name for field in fields(PromptSet)} - NOT_SEARCHED
    rules = {f"selection.{field.name}" for field in fields(SelectionRules)}
    assert {setting.name for setting in SPACE} == settings | rules


def test_the_sets_come_first_then_their_selection_then_changes_of_the_first(
    bases: tuple[PromptSet, ...],
) -> None:
    names = [each.name for each in first_field(bases)]
    assert names[:4] == list(OWN)
    assert names[4:6] == ["small[selection=default]", "small[selection=medium]"]
    assert names[-1].startswith("small[")
    assert len(names) == 16


@pytest.mark.parametrize("name", OWN)
def test_each_candidate_can_be_written_and_is_read_as_the_same(
    name: str, bases: tuple[PromptSet, ...], tmp_path: Path
) -> None:
    others = [each for each in bases if each.name != name]
    first = first_field([prompt.load(name), *others], 99)
    twice = [near for each in first[-2:] for near in neighbours(each, bases)]
    for number, candidate in enumerate([*first, *twice]):
        folder = tmp_path / f"set{number}"
        folder.mkdir()
        for file, text in files_of(candidate.prompts).items():
            (folder / file).write_text(text, "utf-8")
        back = replace(read(folder), name=candidate.name)
        assert version_of(back) == version_of(candidate.prompts)


def test_no_two_candidates_say_the_same_or_have_one_name(bases: tuple[PromptSet, ...]) -> None:
    field = first_field(bases, 99)
    for some in (field, *(neighbours(each, bases) for each in field[:5])):
        said = {version_of(replace(each.prompts, name="", description="")) for each in some}
        assert len(said) == len({each.name for each in some}) == len(some)


def test_a_set_that_says_what_another_does_is_tried_once(bases: tuple[PromptSet, ...]) -> None:
    twin = replace(bases[0], name="twin", description="the same", models=("x",))
    assert [each.name for each in first_field([bases[0], twin], 99)] == [
        each.name for each in first_field(bases[:1], 99)
    ]


def near(name: str, bases: Sequence[PromptSet]) -> dict[str, Candidate]:
    base = prompt.load(name)
    return {each.name: each for each in neighbours(Candidate(name, base, base), bases)}


def test_texts_that_a_setting_needs_are_lent(bases: tuple[PromptSet, ...]) -> None:
    medium = prompt.load("medium")
    gated = near("default", bases)["default[decide=gate]"].prompts
    assert (gated.texts["gate"], gated.gate) == (medium.texts["gate"], medium.gate)
    assert near("article", bases)["article[decide=list]"].prompts.texts["list"]


@pytest.mark.parametrize(
    ("name", "lenders", "never"),
    [
        ("article", OWN, "examples="),  # none of its texts has a place for them
        ("default", ["small"], "decide=gate"),  # nobody lends the text
        ("default", OWN, "selection.none_below="),  # does nothing if meaning decides nothing
        ("medium", OWN, "turn="),  # which cannot go with a gate
    ],
)
def test_what_cannot_be_or_does_nothing_is_not_tried(
    name: str, lenders: Sequence[str], never: str
) -> None:
    assert not [each for each in near(name, list(map(prompt.load, lenders))) if never in each]


def test_names_tell_the_set_and_what_was_changed(bases: tuple[PromptSet, ...]) -> None:
    crossed = replace(bases[1], selection=replace(bases[0].selection, more=False), held=False)
    names = {each.name for each in neighbours(Candidate("x", bases[1], crossed), bases)}
    assert "default[functions=json held=false selection=small selection.more=false]" in names
    assert "default[held=false selection=small]" in names
    assert "default[examples=two+none held=false selection=small selection.more=false]" in names
