"""The cases of tests/cases/runtime.jsonl, by both drivers, over real HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runtime import carried_out, problems

FILE = Path(__file__).parent / "cases" / "runtime.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("in_a_loop", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_case(case: dict[str, Any], in_a_loop: bool) -> None:
    seen = carried_out(case, in_a_loop=in_a_loop)
    assert not problems(case, seen), (case["why"], seen)


def test_each_case_has_an_id_of_its_own() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES)
