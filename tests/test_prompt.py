"""Prompt sets: filling blanks, reading folders, and what broken ones get."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent import prompt, settings
from azent.errors import PromptError
from azent.prompt import Text, fill

TEXTS = {
    "system": "$system\nFunctions:\n$functions",
    "results": "Got:\n$results",
    "correction": "Wrong: $problem",
    "answer": "Answer now.",
}


def write_set(folder: Path, settings: str = "", **texts: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "set.toml").write_text(settings, "utf-8")
    for name, text in {**TEXTS, **texts}.items():
        (folder / f"{name}.txt").write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Hello $name!", "Hello Kim!"),
        ("$name$name", "KimKim"),
        ("costs $5 or $ 5, $", "costs $5 or $ 5, $"),
        ("$$name is a blank", "$name is a blank"),
        ('{"$ref": 1, "a": {$name}}', None),
        ("$empty\nrest", "rest"),
        ("  $empty  \nrest", "rest"),
        ("a $empty b\nrest", "a  b\nrest"),
        ("$other", None),
    ],
)
def test_fill(text: str, filled: str | None) -> None:
    blanks = {"name": "Kim", "empty": "", "again": "$name"}
    if filled is None:
        with pytest.raises(PromptError, match="there is no blank"):
            fill(Text(text), blanks)
    else:
        assert fill(Text(text), blanks) == filled


@given(st.text())
def test_what_fills_a_blank_is_never_looked_at_again(value: str) -> None:
    assert fill(Text("<$name>"), {"name": value, "other": "x"}) == f"<{value}>"


def test_an_unknown_blank_names_file_and_line(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "mine", system="one\ntwo $funtcions\n")
    with pytest.raises(
        PromptError, match=r"system\.txt:2: there is no blank \$funtcions"
    ) as caught:
        prompt.load(folder)
    assert "$functions" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('turn = "sometimes"', "turn is 'sometimes', and must be 'decide-answer' or 'single'"),
        ("held = 1", "held is 1, and must be bool"),
        ('colour = "red"', "there is no setting 'colour'"),
        ('models = "qwen*"', "must be a list of patterns"),
        ("turn = ", r"set\.toml"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(PromptError, match=said):
        prompt.load(write_set(tmp_path / "mine", line))


def test_a_missing_text_is_named(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "mine")
    (folder / "results.txt").unlink()
    with pytest.raises(PromptError, match=r"results\.txt is missing"):
        prompt.load(folder)


def test_a_set_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(PromptError) as caught:
        prompt.load("nonsense")
    assert "default" in caught.value.hint


def test_an_edit_is_taken_up_at_the_next_load(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "mine")
    assert prompt.load(folder).texts["answer"].body == "Answer now."
    (folder / "answer.txt").write_text("Say it.", "utf-8")
    assert prompt.load(folder).texts["answer"].body == "Say it."


def test_the_set_that_suits_a_model_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZENT_HOME", str(tmp_path))
    write_set(tmp_path / "prompts" / "small", 'models = ["*:0.5b", "tiny*"]')
    assert prompt.load(model="qwen2.5-coder:0.5b").name == "small"
    assert prompt.load(model="qwen3:8b").name == "default"


def test_a_set_beside_the_user_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_set(tmp_path / "prompts" / "default", answer="Mine.")
    assert prompt.load("default").texts["answer"].body == "Mine."


@pytest.mark.parametrize("folder", sorted(settings.own_prompts().iterdir()), ids=lambda f: f.name)
def test_the_sets_that_ship_are_whole(folder: Path) -> None:
    assert prompt.read(folder).description
