"""Spans of a run, as an OpenTelemetry exporter sees them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import azent
from azent.messages import Delta, End, Usage

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ADD = '{"tools": [{"tool": "add", "tool_input": {"a": 2, "b": 3}}]}'
COUNTED: list[Delta | End] = [Delta("It is 5."), End(usage=Usage(30, 4, 1))]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail() -> None:
    """Fail."""
    raise ValueError("SECRET")


def by_ask(agent: azent.Agent, **more: Any) -> azent.Answer:
    return agent.ask("What is 2 + 3?", **more)


def by_aask(agent: azent.Agent, **more: Any) -> azent.Answer:
    return asyncio.run(agent.aask("What is 2 + 3?", **more))


@pytest.fixture(params=[by_ask, by_aask])
def ask(request: pytest.FixtureRequest) -> Callable[..., azent.Answer]:
    way: Callable[..., azent.Answer] = request.param
    return way


@pytest.fixture(scope="module")
def _exporter() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def exporter(_exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    _exporter.clear()
    return _exporter


def spans_of(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def test_a_run_its_requests_and_its_calls_are_spans(
    ask: Callable[..., azent.Answer], exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    session = azent.Session("work", azent.Store(tmp_path / "sessions.db"))
    ask(azent.Agent(azent.Scripted(ADD, '{"tools": []}', COUNTED), [add]), session=session)
    names = [span.name for span in exporter.get_finished_spans()]
    chat = "chat scripted"
    assert names == [chat, "execute_tool add", chat, chat, "invoke_agent"]
    spans = spans_of(exporter)
    run = spans["invoke_agent"]
    for span in spans.values():
        assert span is run or (span.parent and span.parent.span_id == run.context.span_id)
    assert dict(run.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.conversation.id": "work",
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 6,
    }
    assert dict(spans["execute_tool add"].attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "1",
        "gen_ai.tool.type": "function",
    }
    assert (spans[chat].attributes or {})["gen_ai.response.finish_reasons"] == ("stop",)


def test_content_only_where_it_is_asked_for(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_ask(azent.Agent(azent.Scripted(ADD, '{"tools": []}', "It is 5."), [add]))
    assert "It is" not in "".join(span.to_json() for span in exporter.get_finished_spans())
    exporter.clear()
    monkeypatch.setenv(CONTENT, "true")
    by_ask(azent.Agent(azent.Scripted(ADD, '{"tools": []}', "It is 5."), [add]))
    spans = spans_of(exporter)
    call = spans["execute_tool add"].attributes or {}
    assert json.loads(str(call["gen_ai.tool.call.arguments"])) == {"a": 2, "b": 3}
    assert json.loads(str(call["gen_ai.tool.call.result"])) == "5"
    said = (spans["invoke_agent"].attributes or {})["gen_ai.output.messages"]
    assert json.loads(str(said))[0]["parts"][0]["content"] == "It is 5."


def test_failures_are_marked(
    ask: Callable[..., azent.Answer], exporter: InMemorySpanExporter
) -> None:
    calling = '{"tools": [{"tool": "fail", "tool_input": {}}]}'
    down = azent.ModelUnreachable("cannot reach SECRET")
    with pytest.raises(azent.ModelUnreachable):
        ask(azent.Agent(azent.Scripted(calling, down), [fail]))
    spans = exporter.get_finished_spans()
    failed = {span.name: (span.attributes or {}).get("error.type") for span in spans}
    assert failed == {
        "chat scripted": "ModelUnreachable",
        "execute_tool fail": "tool_error",
        "invoke_agent": "ModelUnreachable",
    }
    assert "SECRET" not in "".join(span.to_json() for span in spans)


def test_a_stream_that_is_left_ends_its_spans(exporter: InMemorySpanExporter) -> None:
    events = azent.Agent(azent.Scripted(["one ", "two"])).stream("?")
    next(events)
    assert trace.get_current_span() is trace.INVALID_SPAN
    events.close()
    assert {span.name for span in exporter.get_finished_spans()} == {
        "chat scripted",
        "invoke_agent",
    }


def test_an_agent_in_an_agent_is_traced_within_it(exporter: InMemorySpanExporter) -> None:
    inner = azent.Agent(azent.Scripted("5")).as_tool(name="expert")
    calling = '{"tools": [{"tool": "expert", "tool_input": {"question": "2 + 3?"}}]}'
    by_ask(azent.Agent(azent.Scripted(calling, '{"tools": []}', "5"), [inner]))
    runs = [span for span in exporter.get_finished_spans() if span.name == "invoke_agent"]
    inner_run, outer_run = runs
    assert inner_run.parent is not None
    assert inner_run.parent.span_id == outer_run.context.span_id


def test_a_chain_has_a_span_and_one_for_each_step(exporter: InMemorySpanExporter) -> None:
    chain = azent.Chain(str.upper) | azent.Agent(azent.Scripted("ok"))
    assert chain.run("a") == "ok"
    spans = {span.name: span for span in exporter.get_finished_spans()}
    parents = {name: span.parent.span_id for name, span in spans.items() if span.parent}
    chain_id = spans["chain"].context.span_id
    assert parents["step upper"] == parents["step scripted"] == chain_id
    assert parents["invoke_agent"] == spans["step scripted"].context.span_id
