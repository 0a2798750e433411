"""The command line: the only place that prints or exits.

Answers go to standard output, everything else to standard error, so that a pipe gets the answer
and nothing but the answer. Exit codes: 0 all went well, 2 wrong usage, 130 interrupted; every error
of azent has its own (`azent.errors`).

A command is imported when it is run, or asked for its help, so that none of them pays for another.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

import typer

import azent
from azent.cli.commands import Commands

app = typer.Typer(
    name="azent",
    cls=Commands,
    help="Function calling for the models you run yourself.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _azent(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    if version:
        typer.echo(f"azent {azent.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        # A code page without an emoji must not stop us, nor lose what it was.
        _on_odd_text(stream, "backslashreplace")
    _on_odd_text(sys.stdin, "surrogateescape")  # as in arguments: whoever takes the text refuses it
    _complete()
    app(prog_name="azent")


def _open_what_is_closed() -> None:
    """Streams that were closed before we began, as by `2>&-`, lead nowhere from here on.

    Python has None for them, and prints what is meant for a closed stderr on stdout.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  # open to the end
            setattr(sys, name, nowhere)


def _on_odd_text(stream: TextIO, errors: str) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)


def _complete() -> None:
    """Get ready to tell a shell what could follow, where one asks."""
    from azent.settings import COMPLETING, variable

    if variable(COMPLETING) is not None:
        from typer import completion

        completion.completion_init()  # type: ignore[attr-defined]  # not marked as exported
