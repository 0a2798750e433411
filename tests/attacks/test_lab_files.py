"""The files of an evaluation: none without an end is read, and no pipe that nobody named."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from azent.errors import CasesError
from azent.lab.bfcl import read_bfcl
from azent.lab.cases import read_cases
from azent.lab.evaluation import evaluate, read_outcomes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices are POSIX's")

CASE = {"id": "1", "question": "Hello?", "calls": []}
UNNAMED: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "zeros without an end": lambda path: path.symlink_to("/dev/zero"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
}


@pytest.mark.parametrize("make", UNNAMED.values(), ids=UNNAMED)
def test_what_lies_beside_the_cases_is_read_only_from_a_file(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps(CASE))
    make(tmp_path / "cases_tools.json")
    assert [case.tools for case in read_cases(tmp_path / "cases.jsonl")] == [()]

    rows = tmp_path / "BFCL_v4_simple_python.json"
    rows.write_text(json.dumps({"id": "1", "question": [[]], "function": []}))
    (tmp_path / "possible_answer").mkdir()
    make(tmp_path / "possible_answer" / rows.name)
    with pytest.raises(CasesError, match="is missing"):
        read_bfcl(rows)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full", "/dev/null", "/dev"])
def test_a_device_holds_no_cases_and_takes_no_outcomes(device: str) -> None:
    with pytest.raises(CasesError, match="cannot be read"):
        read_cases(device)
    with pytest.raises(CasesError, match="cannot be used"):
        read_outcomes(device)
    with pytest.raises(CasesError, match="cannot be used"):
        list(evaluate([], device))


def test_a_pipe_takes_no_outcomes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CasesError, match="cannot be used"):
        list(evaluate([], tmp_path / "pipe"))
