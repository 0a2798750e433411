"""One decision among a hundred functions: is the right one called, and what does it cost?

    python benchmarks/hundred.py MODEL [N]      N requests with a function due, and N / 3 with none

The requests are those of tests/cases/everyday.jsonl. Each is asked twice: offered its own few
functions, and offered all functions of that file with those of the bank, a hundred and more.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import azent
from azent import prompt

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
Case = Mapping[str, Any]


def main() -> None:
    """Ask, and print a line for the few and one for the hundred."""
    model = azent.open_model(sys.argv[1], num_ctx=4096)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    tools = json.loads((CASES / "everyday_tools.json").read_text("utf-8"))
    everything = list(_hundred(tools))
    cases = _cases(count)
    for name in ("few", "hundred"):
        began, due, none = time.monotonic(), [0, 0], [0, 0]
        for case in cases:
            offered = [tools[key] for key in case["tools"]] if name == "few" else everything
            right = _is_right(case, azent.select(case["question"], offered, model))
            seen = none if case["function"] is None else due
            seen[0], seen[1] = seen[0] + right, seen[1] + 1
        seconds = (time.monotonic() - began) / len(cases)
        shown = f"right function {due[0]} of {due[1]}, none due {none[0]} of {none[1]}"
        print(f"{name:8} {shown}, {seconds:.1f} s a decision", flush=True)


def _hundred(tools: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The functions of everyday requests, each name once, and others that the bank describes."""
    names: set[str] = set()
    nothing = {"type": "object", "properties": {}}
    others = (line.split(": ", 1) for line in prompt.load("medium").bank)
    made = [
        {"name": name.replace(" ", "_"), "description": said, "parameters": nothing}
        for name, said in others
    ]
    for tool in [*tools.values(), *made[::5]]:
        if tool["name"] not in names:
            names.add(tool["name"])
            yield tool


def _cases(count: int) -> list[Case]:
    """Every part of the file in equal shares, spread evenly."""
    lines = (CASES / "everyday.jsonl").read_text("utf-8").splitlines()
    every = [json.loads(line) for line in lines]
    english = [case for case in every if case["part"] in ("snips", "clinc")]
    none = [case for case in every if case["function"] is None]
    return [
        *english[:: len(english) // count][:count],
        *none[:: 3 * len(none) // count][: count // 3],
    ]


def _is_right(case: Case, reply: azent.Reply) -> bool:
    called = [call.tool for call in reply.calls if call.problem is None]
    return called == ([] if case["function"] is None else [case["function"].split("#")[0]])


if __name__ == "__main__":
    main()
