"""What the rules of words leave of right calls: on cases they were made on, and on others.

    python benchmarks/rules.py [SET ...]        (medium where none is named)

No model is asked. The expected calls of a case are handed to the rules of a prompt set as if a
model had written them; what is left has to be the same. Where it is not, no model can be right.
The first rows are cases of BFCL on which rules were made (index % 10 is 0 to 4), the others sets
that bfcl-eval brings too, which were first looked at when the rules had been made.
"""

from __future__ import annotations

import ast
import json
import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from azent import prompt
from azent.decide import log_of
from azent.evaluate.bfcl import _data, _part, tools_of
from azent.messages import Call
from azent.prompt import PromptSet
from azent.request import Terms
from azent.scope import scope_of
from azent.step.hold import held_calls
from azent.tools import specs_of

MADE_ON = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple",
           "live_multiple")  # fmt: skip
OTHERS = ("live_parallel", "live_parallel_multiple", "exec_simple", "exec_multiple",
          "exec_parallel", "exec_parallel_multiple")  # fmt: skip
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
Expected = list[tuple[str, dict[str, Any]]]


def main(sets: list[str]) -> None:
    for name in sets or ["medium"]:
        prompts = prompt.load(name)
        print(f"{name:24} cases  left as they are")
        for category in MADE_ON + OTHERS:
            found = Counter(verdict(*case, prompts) for case in cases(category))
            print(f"{category:24} {found.total():5}  {found.pop('left'):5}  {told(found)}")


def told(found: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in found.most_common())


def verdict(row: dict[str, Any], expected: Expected, prompts: PromptSet) -> str:
    """What becomes of the expected calls: left, or what the rules do to them."""
    log, system = log_of(row["question"][0])
    specs = specs_of(tools_of(row))
    names = {name.replace("_", "."): name for name in specs}
    calls = tuple(Call(names[name.replace("_", ".")], given) for name, given in expected)
    scope = scope_of(log, specs, prompts, "auto", system)
    if not scope.specs:
        return "declined"
    if not {call.tool for call in calls} <= scope.specs.keys():
        return "without the function"
    held = held_calls(calls, log, Terms(specs, prompts, system, trusted=False))
    if len(held) < len(calls) or (scope.most or len(calls)) < len(calls):
        return "with a call dropped"
    return "left" if held == calls else "with an input dropped"


def cases(category: str) -> Iterator[tuple[dict[str, Any], Expected]]:
    """The cases of a category, each as its row and the calls that are expected."""
    folder = _data()
    if category.startswith("exec"):
        folder = folder / "unused_datasets"
        questions, read = folder / "question", called
    else:
        questions, read = folder, possible
    file = f"BFCL_v4_{category}.json"
    answers = {row["id"]: row["ground_truth"] for row in rows(folder / "possible_answer" / file)}
    for index, row in enumerate(rows(questions / file)):
        if category in OTHERS or _part(index) == "dev":
            yield row, [read(each) for each in answers[row["id"]]]


def rows(file: Path) -> Iterable[dict[str, Any]]:
    return map(json.loads, file.read_text().splitlines())


def possible(answer: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A call with all the values that may be; "" among them means that none is needed."""
    [(name, values)] = answer.items()
    return name, first(values)


def first(values: dict[str, Any]) -> dict[str, Any]:
    """The first of the values that each input may have, without inputs that none is needed for."""
    return {
        name: plain(may_be[0] if isinstance(may_be, list) and may_be else may_be)
        for name, may_be in values.items()
        if not (isinstance(may_be, list) and "" in may_be)
    }


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return first(value)
    return [plain(each) for each in value] if isinstance(value, list) else value


def called(answer: str) -> tuple[str, dict[str, Any]]:
    """A call as Python writes it."""
    call = ast.parse(answer.strip(), mode="eval").body
    assert isinstance(call, ast.Call)
    return ast.unparse(call.func), {str(each.arg): literal(each.value) for each in call.keywords}


def literal(value: ast.expr) -> Any:
    """A value; what is to be worked out is, and any other expression stays the text that it is."""
    match value:
        case ast.BinOp(left, operation, right) if type(operation) in OPERATIONS:
            return OPERATIONS[type(operation)](literal(left), literal(right))
        case ast.List(elements) | ast.Tuple(elements):
            return [literal(each) for each in elements]
    try:
        return ast.literal_eval(value)
    except ValueError:
        return ast.unparse(value)


if __name__ == "__main__":
    main(sys.argv[1:])
