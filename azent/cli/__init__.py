"""Run the command line, the only part of azent that prints or exits.

Answers go to standard output, everything else to standard error. Exit codes: 0 success, 2 wrong
usage, 130 interrupted; each error in `azent.errors` has its own. A command's module is imported
only when the command or its help is needed, so that `azent --help` stays fast.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

import azent

COMMANDS = {  # the module and name of the function or group, and the line for the list
    "ask": ("ask:ask", "Ask a question, answered with functions."),
    "chat": ("ask:chat", "Talk with a model, which may call functions."),
    "tools": ("tools:app", "Show, check and call functions."),
    "prompts": ("prompts:app", "Show, copy and check prompt sets."),
    "models": ("doctor:models", "List and fetch models."),
    "sessions": ("sessions:app", "List, show, undo and delete conversations."),
    "batch": ("batch:batch", "Answer a file of questions."),
    "eval": ("lab:evaluate", "Measure how often models are right."),
    "tune": ("lab:tune", "Find the prompt set that suits a model."),
    "serve": ("serve:serve", "Serve models over OpenAI's and Ollama's APIs."),
    "mcp": ("serve:mcp", "Serve functions to clients of MCP."),
    "doctor": ("doctor:doctor", "Check folders, server, models and a real call."),
    "config": ("doctor:config", "Show settings and where they come from."),
    "completion": ("doctor:completion", "Print a shell's completion script."),
}
KEEP_LINES = "\b"  # click does not wrap a paragraph that begins with it


class Commands(TyperGroup):
    """The group of all commands, which imports a command when it is needed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = dict.fromkeys(COMMANDS)  # suggestions for a wrong name

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the list."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name; None where there is none."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def load_command(name: str) -> Any:
    """Import a command, build it with typer, and wrap it in the error boundary."""
    from azent.cli.console import error_boundary

    file, _, attribute = COMMANDS[name][0].partition(":")
    module = importlib.import_module(f"azent.cli.{file}")
    found = getattr(module, attribute)
    if isinstance(found, typer.Typer):
        built: Any = typer.main.get_group(found)
        built.name = name
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name, epilog=f"{KEEP_LINES}\n{module.EXAMPLES[name]}")(found)
        built = typer.main.get_command(single)
    for command in (built, *getattr(built, "commands", {}).values()):
        if command.callback:
            command.callback = error_boundary(command.callback)
    return built


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
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Characters that the encoding lacks are printed as escapes.
        _set_error_handler(stream, "backslashreplace")
    _set_error_handler(sys.stdin, "surrogateescape")  # as in arguments; refused later
    _answer_completion()
    app(prog_name="azent")


def _open_closed_streams() -> None:
    """Open the null device for streams that were closed before, as by `2>&-`.

    Python has None for them, and prints what is meant for a closed stderr on stdout.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  # stays open
            setattr(sys, name, null)


def _set_error_handler(stream: Any, errors: str) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)


def _answer_completion() -> None:
    """Let typer answer a shell that requests completions."""
    from azent.config import COMPLETING, variable

    if variable(COMPLETING) is not None:
        from typer import completion

        completion.completion_init()  # type: ignore[attr-defined]  # not marked as exported
