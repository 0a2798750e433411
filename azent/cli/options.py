"""The options that several commands have, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from azent.errors import UsageError

Texts = list[str] | None
ToolSources = Annotated[
    Texts,
    typer.Option(
        "--tools", "-t", help="A file, a module, or file.py:function. Repeatable.", metavar="SOURCE"
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="A model of Ollama's, gguf:FILE, or openai:URL#NAME.", metavar="MODEL"
    ),
]
Profile = Annotated[
    Texts,
    typer.Option(help="Models of your profiles, by tag or KEY=VALUE. Repeatable.", metavar="TAG"),
]
Session = Annotated[
    str | None,
    typer.Option(
        "--session", "-s", help="Keep the conversation by this name, or go on.", metavar="NAME"
    ),
]
Last = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the last conversation.")]
StoreFile = Annotated[
    Path | None,
    typer.Option("--store", help="The file of conversations.", show_default="the user's own"),
]
Prompts = Annotated[
    str | None,
    typer.Option("--prompts", "-p", help="A prompt set, by name or folder.", metavar="SET"),
]
System = Annotated[str | None, typer.Option(help="System text, put before azent's own.")]
Choice = Annotated[
    str | None, typer.Option(help="auto, none, required, or a tool's name.", metavar="CHOICE")
]
Rounds = Annotated[int | None, typer.Option(min=1, help="The most rounds of calls.")]
Timeout = Annotated[
    float | None, typer.Option(min=0.1, help="The most seconds for all of an answer.")
]
NumCtx = Annotated[int | None, typer.Option(min=256, help="The context, in tokens.")]
Sample = Annotated[int | None, typer.Option(min=1, help="At most so many cases of each category.")]
Jobs = Annotated[
    int, typer.Option(min=1, help="Ask so many cases side by side, where the server can.")
]
Cache = Annotated[
    str | None,
    typer.Option("--cache", help="Keep replies in this file, and reuse them.", metavar="FILE"),
]
Replay = Annotated[
    str | None, typer.Option(help="Take replies from this file; ask no model.", metavar="FILE")
]
Mcp = Annotated[
    Texts,
    typer.Option(
        "--mcp", help="An MCP server: its command or URL, or name=it. Repeatable.", metavar="SERVER"
    ),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Believe MCP servers on which tools change nothing.")
]
NoTools = Annotated[bool, typer.Option("--no-tools", help="Offer no tools.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Run what needs a consent.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer only.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every step.")]
ShowPrompt = Annotated[bool, typer.Option("--show-prompt", help="Show what the model is sent.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Host = Annotated[
    str | None,
    typer.Option(help="The server; else OLLAMA_HOST, else this machine.", metavar="HOST"),
]
Port = typer.Option(min=0, max=65535, help="The port to listen on.")
TokenFile = Annotated[
    Path | None, typer.Option(help="A file with the token that clients must send.")
]
AllowHost = Annotated[Texts, typer.Option(help="A further name of this server. Repeatable.")]
AllowOrigin = Annotated[
    Texts, typer.Option(help="Web pages that may ask, by origin. Repeatable.", metavar="ORIGIN")
]

# ---- conflicts -----------------------------------------------------------------------------------

OPTION_NAMES = {  # of parameters that are not named as their option is
    "as_json": "--json",
    "as_jsonl": "--jsonl",
    "last": "--continue",
    "models": "--model",
    "hosts": "--host",
    "prompt_sets": "--prompts",
    "reply_cache": "--cache",
}
CONFLICTS = [  # pairs of parameters, of which a command may be given one
    ("as_json", "as_jsonl"),
    ("quiet", "verbose"),
    ("quiet", "show_prompt"),
    ("tools", "no_tools"),
    ("session", "last"),
    ("model", "profile"),
    ("reply_cache", "replay"),
]
# An empty value is mostly a variable of a script that is not set: it must not mean the default.
NOT_EMPTY = (
    *("model", "models", "host", "hosts", "profile", "prompts", "prompt_sets", "tools"),
    *("choice", "reply_cache", "replay", "mcp"),
)


def check_options(given: Mapping[str, Any]) -> None:
    """Raise UsageError where an option, by the name of its parameter, is empty or undoes another.

    An option without effect is worse than an error: who gave it believes that it works.
    """
    for name in NOT_EMPTY:
        value = given.get(name)
        if value == "" or (isinstance(value, list) and "" in value):
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
        if value is not None and value is not False and value != []:
            message = f"{option_name(name)} is of no use without {without}"
            raise UsageError(message, f"Leave {option_name(name)} out, or {hint}.")


def option_name(parameter: str) -> str:
    """Return the option that sets a parameter of a command."""
    return OPTION_NAMES.get(parameter, f"--{parameter.replace('_', '-')}")


def _conflict(one: str, other: str) -> UsageError:
    return UsageError(f"{one} and {other} cannot go together", f"Leave out {one} or {other}.")
