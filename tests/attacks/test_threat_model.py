"""The threat model in docs/safety.md names tests that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from azent.schema.references import FOREIGN_CHARACTERS, FOREIGN_NODES
from azent.values.files import LARGEST_TEXT, LARGEST_TOML, LONGEST_LINE

TESTS = Path(__file__).resolve().parent.parent
PAGE = (TESTS.parent / "docs" / "safety.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "Shown by" not in line]
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))


def test_each_promise_names_a_test() -> None:
    assert len(ROWS) >= 20
    assert [row for row in ROWS if "::test_" not in row] == []


@pytest.mark.parametrize(("file", "name"), NAMED, ids="::".join)
def test_the_test_is_there(file: str, name: str) -> None:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert name in {each.name for each in tree.body if isinstance(each, kinds)}


def test_the_limits_are_as_the_page_says() -> None:
    page = " ".join(PAGE.split())
    assert f"{FOREIGN_NODES:,} parts and a million characters" in page
    assert f"`set.toml` have {LARGEST_TOML:,} characters" in page
    assert "a text of a prompt set a megabyte, a line of a batch 16 MB" in page
    assert (FOREIGN_CHARACTERS, LARGEST_TEXT, LONGEST_LINE) == (1_000_000, 1_000_000, 1 << 24)
