"""How long an answer with one call takes, against the bare server and against smolagents.

    python benchmarks/answer.py [MODEL] [TIMES]          (qwen2.5-coder:1.5b, 5)

Needs an Ollama server that has the model; it is asked once before anything is timed. Two ratios:

- `azent ask` as a process, from its start to its end, against the two shortest requests that do the
  same on the bare server: one that names the function and is held to its call, one with the result.
  Each time asks for another city, of both.
- "What is (2123 + 2321) * 312?" with `add` and `multiply`: `azent ask` against smolagents'
  ToolCallingAgent through the server's `/v1`, which is a process too. smolagents is installed
  into an environment of its own, in azent's cache folder, the first time.
"""

from __future__ import annotations

import subprocess
import sys
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from azent import config

HERE = Path(__file__).resolve().parent
WEATHER = '''
def get_weather(city: str) -> str:
    """Current weather of a city."""
    return f"14 degrees, light rain in {city}"
'''
SUMS = '''
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b
'''
SMOLAGENTS = '''
import sys
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

@tool
def add(a: float, b: float) -> float:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b

@tool
def multiply(a: float, b: float) -> float:
    """Multiply two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a * b

model = OpenAIServerModel(sys.argv[1], api_base=sys.argv[2] + "/v1", api_key="none", temperature=0)
print(ToolCallingAgent([add, multiply], model, max_steps=8, verbosity_level=0).run(sys.argv[3]))
'''
CALL = {
    "type": "object",
    "properties": {
        "tool": {"const": "get_weather"},
        "tool_input": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
    "required": ["tool", "tool_input"],
}
CITIES = ("Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Accra", "Hanoi", "Perth", "Sofia", "Tunis")
OPTIONS = {
    "temperature": 0,
    "num_ctx": 16384,
}  # what azent sends too: else the model is loaded anew
SUM = "What is (2123 + 2321) * 312?"


def main(model: str = "qwen2.5-coder:1.5b", times: str = "5") -> None:
    host = config.ollama_host()
    folder = config.cache_folder() / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    python = smolagents_python(folder)
    (folder / "weather.py").write_text(WEATHER)
    (folder / "sums.py").write_text(SUMS)
    (folder / "smol.py").write_text(SMOLAGENTS)
    weather = folder / "weather.py"
    bare(host, model, "Rome")
    azent_ask(weather, model, question("Rome"))
    cities = CITIES[: int(times)]
    compare(
        "one call",
        [timed(partial(bare, host, model, city)) for city in cities],
        [timed(partial(azent_ask, weather, model, question(city))) for city in cities],
    )
    compare(
        "a sum of two steps",
        [timed(partial(run, [python, folder / "smol.py", model, host, SUM])) for _ in cities],
        [timed(partial(azent_ask, folder / "sums.py", model, SUM)) for _ in cities],
    )


def compare(what: str, theirs: list[float], ours: list[float]) -> None:
    """Print the medians of the seconds that both took, and azent's in terms of the other's."""
    one, other = median(ours), median(theirs)
    print(
        f"{what}: azent {one:.1f} s, the other {other:.1f} s, ratio {one / other:.2f}", flush=True
    )


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    began = time.monotonic()
    action()
    return time.monotonic() - began


def question(city: str) -> str:
    return f"What is the weather in {city}?"


def bare(host: str, model: str, city: str) -> str:
    """Ask the server for a call and, with its result, for words; return the words."""
    shown = (
        f"get_weather(city: str): Current weather of a city.\n{question(city)}\nReply with JSON."
    )
    messages: list[dict[str, Any]] = [{"role": "user", "content": shown}]
    call = chat(host, model, messages, CALL)
    messages += [
        {"role": "assistant", "content": call},
        {"role": "user", "content": f"14 degrees, light rain in {city}\nAnswer in words."},
    ]
    return chat(host, model, messages, None)


def chat(
    host: str, model: str, messages: list[dict[str, Any]], schema: dict[str, Any] | None
) -> str:
    """Send one request to the server and return the text of its reply."""
    body = {"model": model, "messages": messages, "stream": False, "options": OPTIONS}
    if schema:
        body["format"] = schema
    reply = httpx.post(f"{host}/api/chat", json=body, timeout=600).raise_for_status().json()
    return str(reply["message"]["content"])


def azent_ask(tools: Path, model: str, asked: str) -> str:
    return run([sys.executable, "-m", "azent", "ask", asked, "--tools", tools, "-m", model, "-q"])


def run(command: list[Any]) -> str:
    """Run a command and return what it prints. Raises CalledProcessError if it fails."""
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=True
    ).stdout


def smolagents_python(folder: Path) -> Path:
    """Return the Python of an environment that has smolagents; make it if it is missing."""
    python = folder / "smolagents" / "bin" / "python"
    if not python.exists():
        venv.create(python.parent.parent, with_pip=True)
        run([python, "-m", "pip", "install", "-q", "smolagents", "openai"])
    return python


if __name__ == "__main__":
    main(*sys.argv[1:])
