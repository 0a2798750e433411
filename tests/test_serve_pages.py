"""What the server says of itself, and what it refuses to do."""

from __future__ import annotations

import httpx
import pytest

from azent.messages import Delta, End, Usage
from azent.serve import Options
from tests.asking import (
    BOTH,
    NONE,
    PARIS,
    PATHS,
    TIME,
    USER,
    WEATHER,
    chat,
    said_of,
)
from tests.serving import script, serving

# ---- what there is -------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "status"), [("m", 200), ("m:latest", 200), ("other", 404)])
@pytest.mark.parametrize("path", PATHS)
def test_models_have_names(path: str, asked: str, status: int) -> None:
    assert chat(script(NONE, "Hi."), path, name=asked).status_code == status


def test_every_page_that_describes() -> None:
    with serving({"m": script(NONE, "Hi.", PARIS), "n": script("x")}) as url:
        assert [m["id"] for m in httpx.get(f"{url}/v1/models").json()["data"]] == ["m", "n"]
        assert httpx.get(f"{url}/v1/models/n").json()["id"] == "n"
        assert httpx.get(f"{url}/v1/models/x").status_code == 404
        assert [m["name"] for m in httpx.get(f"{url}/api/tags").json()["models"]] == ["m", "n"]
        shown = httpx.post(f"{url}/api/show", json={"model": "m"}).json()
        assert "tools" in shown["capabilities"]
        assert shown["model_info"]["azent.context_length"] == 8192
        assert httpx.get(f"{url}/api/version").json()["version"]
        assert httpx.get(f"{url}/health").json() == {"status": "ok"}
        assert httpx.get(url).text == "azent is running"
        assert "/api/chat" in httpx.get(f"{url}/openapi.json").json()["paths"]


@pytest.mark.parametrize("name", ["pull", "create", "copy", "push", "delete", "blobs/sha256:0"])
def test_models_are_not_managed_through_azent(name: str) -> None:
    method = {"delete": "DELETE"}.get(name, "POST")
    with serving({"m": script("x")}) as url:
        answer = httpx.request(method, f"{url}/api/{name}", json={"model": "m"})
    assert answer.status_code == 403
    assert "not fetched" in said_of(answer)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nothing", 404), ("GET", "/api/nothing", 404), ("GET", "/api/chat", 405),
     ("GET", "/v1/chat/completions", 405)],
)  # fmt: skip
def test_unknown_paths_and_methods(method: str, path: str, status: int) -> None:
    with serving({"m": script("x")}) as url:
        answer = httpx.request(method, url + path)
    assert answer.status_code == status
    assert said_of(answer)


def test_metrics_count_what_happened() -> None:
    with serving(
        {"m": script('{"tools": [{"tool": "get_weather", "tool_input": {}}]}', BOTH)}
    ) as url:
        asked = {"model": "m", "messages": [USER], "tools": [WEATHER, TIME]}
        httpx.post(f"{url}/v1/chat/completions", json=asked)
        httpx.get(f"{url}/" + "x" * 50)
        text = httpx.get(f"{url}/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines['azent_requests_total{route="/v1/chat/completions",status="200"}'] == "1.0"
    assert lines['azent_requests_total{route="other",status="404"}'] == "1.0"
    assert lines['azent_replies_total{by="azent"}'] == "1.0"
    assert lines["azent_tool_calls_total"] == "2.0"
    assert lines["azent_corrections_total"] == "1.0"
    assert lines["azent_requests_at_work"] == "0.0"
    assert lines['azent_request_seconds_bucket{le="+Inf"}'] == lines["azent_request_seconds_count"]


def test_usage_is_the_sum_over_the_requests_of_a_reply() -> None:
    first = [Delta(NONE), End(usage=Usage(prompt_tokens=5, reply_tokens=2, requests=1))]
    second = [Delta("Hi."), End(usage=Usage(prompt_tokens=7, reply_tokens=3, requests=1))]
    answer = chat(script(first, second), "/v1/chat/completions").json()
    assert answer["usage"] == {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}


def test_a_prompt_set_can_be_named() -> None:
    model = script(PARIS)
    with serving({"m": model}, Options(prompts="no such set")) as url:
        answer = httpx.post(f"{url}/v1/chat/completions", json={"model": "m", "messages": [USER]})
    assert answer.status_code == 500
    assert "no such set" in said_of(answer)
