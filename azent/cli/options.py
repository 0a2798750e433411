"""The options that commands share: the same words for the same thing everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Tools = Annotated[
    list[str] | None,
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
    list[str] | None,
    typer.Option(help="Models of your profiles, by tag or KEY=VALUE. Repeatable.", metavar="TAG"),
]
Session = Annotated[
    str | None,
    typer.Option(
        "--session", "-s", help="Keep the conversation by this name, or go on.", metavar="NAME"
    ),
]
Last = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the last conversation.")]
Prompts = Annotated[
    str | None,
    typer.Option("--prompts", "-p", help="A prompt set, by name or folder.", metavar="SET"),
]
System = Annotated[
    str | None, typer.Option(help="System text, put before azent's own.", metavar="TEXT")
]
Choice = Annotated[
    str | None, typer.Option(help="auto, none, required, or a tool's name.", metavar="CHOICE")
]
Rounds = Annotated[
    int | None, typer.Option(min=1, help="The most rounds of calls.", metavar="NUMBER")
]
Timeout = Annotated[
    float | None,
    typer.Option(min=0.1, help="The most seconds for all of an answer.", metavar="SECONDS"),
]
NumCtx = Annotated[
    int | None, typer.Option(min=256, help="The context, in tokens.", metavar="TOKENS")
]
Sample = Annotated[
    int | None,
    typer.Option(min=1, help="At most so many cases of each category.", metavar="NUMBER"),
]
Jobs = Annotated[
    int,
    typer.Option(
        min=1, help="Ask so many cases side by side, where the server can.", metavar="NUMBER"
    ),
]
Cache = Annotated[
    str | None,
    typer.Option(help="Keep replies in this file, and take them from there.", metavar="FILE"),
]
Replay = Annotated[
    str | None,
    typer.Option(help="Take replies from this file alone; ask no model.", metavar="FILE"),
]
Mcp = Annotated[
    list[str] | None,
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

# ---- of what listens -----------------------------------------------------------------------------

TokenFile = Annotated[
    Path | None, typer.Option(help="A file with the token that clients must bear.", metavar="FILE")
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(help="A further name of this server. Repeatable.", metavar="NAME"),
]
AllowOrigin = Annotated[
    list[str] | None,
    typer.Option(help="Web pages that may ask, by origin. Repeatable.", metavar="ORIGIN"),
]
