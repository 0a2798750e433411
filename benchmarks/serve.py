"""What a chat pays for passing through `azent serve`, against going straight to the server.

    python benchmarks/serve.py [ROUNDS]

The server behind follows a script, in a process of its own, as azent has one. Straight and through
take turns, so that a busy machine slows both. Printed are medians in milliseconds: to the first
token, and to the end. The goal is 2 ms more at the median; the exit code says whether it was met.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import statistics
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

GOAL = 2.0  # milliseconds
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello"}]})


def main() -> int:
    """Measure, print a table, and return 1 if the goal was missed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    behind, straight = _started(_serve_script)
    front, through = _started(_serve_azent, straight)
    try:
        return _report(_measured(straight, through, rounds))
    finally:
        for process in (front, behind):
            process.terminate()
            process.join()


def _report(times: dict[str, list[tuple[float, float]]]) -> int:
    missed = 0
    for at, what in enumerate(("first token", "whole reply")):
        one, two = (statistics.median(pair[at] for pair in times[way]) for way in times)
        missed += two - one > GOAL
        print(f"{what}: straight {one:.2f}, through {two:.2f}, {two - one:+.2f} (goal {GOAL})")
    return 1 if missed else 0


def _measured(straight: int, through: int, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds to the first token and to the end, of each way, on connections kept open."""
    ways = {
        "straight": http.client.HTTPConnection("127.0.0.1", straight),
        "through": http.client.HTTPConnection("127.0.0.1", through),
    }
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for number in range(rounds + 20):
        for way, connection in ways.items():
            taken = _ask(connection)
            if number >= 20:  # the first ones open connections and load code
                times[way].append(taken)
    return times


def _ask(connection: http.client.HTTPConnection) -> tuple[float, float]:
    began = time.perf_counter()
    connection.request("POST", "/api/chat", BODY, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.readline()
    first = time.perf_counter()
    answer.read()
    return (first - began) * 1000, (time.perf_counter() - began) * 1000


# ---- the two servers, each in a process of its own -----------------------------------------------


def _started(target: object, *arguments: object) -> tuple[multiprocessing.Process, int]:
    """A process that serves, and its port."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True)  # type: ignore[arg-type]  # both functions below fit
    process.start()
    port: int = ours.recv()
    return process, port


def _serve_script(told: Connection) -> None:
    from tests.scripted_ollama import Say, ScriptedOllama

    with ScriptedOllama(Say(pieces=["word "] * 20), decides=False) as server:
        told.send(int(server.url.rsplit(":", 1)[1]))
        time.sleep(3600)


def _serve_azent(told: Connection, behind: int) -> None:
    from azent import open_model
    from azent.serve import Options, listen, run

    options = Options(port=0)
    with listen(options) as listener:
        told.send(listener.getsockname()[1])
        run({"m": open_model("m", host=f"http://127.0.0.1:{behind}")}, options, listener)


if __name__ == "__main__":
    sys.exit(main())
