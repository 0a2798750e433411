"""Real clients of both protocols call tools through the server, as their users write it.

They are heavy, so they are installed apart: pip install --group clients
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import azent
from azent.messages import Request
from tests.serving import Telling, calls_text, serving
from tests.test_serve_traffic import crowd, own_number

pytestmark = [
    pytest.mark.slow,
    # What these clients leave open, they leave to the collector of garbage.
    pytest.mark.filterwarnings("ignore:.*unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = Path(__file__).resolve().parent.parent
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ABOUT = {"name": "get_weather", "description": "The weather in a city.", "parameters": CITY}
WEATHER = {"type": "function", "function": ABOUT}
QUESTION = "What is the weather in Paris?"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"It is sunny in {city}, 18 degrees."


def meteorologist(request: Request) -> str:
    """Calls once, then answers with what came back."""
    said = "\n".join(message["content"] for message in request.messages[1:])
    result = re.search(r'"result": "([^"]+)"', said)
    if request.format is None:
        return result[1] if result else "Hello."
    return calls_text() if result else calls_text(("get_weather", {"city": "Paris"}))


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What a client left open is collected here, where its warnings are known."""
    yield
    gc.collect()


@pytest.fixture(params=["scripted", "real"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The URL of a server, and the name of its model: one that follows a script, and a real one."""
    if request.param == "scripted":
        model: Any = Telling(meteorologist, name="scripted")
    else:
        model = azent.open_model("qwen2.5-coder:1.5b", host=request.getfixturevalue("ollama_15b"))
    with serving({model.name: model}) as url:
        yield url, model.name


@pytest.fixture(scope="session")
def ollama_15b() -> str:
    """The URL of a real Ollama that has qwen2.5-coder:1.5b, named in AZENT_TEST_OLLAMA."""
    return TEST_OLLAMA or pytest.skip("AZENT_TEST_OLLAMA names no Ollama server")


TEST_OLLAMA = os.environ.get("AZENT_TEST_OLLAMA")  # read before the tests get a world of their own


def client(name: str) -> Any:
    return pytest.importorskip(name, reason="needs the group `clients`")


@pytest.mark.parametrize("stream", [False, True])
def test_openai(place: tuple[str, str], stream: bool) -> None:
    url, model = place
    api = client("openai").OpenAI(base_url=f"{url}/v1", api_key="none", timeout=600, max_retries=0)
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    asked = {"model": model, "tools": [WEATHER]}
    if stream:
        with api.chat.completions.stream(messages=messages, **asked) as events:
            message = events.get_final_completion().choices[0].message
    else:
        message = api.chat.completions.create(messages=messages, **asked).choices[0].message
    (call,) = message.tool_calls
    assert call.function.name == "get_weather"
    messages += [
        message,
        {"role": "tool", "tool_call_id": call.id, "content": get_weather("Paris")},
    ]
    answer = api.chat.completions.create(messages=messages, **asked)
    assert "18" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"


def test_openai_parses_a_structured_answer(place: tuple[str, str]) -> None:
    from pydantic import BaseModel

    class Weather(BaseModel):
        city: str
        degrees: int

    url, model = place
    if model == "scripted":
        pytest.skip("a script is not held to a schema")
    api = client("openai").OpenAI(base_url=f"{url}/v1", api_key="none", timeout=600, max_retries=0)
    said = [{"role": "user", "content": "It is sunny in Paris, 18 degrees. What is it like?"}]
    answer = api.chat.completions.parse(model=model, messages=said, response_format=Weather)
    assert answer.choices[0].message.parsed == Weather(city="Paris", degrees=18)


@pytest.mark.parametrize("stream", [False, True])
def test_ollama(place: tuple[str, str], stream: bool) -> None:
    url, model = place
    api = client("ollama").Client(url, timeout=600)
    messages: list[Any] = [{"role": "user", "content": QUESTION}]

    def ask() -> tuple[str, list[Any]]:
        answer = api.chat(model, messages, tools=[get_weather], stream=stream)
        parts = [part.message for part in answer] if stream else [answer.message]
        calls = [call for part in parts for call in part.tool_calls or ()]
        return "".join(part.content or "" for part in parts), calls

    _, (call,) = ask()
    assert (call.function.name, call.function.arguments) == ("get_weather", {"city": "Paris"})
    messages.append({"role": "assistant", "tool_calls": [call]})
    messages.append({"role": "tool", "tool_name": "get_weather", "content": get_weather("Paris")})
    text, calls = ask()
    assert "18" in text
    assert calls == []


def test_ollama_sees_what_is_served(place: tuple[str, str]) -> None:
    url, model = place
    api = client("ollama").Client(url)
    assert [each.model for each in api.list().models] == [model]
    assert "tools" in api.show(model).capabilities
    with pytest.raises(client("ollama").ResponseError, match="not fetched"):
        api.pull(model)


def test_langchain_ollama(place: tuple[str, str]) -> None:
    url, model = place
    chat = client("langchain_ollama").ChatOllama(model=model, base_url=url, temperature=0)
    messages = importlib.import_module("langchain_core.messages")
    bound = chat.bind_tools([get_weather])
    said = [messages.HumanMessage(QUESTION)]
    reply = bound.invoke(said)
    (call,) = reply.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Paris"})
    result = messages.ToolMessage(get_weather("Paris"), tool_call_id=call["id"])
    streamed = "".join(str(part.content) for part in bound.stream([*said, reply, result]))
    assert "18" in streamed


@pytest.mark.parametrize("stream", [False, True])
def test_pydantic_ai(place: tuple[str, str], stream: bool) -> None:
    url, name = place
    ai = client("pydantic_ai")
    models = importlib.import_module("pydantic_ai.models.openai")
    providers = importlib.import_module("pydantic_ai.providers.openai")
    provider = providers.OpenAIProvider(base_url=f"{url}/v1", api_key="none")
    agent = ai.Agent(models.OpenAIChatModel(name, provider=provider), tools=[get_weather])
    called = []

    async def ask() -> str:
        if stream:
            async with agent.run_stream(QUESTION) as running:
                text = await running.get_output()
                called.extend(running.all_messages())
                return str(text)
        result = await agent.run(QUESTION)
        called.extend(result.all_messages())
        return str(result.output)

    assert "18" in asyncio.run(ask())
    assert "get_weather" in str(called)


# ---- for long ------------------------------------------------------------------------------------


def test_two_minutes_of_two_hundred_clients() -> None:
    model = Telling(own_number, pause=0.002)
    with serving({"m": model}) as url:
        counts = []
        sizes = []
        for _ in range(2):
            counts += asyncio.run(crowd(url, clients=200, seconds=60))
            model.heard.clear()  # what the script keeps is not the server's
            sizes.append(resident())
    assert min(counts) >= 1
    assert sizes[1] <= 1.1 * sizes[0]


def resident() -> int:
    """The bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_schemathesis_finds_no_failure_of_the_server(tmp_path: Path) -> None:
    client("schemathesis")
    with serving({"scripted": Telling(meteorologist)}) as url:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"]
        checks = ["--checks", "not_a_server_error", "--max-examples", "100"]
        ran = subprocess.run(
            [*command, *checks], capture_output=True, text=True, timeout=1200, cwd=tmp_path
        )
    assert ran.returncode == 0, ran.stdout[-4000:]
