"""How many of twelve questions about sums lead to the right calls of `calculate`.

    python benchmarks/sums.py qwen2.5-coder:1.5b ["another description of its input"]

Two of them take two calls. What the calls give is compared, however they are written.
"""

from __future__ import annotations

import sys

import azent
from azent.tools.standard import calculate, days_between, now

QUESTIONS: dict[str, list[float]] = {
    "What is 17 * 23, and what is 12 + 30?": [391, 42],
    "What is 17 % of 2350?": [399.5],
    "What is (2123 + 2321) * 312?": [1386528],
    "How much is 15% of 80 plus 7?": [19],
    "What is 2 to the power of 10?": [1024],
    "A shirt costs 40 dollars and is 25 % off. What do I pay?": [30],
    "What is half of 1234?": [617],
    "What is 12.5 divided by 4?": [3.125],
    "Add 3.5, 4.25 and 7.": [14.75],
    "What is 1000 minus 37 times 4?": [852],
    "How much is 3 % of 12000?": [360],
    "What is 8 * 7 and 9 * 6?": [56, 54],
}


def main(model: str, description: str = "") -> None:
    described = azent.function_to_json(calculate)
    if description:
        described["parameters"]["properties"]["expression"]["description"] = description
    tools = [described, *map(azent.function_to_json, (now, days_between))]
    right = 0
    for question, expected in QUESTIONS.items():
        calls = azent.select(question, tools, model).calls
        found = [value_of(call.tool_input) for call in calls]
        right += found == expected
        print("right" if found == expected else "wrong", question, [c.tool_input for c in calls])
    print(right, "of", len(QUESTIONS))


def value_of(tool_input: dict[str, object]) -> float | None:
    """What a call of `calculate` gives; None for one that gives nothing, or is of another tool."""
    try:
        return round(float(calculate(str(tool_input["expression"]))), 6)
    except (KeyError, azent.ToolFailed):
        return None


if __name__ == "__main__":
    main(*sys.argv[1:])
