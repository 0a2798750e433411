"""How many of 23 questions with known answers are answered rightly, end to end, by `azent ask`.

    python benchmarks/questions.py -m qwen2.5-coder:1.5b        (any options of `azent ask`)

Each is asked in a process of its own. A right answer holds what is expected; one that takes longer
than ten minutes, or ends in an error, is wrong.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OFFICE = HERE / "questions_tools.py"
EXAMPLES = HERE.parent / "examples"
LONGEST = 600  # seconds
QUESTIONS = [  # kind, question, tools, what the answer has to hold: regular expressions
    ("first", "What is (2123 + 2321) * 312?", EXAMPLES / "arithmetic.py", ["1,?386,?528"]),
    ("first", "What's the weather in London, UK?", EXAMPLES / "weather.py", ["12 ?°|12 degrees"]),
    ("first", "How much is 123.45 USD in EUR?", EXAMPLES / "currency.py", [r"112\.2"]),
    ("one", "What is the capital of Norway?", OFFICE, ["Oslo"]),
    ("one", "How many people live in Lima?", OFFICE, ["10,?092,?000"]),
    ("one", "What is 17 % of 2350?", OFFICE, [r"399\.5"]),
    ("one", "What does a desk lamp cost?", OFFICE, [r"39\.9"]),
    ("one", "How many days are there from 2026-03-01 to 2026-12-24?", OFFICE, [r"\b298\b"]),
    ("one", "What is the email address of Anna Berg?", OFFICE, [r"anna\.berg@example\.org"]),
    ("one", "How warm is it in Cairo right now?", OFFICE, [r"\b31\b"]),
    ("one", "How far is it from Oslo to Bergen?", OFFICE, [r"\b463\b"]),
    ("several", "What is the temperature in Oslo and in Cairo?", OFFICE, ["[-−]4", r"\b31\b"]),
    ("several", "What are the capitals of Norway, Peru and Kenya?", OFFICE,
     ["Oslo", "Lima", "Nairobi"]),
    ("several", "What is the population of Lima, and what is that of Oslo?", OFFICE,
     ["10,?092,?000", "717,?710"]),
    ("several", "What do a desk lamp and an office chair cost each?", OFFICE, [r"39\.9", "129"]),
    ("two steps", "What is the temperature in the capital of Egypt?", OFFICE, [r"\b31\b"]),
    ("two steps", "How many people live in the capital of Kenya?", OFFICE, ["4,?397,?073"]),
    ("two steps", "What do 3 office chairs cost together?", OFFICE, [r"\b387"]),
    ("two steps", "What is the price of a desk lamp in US dollars?", OFFICE, [r"43\.89"]),
    ("two steps", "How many km is it from Oslo to Bergen and back again?", OFFICE, [r"\b926\b"]),
    ("none", "Who wrote Romeo and Juliet?", OFFICE, ["Shakespeare"]),
    ("none", "Say good morning in French.", OFFICE, ["(?i)bonjour"]),
    ("none", "Which is the largest planet of the solar system?", OFFICE, ["Jupiter"]),
]  # fmt: skip


def main() -> None:
    right = 0
    for number, (kind, question, tools, expected) in enumerate(QUESTIONS, start=1):
        began = time.monotonic()
        answer = ask(question, tools, sys.argv[1:])
        text = answer.get("answer", "")
        good = bool(text) and all(re.search(pattern, text) for pattern in expected)
        right += good
        took = f"{time.monotonic() - began:5.1f} s"
        print(f"{number:2} {'right' if good else 'WRONG'} {took}  {kind}: {question}", flush=True)
        if not good:
            print(f"         {told(answer)}", flush=True)
    print(f"{right} of {len(QUESTIONS)} right")


def told(answer: dict[str, Any]) -> str:
    """What was done and said instead."""
    calls = [f"{call['tool']}({call['tool_input']})" for call in answer.get("calls", ())]
    said = answer.get("answer") or answer.get("error")
    return f"{'; '.join(calls) or 'no calls'}: {said!r}"[:300]


def ask(question: str, tools: Path, options: list[str]) -> dict[str, Any]:
    """The answer as `azent ask --json` gives it, or what went wrong under "error"."""
    command = [sys.executable, "-m", "azent", "ask", question, "--tools", str(tools), "--json"]
    try:
        run = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False, timeout=LONGEST
        )
        return dict(json.loads(run.stdout))
    except (subprocess.TimeoutExpired, ValueError) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()
