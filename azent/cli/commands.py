"""The commands there are, each with a line for the list, imported when it is wanted.

A command's module has a function `command`, with EXAMPLES for its help, or an `app` of commands.
"""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

LISTED = {
    "ask": "Ask a question, answered with functions.",
    "chat": "Talk with a model, which may call functions.",
    "tools": "Show, check and call functions.",
    "prompts": "See, copy and check prompt sets.",
    "models": "List and fetch models.",
    "sessions": "Look after conversations that are kept.",
    "batch": "Answer a file of questions.",
    "eval": "Measure how often models are right.",
    "tune": "Search the prompt set that suits a model.",
    "serve": "Serve models over OpenAI's and Ollama's APIs.",
    "mcp": "Serve functions to clients of MCP.",
    "doctor": "Check that all is there, and a real call.",
    "config": "Show settings and where they come from.",
    "completion": "Print a shell's completion script.",
}
AS_IT_IS = "\b"  # a paragraph that begins so keeps its lines
MODULES = {"eval": "evaluate"}  # where it is not called as the command is


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = dict.fromkeys(LISTED)  # a wrong name is told the nearest of them

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the list."""
        return list(LISTED)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None where there is none."""
        return command_of(cmd_name) if cmd_name in LISTED else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list, for which no command has to be imported."""
        with formatter.section("Commands"):
            formatter.write_dl(list(LISTED.items()))


def command_of(name: str) -> Any:
    """A command as typer builds it from its module."""
    module = importlib.import_module(f"azent.cli.{MODULES.get(name, name)}")
    if hasattr(module, "app"):
        group = typer.main.get_group(module.app)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, epilog=f"{AS_IT_IS}\n{module.EXAMPLES}")(module.command)
    return typer.main.get_command(single)
