"""The command line: the only place that prints or exits.

Answers go to standard output, everything else to standard error, so that a pipe gets the answer
and nothing but the answer. Exit codes: 0 all went well, 2 wrong usage, 130 interrupted; every error
of azent has its own (`azent.errors`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

import azent
from azent.cli import (
    ask,
    batch,
    chat,
    completion,
    config,
    doctor,
    evaluate,
    mcp,
    models,
    prompts,
    serve,
    sessions,
    tools,
)

app = typer.Typer(
    name="azent",
    help="Function calling for the models you run yourself.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _add(name: str, command: Callable[..., None], short_help: str, examples: str = "") -> None:
    app.command(name, short_help=short_help, epilog=examples or None)(command)


_add("ask", ask.command, "Ask a question, answered with functions.", ask.EXAMPLES)
_add("chat", chat.command, "Talk with a model, which may call functions.", chat.EXAMPLES)
_add("batch", batch.command, "Answer a file of questions.", batch.EXAMPLES)
_add("serve", serve.command, "Serve models over OpenAI's and Ollama's APIs.", serve.EXAMPLES)
_add("mcp", mcp.command, "Serve functions to clients of MCP.", mcp.EXAMPLES)
_add("eval", evaluate.command, "Measure how often models are right.", evaluate.EXAMPLES)
_add("doctor", doctor.command, "Check that all is there, and a real call.")
_add("completion", completion.command, "Print a shell's completion script.", completion.EXAMPLES)
app.add_typer(tools.app, name="tools", short_help="Show, check and call functions.")
app.add_typer(prompts.app, name="prompts", short_help="See, copy and check prompt sets.")
app.add_typer(models.app, name="models", short_help="List and fetch models.")
app.add_typer(sessions.app, name="sessions", short_help="Look after conversations that are kept.")
app.add_typer(config.app, name="config", short_help="Show settings and where they come from.")


@app.callback(invoke_without_command=True)
def _azent(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    if version:
        print(f"azent {azent.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A code page without an emoji must not stop us, nor lose what it was.
            stream.reconfigure(errors="backslashreplace")
    completion.prepare()
    app(prog_name="azent")
