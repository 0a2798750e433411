"""The command line: the only place that prints or exits.

Answers go to standard output, everything else to standard error, so that a pipe gets the answer
and nothing but the answer. Exit codes: 0 all went well, 2 wrong usage, 130 interrupted; every error
of azent has its own (`azent.errors`).

A command is imported when it is run, or asked for its help, so that none of them pays for another.
"""

from __future__ import annotations

import sys

import typer

import azent
from azent.cli.commands import Commands

app = typer.Typer(
    name="azent",
    cls=Commands,
    help="Function calling for the models you run yourself.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    _complete()
    app(prog_name="azent")


def _complete() -> None:
    """Get ready to tell a shell what could follow, where one asks."""
    from azent.settings import COMPLETING, variable

    if variable(COMPLETING) is not None:
        from typer import completion

        completion.completion_init()  # type: ignore[attr-defined]  # not marked as exported
