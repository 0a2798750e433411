"""Define the options that several commands share, and check which contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from azent.errors import UsageError

Texts = list[str] | None


def command_group(help: str) -> typer.Typer:
    """Make a group of commands, which shows its help when none of them is named."""
    return typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=None)


def option(metavar: str, help: str, *names: str, **settings: Any) -> Any:
    """Describe an option that takes a value, which its help calls `metavar`."""
    return typer.Option(*names, help=help, metavar=metavar, **settings)


ToolSources = Annotated[
    Texts, option("SOURCE", "A file, a module, or file.py:function. Repeatable.", "--tools", "-t")
]
Model = Annotated[
    str | None,
    option("MODEL", "A model of Ollama's, gguf:FILE, or openai:URL#NAME.", "--model", "-m"),
]
Profile = Annotated[
    Texts, option("TAG", "Models of your profiles, by tag or KEY=VALUE. Repeatable.")
]
Session = Annotated[
    str | None, option("NAME", "Keep the conversation by this name, or go on.", "--session", "-s")
]
Last = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the last conversation.")]
StoreFile = Annotated[
    Path | None,
    option("FILE", "The file of conversations.", "--store", show_default="the user's own"),
]
Prompts = Annotated[
    str | None, option("SET", "A prompt set, by name or folder.", "--prompts", "-p")
]
System = Annotated[str | None, option("TEXT", "System text, put before azent's own.")]
Choice = Annotated[str | None, option("CHOICE", "auto, none, required, or a tool's name.")]
Rounds = Annotated[int | None, option("NUMBER", "The most rounds of calls.", min=1)]
Timeout = Annotated[
    float | None, option("SECONDS", "The most seconds for all of an answer.", min=0.1)
]
NumCtx = Annotated[int | None, option("TOKENS", "The context, in tokens.", min=256)]
Sample = Annotated[int | None, option("NUMBER", "The most cases of each category.", min=1)]
Jobs = Annotated[int, option("NUMBER", "Ask this many cases at once, if the server can.", min=1)]
Cache = Annotated[
    str | None, option("FILE", "Keep replies in this file, and reuse them.", "--cache")
]
Replay = Annotated[str | None, option("FILE", "Take replies from this file; ask no model.")]
Mcp = Annotated[
    Texts, option("SERVER", "An MCP server: a command, a URL, or NAME=either. Repeatable.", "--mcp")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Trust MCP servers about which tools are read-only.")
]
NoTools = Annotated[bool, typer.Option("--no-tools", help="Offer no tools.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Run calls that need approval.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer only.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every step.")]
ShowPrompt = Annotated[bool, typer.Option("--show-prompt", help="Show what the model is sent.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Host = Annotated[str | None, option("HOST", "The server; else OLLAMA_HOST, else this machine.")]
TokenFile = Annotated[Path | None, option("FILE", "A file with the token that clients must send.")]
AllowHost = Annotated[Texts, option("NAME", "A further name of this server. Repeatable.")]
AllowOrigin = Annotated[Texts, option("ORIGIN", "Web pages that may ask, by origin. Repeatable.")]

# ---- conflicts -----------------------------------------------------------------------------------

OPTION_NAMES = {  # of parameters whose name differs from their option's
    "as_json": "--json",
    "as_jsonl": "--jsonl",
    "last": "--continue",
    "models": "--model",
    "hosts": "--host",
    "prompt_sets": "--prompts",
    "reply_cache": "--cache",
}
CONFLICTS = [  # pairs of parameters that exclude each other
    ("as_json", "as_jsonl"),
    ("quiet", "verbose"),
    ("quiet", "show_prompt"),
    ("tools", "no_tools"),
    ("session", "last"),
    ("model", "profile"),
    ("reply_cache", "replay"),
]
# An empty value is usually an unset variable of a script, so it must not mean the default.
NOT_EMPTY = (
    *("model", "models", "host", "hosts", "profile", "prompts", "prompt_sets", "tools"),
    *("choice", "reply_cache", "replay", "mcp"),
)


def check_options(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an option, given by parameter name, that is empty or undoes another.

    An option without effect is worse than an error, because the user believes that it works.
    """
    for name in NOT_EMPTY:
        value = given.get(name)
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            hint = f"Give {option_name(name)} a value, or leave it out."
            raise UsageError(f"{option_name(name)} is empty", hint)
    for one, other in CONFLICTS:
        if given.get(one) and given.get(other):
            raise _conflict(option_name(one), option_name(other))
    choice = given.get("choice")
    if given.get("no_tools") and choice not in (None, "auto", "none"):
        raise _conflict(f"--choice {choice}", "--no-tools")


def reject_unused(given: Mapping[str, Any], without: str, hint: str) -> None:
    """Raise UsageError for the first given option: it has no effect `without` something else.

    `given` has values by the names of parameters; None, False and empty lists were not given.
    """
    for name, value in given.items():
        if value is not None and value is not False and value not in ([], ()):
            message = f"{option_name(name)} is of no use without {without}"
            raise UsageError(message, f"Leave {option_name(name)} out, or {hint}.")


def option_name(parameter: str) -> str:
    """Return the option that sets a parameter of a command."""
    return OPTION_NAMES.get(parameter, f"--{parameter.replace('_', '-')}")


def _conflict(one: str, other: str) -> UsageError:
    return UsageError(f"{one} and {other} cannot go together", f"Leave out {one} or {other}.")
