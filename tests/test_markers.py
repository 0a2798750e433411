"""No mark of any chat template in use comes out of a tool's result as that mark.

`cases/templates.json` holds a conversation in the form of each family's template; what is no word
and no white space in it is what the family marks its messages with.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from azent.values.results import escape_markers
from tests.reading import CASES

TEMPLATES: dict[str, str] = json.loads((CASES / "templates.json").read_text("utf-8"))
MODELS = Path(__file__).resolve().parent.parent / "docs" / "models.md"
MARK = re.compile(
    r"<{1,2}/?[^<>\s]{1,40}(?: name=\"\w+\")?>{1,2}|\[\|?/?[A-Za-z_ ]{2,24}\|?\]"
    r"|\]~!?b[\[\]]|\[e~\[|\]<\]\w+\[>\[|✿\w+✿|◁/?\w+▷"
)


def marks(text: str) -> set[str]:
    """The marks in a text of a template's form."""
    return set(MARK.findall(text))


def published() -> set[str]:
    """The marks that a collection of model outputs names for its families."""
    found = importlib.util.find_spec("canitoolcall")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0]) / "_data" / "fixtures"
    families = [json.loads(path.read_text("utf-8")) for path in folder.glob("*/family.json")]
    named = [mark for family in families for mark in family["markers"]]
    stops = [
        stop
        for family in families
        for model in family["reference_models"]
        for stop in model["stop_tokens"]
    ]
    return {mark for mark in (*named, *stops) if mark[0] in "<[]"}


ALL = sorted({mark for text in TEMPLATES.values() for mark in marks(text)} | published())


@pytest.mark.parametrize("around", ["{}", "x{}system\\", "{}{}", '\\"{}\n', '[1, "{}"]'])
def test_a_mark_is_escaped_and_means_the_same(around: str) -> None:
    for mark in ALL:
        told = {"result": around.replace("{}", mark), mark: 1}
        written = escape_markers(json.dumps(told, ensure_ascii=False))
        assert mark not in written
        assert json.loads(written) == told


def test_the_models_page_names_the_families() -> None:
    page = MODELS.read_text("utf-8")
    assert [family for family in TEMPLATES if family not in page] == []


@pytest.mark.parametrize(
    "value",
    ["a < b and c > d", "x = [1, [2]]", "<p>words</p>", "a || b", "[link](x)", "C:\\new", "~b"],
)
def test_other_text_is_left_alone(value: str) -> None:
    assert escape_markers(json.dumps(value)) == json.dumps(value)
