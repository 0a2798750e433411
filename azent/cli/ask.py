"""`azent ask`: one question, answered with the help of functions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from azent.cli.polite import polite, say
from azent.errors import UsageError

EXAMPLES = """Examples:

azent ask "What is (2123 + 2321) * 312?"

azent ask "What's the weather in London, UK?" --tools examples/weather.py

echo "How many days until 2030-01-01?" | azent ask -q

azent ask "..." --json | jq .answer
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
        typer.Option(
            "--model",
            "-m",
            help="A model of Ollama's, or gguf:FILE.",
            show_default="the one at hand",
        ),
    ] = None,
    prompts: Annotated[
        str | None, typer.Option("--prompts", "-p", help="A prompt set, by name or folder.")
    ] = None,
    system: Annotated[str, typer.Option(help="System text, put before azent's own.")] = "",
    choice: Annotated[str, typer.Option(help="auto, none, required, or a tool's name.")] = "auto",
    rounds: Annotated[int, typer.Option(min=1, help="The most rounds of calls.")] = 8,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, help="The most seconds for all of it.")
    ] = None,
    num_ctx: Annotated[int | None, typer.Option(min=256, help="The context, in tokens.")] = None,
    no_tools: Annotated[bool, typer.Option("--no-tools", help="Offer no tools.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run what needs a consent.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every step.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ask a question; the model may call functions to answer it."""
    from azent.agent import Agent

    words = _question(question)
    functions = _functions(tools, no_tools)
    agent = Agent(
        _model(model, num_ctx, quiet or as_json),
        functions,
        prompts=prompts,
        system=system,
        choice=choice,
        rounds=rounds,
        timeout=timeout,
    )
    _show(agent, words, _consent(yes), quiet=quiet, verbose=verbose, as_json=as_json)


def _show(
    agent: Any,
    words: str,
    approve: Callable[[Any], bool],
    *,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    from azent.cli.show import Watcher, answer_json

    if as_json:
        answer = agent.ask(words, approve=approve)
        print(json.dumps(answer_json(answer), ensure_ascii=False, default=str))
        return
    watcher = Watcher(agent.model.name, quiet=quiet, verbose=verbose)
    events = agent.stream(words, approve=approve)
    try:
        for event in events:
            watcher.show(event)
    finally:
        events.close()
        watcher.close()


def _question(given: str) -> str:
    """The question, from a pipe where none was given."""
    words = sys.stdin.read() if given == "-" and not sys.stdin.isatty() else given
    if not words.strip() or words == "-":
        raise UsageError("there is no question", 'Give one: azent ask "What is 2 + 3?"')
    return words.strip()


def _functions(sources: list[str] | None, none: bool) -> list[Any]:
    if none and sources:
        raise UsageError("--tools and --no-tools cannot go together", "Leave one of them out.")
    if none:
        return []
    if not sources:
        from azent import standard
        from azent.toolfile import offered

        return list(offered(standard))
    from azent.toolfile import load_tools

    return [function for source in sources for function in load_tools(source)]


def _model(name: str | None, num_ctx: int | None, quiet: bool) -> Any:
    """The model that was named, else the one at hand, with a word on which that is."""
    from azent.models import open_model
    from azent.models.choose import choose

    if name is not None:
        return open_model(name, num_ctx=num_ctx)
    choice = choose()
    if choice.why and not quiet:
        say(choice.why)
    _fetch(choice.address)
    return open_model(choice.address, num_ctx=num_ctx)


def _fetch(address: str) -> None:
    """Fetch the file of an embedded model, with a progress bar where there is a terminal."""
    kind, _, name = address.partition(":")
    if kind == "gguf":
        from azent.cli.progress import fetch_model

        fetch_model(name)


def _consent(yes: bool) -> Callable[[Any], bool]:
    """Asks a person on the terminal; where there is none, the answer is no."""
    from azent.cli.show import call_line
    from azent.cli.visible import visible

    def approve(call: Any) -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            say(f"! not run, for want of a person to ask (-y allows it): {call_line(call)}")
            return False
        return typer.confirm(visible(f"Run {call_line(call)}?"), default=False, err=True)

    return approve
