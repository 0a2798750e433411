"""Cases of the Berkeley Function Calling Leaderboard, judged by its own checker.

`pip install --no-deps bfcl-eval` brings its files and its checker; its other dependencies are the
clients of every vendor, none of which is needed here. The categories are those that ask for one
reply about Python functions. Cases whose index % 10 is 0 to 4 are for developing, the rest are set
aside for the final figure.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
import threading
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from azent.arguments import one_of, place, whole
from azent.errors import CasesError
from azent.evaluate.cases import Case, stamp
from azent.evaluate.parts import PARTS, Part, sampled
from azent.files import read_stream
from azent.messages import Call
from azent.wording import counted, reason_of

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_irrelevance",
)
FURTHER = ("live_parallel", "live_parallel_multiple", "live_relevance")
FILE_NAME = re.compile(r"BFCL_v\d+_(\w+)\.json")
INSTALL = "Install it with `pip install --no-deps bfcl-eval`."
_importing = threading.Lock()
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "String": "string"}


def bfcl_cases(category: str, *, part: Part = "all", sample: int | None = None) -> list[Case]:
    """The cases of a category, or a sample of them (`parts.sampled`).

    Raises CasesError: bfcl-eval is not installed, or there is no such category.
    """
    if category not in CATEGORIES + FURTHER:
        known = ", ".join(CATEGORIES + FURTHER)
        raise CasesError(f"BFCL has no category {category!r} of this kind", f"It has {known}.")
    files = sorted(file for file in _data().glob("*.json") if category_of(file) == category)
    if not files:
        raise CasesError(f"bfcl-eval brings no file for {category!r}", INSTALL)
    return read_bfcl(files[-1], part=part, sample=sample)


def read_bfcl(file: str | Path, *, part: Part = "all", sample: int | None = None) -> list[Case]:
    """The cases of one of its files, the possible answers beside it. Raises CasesError."""
    file = place("file", file)
    one_of("part", part, PARTS)
    most = None if sample is None else whole("sample", sample, 1)
    category = category_of(file)
    rows = list(_rows(file, ("question", "function")))
    truths = {row["id"]: row["ground_truth"] for row in _truths(file)}
    wanted = [row for index, row in enumerate(rows) if part == "all" or _part(index) == part]
    return [_case(row, truths.get(row["id"]), category, file) for row in sampled(wanted, most)]


def category_of(file: Path) -> str:
    """The category that a file of BFCL's is about, "" for any other file."""
    found = FILE_NAME.fullmatch(file.name)
    return found[1] if found else ""


def _part(index: int) -> Part:
    return "dev" if index % 10 < 5 else "final"


def _rows(file: Path, parts: Sequence[str]) -> Iterable[dict[str, Any]]:
    """The objects in a file, each with an id and with lists under the names of these parts."""
    try:
        lines = read_stream(file).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CasesError(f"{file} cannot be read: {reason_of(error)}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row(line, parts, f"{file}:{number}")


def _row(line: str, parts: Sequence[str], place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CasesError(f"{place}: this is no JSON: {reason_of(error)}") from error
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise CasesError(f"{place}: this is no case of BFCL's: it has no id that is a text")
    if lacking := next((each for each in parts if not isinstance(row.get(each), list)), None):
        raise CasesError(f"{place}: this is no case of BFCL's: its {lacking!r} is no list")
    return row


def _truths(file: Path) -> Iterable[dict[str, Any]]:
    answers = file.parent / "possible_answer" / file.name
    if answers.exists():
        return _rows(answers, ("ground_truth",))
    if "relevance" in category_of(file):
        return ()
    raise CasesError(f"{answers} is missing", "The possible answers stand beside the cases.")


def _case(row: Mapping[str, Any], truth: list[Any] | None, category: str, file: Path) -> Case:
    irrelevant = "irrelevance" in category
    due = 0 if irrelevant else len(truth or [None])

    def judge(calls: Sequence[Call], text: str) -> str:
        if truth is None:
            return "" if bool(calls) is not irrelevant else counted(len(calls), "call")
        return _checked(row["function"], calls, truth, category)

    marked = stamp(row, truth)
    try:
        question, tools = row["question"][0], tools_of(row)
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        said = f"{file}: the case {row['id']!r} is none of BFCL's: {error!r}"
        raise CasesError(said) from error
    return Case(row["id"], question, tools, judge, due, category, stamp=marked)


def tools_of(row: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The functions of a row as specs: names without dots, types as JSON Schema has them."""
    return tuple(
        {
            "name": function["name"].replace(".", "_"),
            "description": function["description"],
            "parameters": _schema(function["parameters"]),
        }
        for function in row["function"]
    )


def _schema(given: Any) -> Any:
    """A schema of BFCL's with the types of JSON Schema; its "any" is no type at all."""
    if isinstance(given, list):
        return [_schema(each) for each in given]
    if not isinstance(given, dict):
        return given
    kept = {key: value for key, value in given.items() if (key, value) != ("type", "any")}
    return {
        key: _TYPES.get(value, value)
        if key == "type" and isinstance(value, str)
        else _schema(value)
        for key, value in kept.items()
    }


# ---- its checker ---------------------------------------------------------------------------------


def _checked(functions: list[Any], calls: Sequence[Call], truth: list[Any], category: str) -> str:
    check, python = _checker()
    made = [{call.tool: call.tool_input} for call in calls]
    try:
        verdict = check(functions, made, truth, python, category, "any")
    except Exception as error:  # it was not written for every value that a model can write
        return f"not to be judged: {error!r}"
    return "" if verdict["valid"] else "; ".join(map(str, verdict["error"]))


@cache
def _data() -> Path:
    """The folder of its files, found without importing it."""
    found = importlib.util.find_spec("bfcl_eval")
    if found is None or found.origin is None:
        raise CasesError("bfcl-eval is not installed", INSTALL)
    return Path(found.origin).parent / "data"


def _checker() -> tuple[Any, Any]:
    """Its checker, and its word for Python; cases that are asked side by side want it at once."""
    with _importing:
        return _imported_checker()


@cache
def _imported_checker() -> tuple[Any, Any]:
    """The same, imported.

    The checker looks one thing up in a table of models: whether a model writes `_` for `.` in
    names. Importing that table imports the clients of every vendor, so a table of one row takes
    its place while the checker is imported.
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
