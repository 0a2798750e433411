"""Run `azent tools`, which lists functions, shows and checks their schemas, and calls one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from azent.cli import console, options
from azent.cli.display import tool_lines
from azent.cli.options import option
from azent.errors import SchemaError, UsageError, reason_of
from azent.messages import Call
from azent.tools.files import load_tools

app = options.command_group("List, show, check and call functions.")
Style = Literal["json", "typescript", "python"]
Source = Annotated[str, typer.Argument(help="A file, a module, or file.py:function.")]
FAILED = 1  # exit code of `check` where it finds an error, and of a call that failed


@app.command("list", short_help="List the functions of a file.")
def list_tools(source: Source, as_json: options.AsJson = False) -> None:
    """List the functions of a file, each with the first line of its description."""
    box = _toolbox(source)
    if as_json:
        console.print_json([spec["name"] for spec in box.specs.values()])
        return
    for line in tool_lines(box.specs.values()):
        console.print_wrapped(line)


@app.command(
    "show",
    short_help="Show what a model is shown.",
    epilog="Example: azent tools show examples/currency.py --as python",
)
def show_tools(
    source: Source,
    style: Annotated[
        Style, option("STYLE", "json, typescript or python: how prompts can show them.", "--as")
    ] = "json",
) -> None:
    """Show what a model is shown of the functions."""
    from azent.schema.render import render

    console.print_text(render(_toolbox(source).specs, style))


@app.command("check", short_help="Find what models will misread.")
def check_tools(
    source: Source,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Find what small models will misread. Exits with 1 where there is an error."""
    from azent.schema.lint import lint

    findings = lint(_toolbox(source).specs)
    if as_json:
        console.print_json([asdict(finding) for finding in findings], indent=2)
    else:
        for found in findings:
            where = f"{found.tool}.{found.parameter}" if found.parameter else found.tool
            console.print_wrapped(f"{found.severity}: {where}: {found.message} [{found.rule}]")
        console.print_notice("" if findings else "nothing to mend")
    if any(strict or found.severity == "error" for found in findings):
        raise typer.Exit(FAILED)


@app.command(
    "call",
    short_help="Run one function with JSON input.",
    epilog="""Example: azent tools call examples/arithmetic.py add '{"a": 2, "b": 3}'""",
)
def call_tool(
    source: Source,
    name: Annotated[str, typer.Argument(help="The function.")],
    tool_input: Annotated[str, typer.Argument(help="Its input, as a JSON object.")] = "{}",
    as_json: options.AsJson = False,
) -> None:
    """Run one function with JSON input, checked as a model's would be."""
    box = _toolbox(source)
    if name not in box:
        raise SchemaError(f"{source} has no function {name!r}", f"It has {', '.join(box.specs)}.")
    (result,) = box.run([Call(name, _json_object(tool_input))])
    if as_json:
        problem = result.problem.kind if result.problem else None
        console.print_json({"ok": result.ok, "text": result.text, "problem": problem})
    elif result.ok:
        console.print_text(result.text)
    else:
        console.print_notice(f"azent: {result.text}")
    if not result.ok:
        raise typer.Exit(FAILED)


def _toolbox(source: str) -> Any:
    from azent.runtime.toolbox import Toolbox

    return Toolbox(load_tools(source))


def _json_object(text: str) -> dict[str, Any]:
    example = """Such as '{"a": 2}'."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the input is not JSON: {reason_of(error)}", example) from error
    if not isinstance(value, dict):
        raise UsageError(f"the input is {text[:80]}, not a JSON object", example)
    return value
