"""What reading replies costs, in CPU time: a normal reply, prose, and texts made to be slow.

    python benchmarks/reply.py [--quick]

The exit code says whether the goals were met: a normal reply in half a millisecond, prose at 5 MB a
second, and twice as much text in no more than three times the time, whatever it is made of.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable

from azent.messages import Specs
from azent.parsing.reader import Reader, read

NORMAL = 0.5  # milliseconds
PROSE = 5.0  # megabytes a second
GROWTH = 3.0  # what doubling a text may cost
CALL = '{"tools":[{"tool":"add","tool_input":{"a":1,"b":2}}]}'
NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
SPECS: Specs = {
    "add": {
        "name": "add",
        "parameters": {"type": "object", "properties": NUMBERS, "required": ["a", "b"]},
    }
}
LINE = "Lorem ipsum dolor sit amet, consectetur adipiscing elit.\n"
HARD = {
    "brackets": "[",
    "brackets on lines": "[\n",
    "objects": '{"a":',
    "objects on lines": '{"a": "x\n',
    "calls": '{"tool":"add","tool_input":{"a":1,"b":2}}\n',
    "broken calls": '{"tool": "add" "x" ]\n\n',
    "tags": "<tool_call>",
    "unclosed tags of a tool": "<add>",
    "Python": 'add(a="x"\n',
    "fences": "```json\n{\n",
    "Mistral": "[TOOL_CALLS]add",
    "Harmony": "<|channel|>analysis<|message|>x",
    "ReAct": "Thought: x\n",
    "quotes": '" ',
    "html": '<p class="x">a</p>\n',
    "comments": "{/*",
}
STREAMED = {  # a beginning, and what is repeated after it
    "many calls in pieces": ('{"tools": [', '{"tool":"add","tool_input":{"a":1,"b":2}},'),
    "a long list in pieces": ('{"tools": [{"tool":"add","tool_input":{"a": [', "1, "),
    "Action lines in pieces": ("", 'Action: add\nAction Input: {"a": 1, "b": 2}\n'),
    "Action words in pieces": ("", "Action: \n"),
    "words in pieces": ("", LINE),
}


def seconds(action: Callable[[], object], rounds: int) -> float:
    """The CPU time of the fastest round."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        action()
        best = min(best, time.process_time() - started)
    return best


def in_pieces(text: str) -> None:
    reader = Reader(SPECS)
    for at in range(0, len(text), 4):
        reader.feed(text[at : at + 4])
        reader.words()
    reader.close()


def growth(name: str, action: Callable[[str], object], begin: str, part: str, size: int) -> float:
    """How many times the CPU time twice as much text takes, which is printed too."""
    one, two = (begin + part * (times * size // len(part)) for times in (1, 2))
    once = seconds(functools.partial(action, one), 2)
    twice = seconds(functools.partial(action, two), 2)
    ratio = twice / max(once, 0.02)
    print(f"{name:24}{len(two) / 1e6 / twice:6.2f} MB/s, doubled: {ratio:4.1f} times the time")
    return ratio


def main() -> int:
    quick = "--quick" in sys.argv
    prose = LINE * (20_000 if quick else 180_000)
    many = 200 if quick else 2_000
    normal = seconds(lambda: [read(CALL, SPECS) for _ in range(many)], 3) / many * 1000
    fast = len(prose) / 1e6 / seconds(lambda: read(prose, SPECS), 2)
    piecewise = len(prose) / 10e6 / seconds(lambda: in_pieces(prose[: len(prose) // 10]), 1)
    print(f"a normal reply        {normal:8.3f} ms   (goal {NORMAL})")
    print(f"prose                 {fast:8.1f} MB/s (goal {PROSE})")
    print(f"prose in pieces of 4  {piecewise:8.1f} MB/s")
    size, worst = (20_000 if quick else 60_000), 0.0
    for name, part in HARD.items():
        worst = max(worst, growth(name, lambda text: read(text, SPECS), "", part, size))
    for name, (begin, part) in STREAMED.items():
        worst = max(worst, growth(name, in_pieces, begin, part, size // 2))
    return int(normal > NORMAL or fast < PROSE or worst > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
