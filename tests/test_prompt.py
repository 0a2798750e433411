"""Prompt sets: filling blanks, reading folders, and what broken ones get."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azent import config, prompt
from azent.conversation.requests import Terms, messages_for
from azent.errors import PromptError, UsageError
from azent.messages import Question, Reply
from azent.prompt import (
    GateExample,
    PromptSet,
    SelectionRules,
    Text,
    checked_name,
    files_of,
    fill,
)

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
        ("held = 1", "held is 1, and must be true or false"),
        ("description = 3", "description is 3, and must be a text"),
        ('colour = "red"', "there is no setting 'colour'"),
        ("[functions]", "functions is {}, and must be 'json' or"),
        ('models = "qwen*"', "models is 'qwen\\*', and must be a list"),
        ("models = [3]", "models has 3, and must be a text"),
        ('examples = ["three"]', "examples has 'three', and must be 'one' or 'two' or"),
        ("turn = ", "Invalid value"),
        ('turn = "single', "Illegal character|Unterminated string|Expected"),
        ('examples = ["one"]', r"no text has the blank \$examples"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(PromptError, match=rf"mine/set\.toml:3: (.*)({said})"):
        prompt.load(write_set(tmp_path / "mine", f"# a comment\nlanguage = 'en'\n{line}"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("results", "Got something", r"results\.txt: the blank \$results is missing"),
        ("correction", "Wrong", r"correction\.txt: the blank \$problem is missing"),
        ("example", "$question", r"example\.txt: the blank \$reply is missing"),
        ("question", "$functions", r"question\.txt: the blank \$question is missing"),
        ("system", "$system", r"mine: no text has the blank \$functions"),
        ("system", "$functions\n\n$result", r"system\.txt:3: there is no blank \$result"),
        ("answer", "$functions", r"answer\.txt:1: there is no blank \$functions"),
    ],
)
def test_a_bad_text_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(PromptError, match=said):
        prompt.load(write_set(tmp_path / "mine", **{name: text}))


def test_examples_need_a_text_that_shows_one(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"example\.txt is missing"):
        prompt.load(
            write_set(tmp_path / "mine", 'examples = ["one"]', system="$functions\n$examples")
        )


def test_a_question_can_be_put_in_a_text_of_its_own(tmp_path: Path) -> None:
    folder = write_set(
        tmp_path / "mine", system="$system", question="Tools:\n$functions\nUser: $question"
    )
    spec = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}
    terms = Terms({"f": spec}, prompt.read(folder), system="Be kind.")
    log = (Question("before"), Reply(text="yes", move="answer"), Question("what is $functions?"))
    decide = messages_for(log, terms, "decide")
    assert [m["content"] for m in decide] == [
        "Be kind.",
        "before\n\nAnswer now.",
        "yes",
        "Tools:\nf()\nUser: what is $functions?",
    ]
    answer = messages_for(log, terms, "answer")
    assert answer[-1]["content"] == "what is $functions?\n\nAnswer now."


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
    monkeypatch.chdir(tmp_path / "..")
    monkeypatch.setenv("AZENT_HOME", str(tmp_path))
    write_set(tmp_path / "prompts" / "tiny", 'models = ["*:0.5b", "tiny*"]')
    assert prompt.load(model="qwen2.5-coder:0.5b").name == "tiny"
    assert prompt.load(model="qwen3:8b").name == "default"


def test_a_set_beside_the_user_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_set(tmp_path / "prompts" / "default", answer="Mine.")
    assert prompt.load("default").texts["answer"].body == "Mine."


@pytest.mark.parametrize("folder", sorted(config.own_prompts().iterdir()), ids=lambda f: f.name)
def test_the_sets_that_ship_are_whole(folder: Path) -> None:
    assert prompt.read(folder).description


# ---- writing -------------------------------------------------------------------------------------

SELECTIONS = st.builds(
    SelectionRules,
    shown=st.integers(0, 9),
    within=st.floats(0, 1e-6),
    relevance=st.booleans(),
    none_below=st.floats(-9, 9),
    call_above=st.floats(-9, 9),
    more=st.booleans(),
)
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\r\ufeff$"))
GATES = st.lists(st.builds(GateExample, LINES, LINES, st.sampled_from(["yes", "no"])), max_size=3)


@given(
    description=LINES,
    models=st.lists(LINES, max_size=3),
    selection=SELECTIONS,
    gate=GATES,
    text=LINES,
)
def test_what_is_written_is_read_as_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    description: str,
    models: list[str],
    selection: SelectionRules,
    gate: list[GateExample],
    text: str,
) -> None:
    folder = tmp_path_factory.mktemp("set")
    texts = {**prompt.load("medium").texts, "answer": Text(text)}
    written = PromptSet(
        folder.name,
        texts,
        description,
        selection=selection,
        gate=tuple(gate),
        models=tuple(models),
        bank=prompt.load("small").bank,
    )
    for file, body in files_of(written, remark=f"{text}\nheld = 3\n").items():
        (folder / file).write_bytes(body.encode())
    back = prompt.read(folder)
    assert bodies(back) == bodies(written)
    assert replace(back, texts={}) == replace(written, texts={})


def bodies(prompts: PromptSet) -> dict[str, str]:
    return {name: text.body for name, text in prompts.texts.items()}


@pytest.mark.parametrize("name", ["mine", "2b", "a-b_c", "für-1b"])
def test_names_that_a_set_can_have(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", "-p", "a/b", "..", "a b", "a.b", "a\n"])
def test_names_that_no_set_can_have(name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a set"):
        checked_name(name)
