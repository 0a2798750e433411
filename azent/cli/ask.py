"""`azent ask`: one question, answered with the help of functions."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli import options
from azent.cli.build import agent_from, consent, settings_from, tools_of_servers
from azent.cli.polite import polite
from azent.cli.printed import print_json
from azent.cli.sessions import StoreFile, session_from
from azent.cli.together import check_of_use
from azent.errors import UsageError

if TYPE_CHECKING:
    from azent.messages import Event

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
    tools: options.Tools = None,
    model: options.Model = None,
    profile: options.Profile = None,
    session: options.Session = None,
    last: options.Last = False,
    store: StoreFile = None,
    prompts: options.Prompts = None,
    system: options.System = None,
    choice: options.Choice = None,
    rounds: options.Rounds = None,
    timeout: options.Timeout = None,
    num_ctx: options.NumCtx = None,
    cache: options.Cache = None,
    replay: options.Replay = None,
    mcp: options.Mcp = None,
    trust: options.Trust = False,
    no_tools: options.NoTools = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    show_prompt: options.ShowPrompt = False,
    as_json: options.AsJson = False,
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print each event, as one line of JSON.")
    ] = False,
) -> None:
    """Ask a question; the model may call functions to answer it."""
    from azent.cli.watch import Watcher

    kept = session_from(session, last, store)
    if kept is None:
        check_of_use({"store": store}, "a conversation", "name one: --session NAME")
    words = _question(question, is_optional=kept is not None)
    given = {
        "tools": tools or None,
        "model": model,
        "profile": profile or None,
        "prompts": prompts,
        "system": system,
        "choice": choice,
        "rounds": rounds,
        "timeout": timeout,
        "num_ctx": num_ctx,
        "reply_cache": cache,
        "replay": replay,
        "yes": yes or None,
    }
    values = settings_from(given)
    how: dict[str, Any] = {"session": kept, "approve": consent(values["yes"].value)}
    looks = {"quiet": quiet, "verbose": verbose, "prompts": show_prompt}
    if as_json or as_jsonl:
        looks |= {"answered": False, "quiet": not (verbose or show_prompt)}
    with tools_of_servers(mcp, trust) as more:
        agent = agent_from(values, more=more, no_tools=no_tools, quiet=looks["quiet"])
        with closing(Watcher(agent, **looks)) as watcher:
            how["approve"] = watcher.asking(how["approve"])
            printed = _print_event if as_jsonl else _print_answer if as_json else None
            watcher.follow(agent.stream(words, **how), printed)


def _print_event(event: Event) -> None:
    from azent.cli.show import event_json

    print_json(event_json(event))


def _print_answer(event: Event) -> None:
    from azent.answered import answer_json
    from azent.messages import Answer

    if isinstance(event, Answer):
        print_json(answer_json(event))


def _question(given: str, *, is_optional: bool) -> str | None:
    """The question, from a pipe where none was given; without one, what was broken off goes on."""
    if given == "-" and is_optional and sys.stdin.isatty():
        return None
    words = sys.stdin.read() if given == "-" and not sys.stdin.isatty() else given
    if not words.strip() or words == "-":
        raise UsageError("there is no question", 'Give one: azent ask "What is 2 + 3?"')
    return words.strip()
