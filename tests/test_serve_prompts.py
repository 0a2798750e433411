"""Every prompt set serves: what only narrows a decision down is never shown."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from azent import prompt
from azent.messages import Request
from azent.serve import Options
from tests.asking import CALLED, PARIS, SUNNY, USER, WEATHER, called
from tests.serving import Telling, serving


def instance(schema: Any) -> Any:
    """A value that a schema of azent's allows: as much of it as may be."""
    if "enum" in schema:
        return schema["enum"][-1]
    if "anyOf" in schema:
        return instance(schema["anyOf"][0])
    kind = schema.get("type")
    if kind == "object":
        return {name: instance(each) for name, each in schema.get("properties", {}).items()}
    if kind == "array":
        return [instance(schema["items"])]
    return {"string": "Paris", "boolean": True, "integer": 1, "number": 1, None: "Paris"}[kind]


def obedient(request: Request) -> str:
    """Keeps to the schema that a reply is held to; without one, calls until there is a result."""
    if request.format:
        return json.dumps(instance(request.format))
    return "It is sunny." if "sunny" in str(request.messages) else PARIS


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("prompts", sorted(prompt.folders()))
def test_every_prompt_set_serves(prompts: str, stream: bool) -> None:
    said = [USER, CALLED, SUNNY]
    with serving({"m": Telling(obedient)}, Options(prompts=prompts)) as url:
        asked = {"model": "m", "tools": [WEATHER], "stream": stream, "tool_choice": "required"}
        calls = httpx.post(f"{url}/api/chat", json={**asked, "messages": [USER]}, timeout=30)
        asked["tool_choice"] = "none"
        words = httpx.post(f"{url}/api/chat", json={**asked, "messages": said}, timeout=30)
    lines = [json.loads(line)["message"] for line in calls.text.splitlines()]
    assert [call for line in lines for call in called(line)] == [("get_weather", {"city": "Paris"})]
    assert "".join(line["content"] for line in lines) == ""
    answer = [json.loads(line)["message"]["content"] for line in words.text.splitlines()]
    assert "".join(answer) == "It is sunny."
