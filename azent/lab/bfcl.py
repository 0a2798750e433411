"""Read cases of the Berkeley Function Calling Leaderboard, which its own checker judges.

`pip install --no-deps bfcl-eval` installs its files and its checker without the clients of all
vendors. Only the categories with one reply about Python functions are supported. Cases whose index
% 10 is 0 to 4 are the part "dev", the others are "final".
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import threading
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from azent.errors import CasesError, counted
from azent.lab.cases import PARTS, Case, Part, read_lines, sampled, stamp
from azent.messages import Call
from azent.values.arguments import one_of, place, whole

CATEGORIES = (
    *("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance"),
    *("live_simple", "live_multiple", "live_irrelevance"),
)
FURTHER = ("live_parallel", "live_parallel_multiple", "live_relevance")
FILE_NAME = re.compile(r"BFCL_v\d+_(\w+)\.json")
INSTALL = "Install it with `pip install --no-deps bfcl-eval`."
TYPES = {"dict": "object", "float": "number", "tuple": "array", "String": "string"}
_importing = threading.Lock()


def bfcl_cases(category: str, *, part: Part = "all", sample: int | None = None) -> list[Case]:
    """Read the cases of a category, or a sample of them that is spread evenly.

    Raises CasesError if bfcl-eval is not installed, or has no such category.
    """
    if category not in CATEGORIES + FURTHER:
        known = ", ".join(CATEGORIES + FURTHER)
        raise CasesError(f"BFCL has no category {category!r} of this kind", f"It has {known}.")
    files = sorted(file for file in _data().glob("*.json") if category_of(file) == category)
    if not files:
        raise CasesError(f"bfcl-eval brings no file for {category!r}", INSTALL)
    return read_bfcl(files[-1], part=part, sample=sample)


def read_bfcl(file: str | Path, *, part: Part = "all", sample: int | None = None) -> list[Case]:
    """Read the cases in one of its files, and the answers beside it. Raises CasesError."""
    file = place("file", file)
    one_of("part", part, PARTS)
    most = None if sample is None else whole("sample", sample, 1)
    rows = list(_rows(file, "question", "function"))
    truths = _truths(file)
    wanted = [row for index, row in enumerate(rows) if part in ("all", _part(index))]
    return [_case(row, truths.get(row["id"]), file) for row in sampled(wanted, most)]


def category_of(file: Path) -> str:
    """Return the category of a file of BFCL's, by its name; "" for any other file."""
    found = FILE_NAME.fullmatch(file.name)
    return found[1] if found else ""


def _part(index: int) -> Part:
    return "dev" if index % 10 < 5 else "final"


def _rows(file: Path, *lists: str) -> Iterator[dict[str, Any]]:
    """Read the objects in a file; each has an id, and a list under each of these keys."""
    for line in read_lines(file):
        row = line.value
        if not isinstance(row.get("id"), str):
            raise CasesError(f"{line.place}: this is no case of BFCL's: its id is no text")
        if lacking := next((key for key in lists if not isinstance(row.get(key), list)), None):
            raise CasesError(f"{line.place}: this is no case of BFCL's: its {lacking!r} is no list")
        yield row


def _truths(file: Path) -> dict[str, list[Any]]:
    """Read the possible answers by id, from the file beside the cases."""
    answers = file.parent / "possible_answer" / file.name
    if answers.is_file():
        return {row["id"]: row["ground_truth"] for row in _rows(answers, "ground_truth")}
    if "relevance" in category_of(file):
        return {}
    raise CasesError(f"{answers} is missing", "The possible answers stand beside the cases.")


def _case(row: Mapping[str, Any], truth: list[Any] | None, file: Path) -> Case:
    category = category_of(file)
    irrelevant = "irrelevance" in category
    due = 0 if irrelevant else len(truth or [None])

    def judge(calls: Sequence[Call], text: str) -> str:
        if truth is None:
            return "" if bool(calls) is not irrelevant else counted(len(calls), "call")
        return _wrong(row["function"], calls, truth, category)

    try:
        question, tools = row["question"][0], tuple(map(_spec, row["function"]))
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        text = f"{file}: the case {row['id']!r} is none of BFCL's: {error!r}"
        raise CasesError(text) from error
    hashed = stamp(row, truth)
    return Case(row["id"], question, tools, judge, due, category, stamp=hashed, suite="bfcl")


def _spec(function: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a function of BFCL's into a spec: a name without dots, types of JSON Schema."""
    return {
        "name": function["name"].replace(".", "_"),
        "description": function["description"],
        "parameters": _schema(function["parameters"]),
    }


def _schema(given: Any) -> Any:
    """Replace the types of BFCL by those of JSON Schema; its "any" is left out."""
    if isinstance(given, list):
        return [_schema(each) for each in given]
    if not isinstance(given, dict):
        return given
    kept = {key: _schema(value) for key, value in given.items() if (key, value) != ("type", "any")}
    if isinstance(name := kept.get("type"), str):
        kept["type"] = TYPES.get(name, name)
    return kept


# ---- its checker ---------------------------------------------------------------------------------


def _wrong(functions: list[Any], calls: Sequence[Call], truth: list[Any], category: str) -> str:
    """Let its checker say what is wrong with the calls; "" if nothing is."""
    with _importing:  # once for all threads
        check, python = _checker()
    made = [{call.tool: call.tool_input} for call in calls]
    try:
        verdict = check(functions, made, truth, python, category, "any")
    except Exception as error:  # the checker fails on some values that models write
        return f"not to be judged: {error!r}"
    return "" if verdict["valid"] else "; ".join(map(str, verdict["error"]))


@cache
def _data() -> Path:
    """Find the folder of its files without importing it."""
    found = importlib.util.find_spec("bfcl_eval")
    if found is None or found.origin is None:
        raise CasesError("bfcl-eval is not installed", INSTALL)
    return Path(found.origin).parent / "data"


@cache
def _checker() -> tuple[Any, Any]:
    """Import its checker, and its constant for Python.

    From its table of models, the checker only needs to know whether a model writes `_` for `.` in
    names. Importing that table would import the clients of all vendors, so a table of one row takes
    its place during the import.
    """
    _data()
    name = "bfcl_eval.constants.model_config"
    table = types.ModuleType(name)
    row = types.SimpleNamespace(underscore_to_dot=True)
    table.MODEL_CONFIG_MAPPING = {"any": row}  # type: ignore[attr-defined]  # what modules are for
    before = sys.modules.get(name)
    sys.modules[name] = table
    try:
        checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
        enums = importlib.import_module("bfcl_eval.constants.enums")
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
    return checker.ast_checker, enums.Language.PYTHON
