"""MCP servers that do not keep to the protocol: what of them works, and what is reported."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import azent
from azent.mcp import connect
from azent.mcp.wire import mended
from azent.messages import Call
from tests.test_mcp import ENV, run

STRING = {"type": "string"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def command(folder: Path, **script: Any) -> str:
    file = folder / "script.json"
    file.write_text(json.dumps(script), "utf-8")
    return shlex.join([sys.executable, "-m", "tests.raw_mcp_server", str(file)])


TOOLS: list[Any] = [
    {"name": "fine", "description": "Fine.", "inputSchema": schema(a=STRING)},
    {"name": "no-schema"},
    {"name": "null_schema", "inputSchema": None, "description": None, "annotations": {"title": 5}},
    {"name": "php", "inputSchema": {"type": "object", "properties": []}},
    {"name": "draft4", "inputSchema": schema(n={"minimum": 0, "exclusiveMinimum": True})},
    {"name": "nothing_required", "inputSchema": {**schema(a=STRING), "required": None}},
    {"name": "no_type", "inputSchema": {"properties": {"a": STRING}}},
    {"name": "ecma", "inputSchema": schema(a={**STRING, "pattern": r"^\p{L}(?<x>[^])\u{1F600}$"})},
    {"name": "with_output", "inputSchema": {}, "outputSchema": {"type": "nonsense"}},
    {"name": "any", "inputSchema": True},
    {
        "name": "booleans",
        "inputSchema": schema(
            a={"anyOf": [False]}, b={"type": "array", "items": True}, c=True, d=False
        ),
    },
    {"name": "type_list", "inputSchema": {"type": ["object", "null"], "properties": {"a": STRING}}},
    {"name": "wrong_type", "inputSchema": {"type": "string", "properties": {"a": STRING}}},
    {"name": "draft3", "inputSchema": schema(a={**STRING, "required": "true"})},
    {
        "name": "root_reference",
        "inputSchema": {"$ref": "#/$defs/a", "$defs": {"a": schema(a=STRING)}},
    },
    {"name": "a.b", "inputSchema": {}},
    {"name": "a/b", "inputSchema": {}},
    {"name": "a_b_2", "inputSchema": {}},
    {"name": "get-user", "inputSchema": {}},
    {"name": "get_user", "inputSchema": {}},
    {"name": "get user", "inputSchema": {}},
    {"name": "get_user", "inputSchema": {}},
    {"name": "3d²", "inputSchema": {}},
    {"name": "blob", "inputSchema": schema(a={"type": "blob"})},
    {"name": "elsewhere", "inputSchema": schema(a={"$ref": "https://example.com/a.json"})},
    {"name": "text", "inputSchema": "object"},
    {"name": "never", "inputSchema": False},
    {"name": "rows", "inputSchema": {"type": "array", "items": STRING}},
    {"name": "endless", "inputSchema": schema(a={"allOf": [{"$ref": "#/properties/a"}]})},
    {"name": "within", "inputSchema": schema(a=schema(b={"items": {"type": "blob"}}))},
    {"name": 5, "inputSchema": {}},
    "tool",
]
OFFERED = """fine no_schema null_schema php draft4 nothing_required no_type ecma with_output
    any booleans type_list wrong_type draft3 root_reference a_b a_b_2 a_b_2_2
    get_user get_user_2 get_user_3 3d"""


def test_one_tool_does_not_cost_the_others(tmp_path: Path) -> None:
    reports: list[str] = []
    with connect(command(tmp_path, tools=TOOLS), env=ENV, report=reports.append) as server:
        names = [tool.name for tool in server.tools]
        azent.Agent(azent.Scripted('{"tools": []}', "Hello."), server.tools).ask("Hello?")
    assert names == [f"raw_{name}" for name in OFFERED.split()]
    refused = ("blob", "elsewhere", "text", "never", "rows", "endless", "within")
    for name in (*(f"parameters of {name!r}" for name in refused), "without a name"):
        assert [name in report for report in reports].count(True) == 1
    assert len(reports) == len(refused) + 1


def text(*texts: Any) -> list[Any]:
    return [{"type": "text", "text": each} for each in texts]


CHART = {"type": "chart", "points": [1]}
IMAGE = {"type": "image", "data": "AAAA"}
RESULTS: list[tuple[Any, bool, str]] = [
    # text and a value
    ({"content": text("21"), "structuredContent": {"t": 21}}, True, '21\n{"t": 21}'),
    ({"content": text('{"t":\n21}'), "structuredContent": {"t": 21}}, True, '{"t":\n21}'),
    ({"content": text("21"), "structuredContent": {"result": 21}}, True, "21"),
    ({"content": text("a", "b"), "structuredContent": {"result": ["a", "b"]}}, True, "a\nb"),
    ({"content": [], "structuredContent": {"t": 21}}, True, '{"t": 21}'),
    ({"structuredContent": {"t": 21}}, True, '{"t": 21}'),
    ({"content": None, "structuredContent": [1, 2]}, True, '{"result": [1, 2]}'),
    # the schema of the output is missed
    ({"content": text("no output")}, True, "no output"),
    ({"content": text("x"), "structuredContent": {"t": "y"}}, True, 'x\n{"t": "y"}'),
    ({"content": text("x"), "structuredContent": {"c": 5}, "isError": True}, False, 'x\n{"c": 5}'),
    ({"content": text("Sunny"), "structuredContent": {}}, True, "Sunny"),
    ({"content": text(""), "structuredContent": {"t": 1}}, True, '{"t": 1}'),
    ({"content": text("no", "way"), "structuredContent": {"t": 1}}, True, 'no\nway\n{"t": 1}'),
    (
        {"content": text('{"a": 1}', "2"), "structuredContent": {"result": [{"a": 1}, 2]}},
        True,
        '{"a": 1}\n2',
    ),
    (
        {"content": text("err"), "structuredContent": {"t": 5}, "isError": "true"},
        False,
        'err\n{"t": 5}',
    ),
    ({"content": text("fine"), "isError": "false"}, True, "fine"),
    ({"isError": True}, False, ""),
    ({"content": text("kept"), "_meta": 5}, True, "kept"),
    # parts that the protocol does not have
    ({"toolResult": {"old": 1}}, True, '{"old": 1}'),
    ({"content": [{"type": "resource", "resource": {"text": "inner"}}]}, True, "inner"),
    ({"content": [["a"], 5, None]}, True, '["a"]\n5\nnull'),
    ({"content": "plain"}, True, "plain"),
    ({"content": text("alone")[0]}, True, "alone"),
    ({"content": [CHART, *text("seen")]}, True, f"{json.dumps(CHART)}\nseen"),
    ({"content": [*text(5), "six"]}, True, '{"type": "text", "text": 5}\nsix'),
    ({"content": [IMAGE]}, True, "(image of application/octet-stream, 3 bytes)"),
    ({"content": [{"type": "resource", "resource": {}}]}, False, "result that cannot be read"),
]


def test_results_keep_their_text_and_their_value(tmp_path: Path) -> None:
    output = {**schema(t={"type": "number"}), "required": ["t"]}
    results = {f"t{at}": result for at, (result, _, _) in enumerate(RESULTS)}
    tools = [{"name": name, "inputSchema": {}, "outputSchema": output} for name in results]
    with connect(command(tmp_path, tools=tools, results=results), env=ENV) as server:
        calls = [Call(f"raw_{name}", {}) for name in results]
        came = azent.Toolbox(server.tools).run(calls)
    for result, (_, ok, said) in zip(came, RESULTS, strict=True):
        assert result.ok is ok
        assert result.text == said or (not ok and said in result.text)


@pytest.mark.parametrize(
    "noise",
    [
        ["starting up", "ready"],
        ["", "  "],
        ['{"level": "info"}', "[1]", "null"],
        ["caf\xe9 \xff"],
        ["{", '{"jsonrpc": "2.0"', "x" * 5_000],
        ["\x1b[32mready\x1b[0m", "{}", '"text"', "\x00"],
        ["Traceback (most recent call last):", "  File", "ValueError"] * 50,
    ],
)
def test_noise_on_standard_output_is_one_warning(
    noise: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reports: list[str] = []
    script = {"tools": TOOLS[:1], "results": {"fine": {"content": [{"type": "text", "text": "x"}]}}}
    address = command(tmp_path, noise=noise, **script)
    with caplog.at_level(logging.DEBUG), connect(address, env=ENV, report=reports.append) as server:
        assert [run(server, "fine").text for _ in range(3)] == ["x"] * 3
    assert len(reports) == 1
    assert "no message of the protocol" in reports[0]
    assert [record for record in caplog.records if record.name.startswith("mcp")] == []


@pytest.mark.parametrize(
    "result",
    [{}, {"tools": None}, {"tools": {}}, {"tools": [None, []], "nextCursor": 7}, {"content": 5}],
)
def test_whatever_is_answered_is_mended_without_an_error(result: Any) -> None:
    assert isinstance(mended(result, lambda report: None), dict)
