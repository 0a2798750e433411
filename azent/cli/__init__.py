"""The command line: the only place that prints or exits.

Answers go to standard output, everything else to standard error, so that a pipe gets the answer
and nothing but the answer. Exit codes: 0 all went well, 2 wrong usage, 130 interrupted; every error
of azent has its own (`azent.errors`).
"""

from __future__ import annotations

import sys

import typer

import azent
from azent.cli import (
    ask,
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
app.command("ask", epilog=ask.EXAMPLES)(ask.command)
app.command("chat", epilog=chat.EXAMPLES)(chat.command)
app.command("serve", epilog=serve.EXAMPLES)(serve.command)
app.command("mcp", epilog=mcp.EXAMPLES)(mcp.command)
app.command("eval", epilog=evaluate.EXAMPLES)(evaluate.command)
app.add_typer(tools.app, name="tools")
app.add_typer(prompts.app, name="prompts")
app.command("doctor")(doctor.command)
app.add_typer(models.app, name="models")
app.add_typer(sessions.app, name="sessions")
app.add_typer(config.app, name="config")
app.command("completion", epilog=completion.EXAMPLES)(completion.command)


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
    app()
