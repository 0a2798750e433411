"""`azent ask`: one question, answered with the help of functions."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli.build import agent_from, consent, settings_from, tools_of_servers
from azent.cli.polite import polite
from azent.cli.sessions import StoreFile, session_from
from azent.errors import UsageError

if TYPE_CHECKING:
    from azent.agent import Agent

EXAMPLES = """Examples:

azent ask "What is (2123 + 2321) * 312?"

azent ask "What's the weather in London, UK?" --tools examples/weather.py

echo "How many days until 2030-01-01?" | azent ask -q

azent ask "..." --json | jq .answer

azent ask -s work "My name is Logan."; azent ask -c "What is my name?"
"""


@polite
def command(
    question: Annotated[str, typer.Argument(help="The question; '-' or a pipe is read.")] = "-",
    tools: Annotated[
        list[str] | None,
        typer.Option("--tools", "-t", help="A file, a module, or file.py:function. Repeatable."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="A model of Ollama's, or gguf:FILE."),
    ] = None,
    prompts: Annotated[
        str | None, typer.Option("--prompts", "-p", help="A prompt set, by name or folder.")
    ] = None,
    system: Annotated[str | None, typer.Option(help="System text, put before azent's own.")] = None,
    choice: Annotated[
        str | None, typer.Option(help="auto, none, required, or a tool's name.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="The most rounds of calls.")] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, help="The most seconds for all of it.")
    ] = None,
    num_ctx: Annotated[int | None, typer.Option(min=256, help="The context, in tokens.")] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", "-s", help="Keep the conversation by this name, or go on."),
    ] = None,
    last: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the last conversation.")
    ] = False,
    store: StoreFile = None,
    cache: Annotated[
        str | None, typer.Option(help="Keep replies in this file, and take them from there.")
    ] = None,
    mcp: Annotated[
        list[str] | None,
        typer.Option("--mcp", help="An MCP server with tools: a command, or a URL. Repeatable."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Believe MCP servers on which tools change nothing.")
    ] = False,
    no_tools: Annotated[bool, typer.Option("--no-tools", help="Offer no tools.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run what needs a consent.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every step.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ask a question; the model may call functions to answer it."""
    kept = session_from(session, last, store)
    words = _question(question, kept is not None)
    options = {
        "tools": tools or None,
        "model": model,
        "prompts": prompts,
        "system": system,
        "choice": choice,
        "rounds": rounds,
        "timeout": timeout,
        "num_ctx": num_ctx,
        "reply_cache": cache,
        "yes": yes or None,
    }
    values = settings_from(options)
    how = {"session": kept, "approve": consent(values["yes"].value)}
    with tools_of_servers(mcp, trust) as more:
        agent = agent_from(values, more=more, no_tools=no_tools, quiet=quiet or as_json)
        if as_json:
            _print_json(agent, words, how)
        else:
            _show(agent, words, how, quiet=quiet, verbose=verbose)


def _print_json(agent: Agent, words: str | None, how: dict[str, Any]) -> None:
    from azent.cli.show import answer_json

    answer = agent.ask(words, **how)
    print(json.dumps(answer_json(answer), ensure_ascii=False, default=str))


def _show(
    agent: Agent, words: str | None, how: dict[str, Any], *, quiet: bool, verbose: bool
) -> None:
    from contextlib import closing

    from azent.cli.show import Watcher

    watcher = Watcher(agent.model.name, quiet=quiet, verbose=verbose)
    with closing(watcher), closing(agent.stream(words, **how)) as events:
        for event in events:
            watcher.show(event)


def _question(given: str, kept: bool) -> str | None:
    """The question, from a pipe where none was given; none goes on with what was broken off."""
    if given == "-" and kept and sys.stdin.isatty():
        return None
    words = sys.stdin.read() if given == "-" and not sys.stdin.isatty() else given
    if not words.strip() or words == "-":
        raise UsageError("there is no question", 'Give one: azent ask "What is 2 + 3?"')
    return words.strip()
