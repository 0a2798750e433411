"""From settings to an agent: what `ask` and `chat` have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from azent.cli.polite import say
from azent.errors import UsageError

if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.config import Value
    from azent.messages import Call
    from azent.models import Model
    from azent.prompt import PromptSet
    from azent.tools import Tool


def settings_from(options: Mapping[str, Any]) -> dict[str, Value]:
    """The settings, options included; a project's file is named, because anyone may have put it."""
    from azent.config import resolved, used_project_file

    values = resolved(options)
    if file := used_project_file():
        say(f"using {file}")
    return values


def agent_from(
    values: Mapping[str, Value],
    *,
    more: Sequence[Tool] = (),
    no_tools: bool = False,
    quiet: bool = False,
) -> Agent:
    """The agent that the settings describe. Tools of servers (`more`) replace the standard ones."""
    from azent.agent import Agent

    given = {name: value.value for name, value in values.items()}
    none = no_tools or bool(more and not given["tools"])
    functions = [*functions_from(given["tools"], none), *more]
    model = model_from(given, quiet)
    prompts_from(given["prompts"], model.name)  # broken ones end it here
    return Agent(
        model,
        functions,
        prompts=given["prompts"],
        system=given["system"],
        choice=given["choice"],
        rounds=given["rounds"],
        timeout=given["timeout"],
    )


@contextmanager
def tools_of_servers(addresses: Sequence[str] | None, trust: bool) -> Iterator[list[Tool]]:
    """The tools of MCP servers, which run for as long as the context lasts."""
    if not addresses:
        yield []
        return
    need("mcp", "mcp")
    from azent.mcp import connect

    with ExitStack() as servers:
        opened = [servers.enter_context(connect(a, trust=trust, report=say)) for a in addresses]
        yield [tool for server in opened for tool in server.tools]


def need(extra: str, *modules: str) -> None:
    """Raise UsageError where what an extra brings is not installed."""
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        hint = f"Install it: pip install 'azent[{extra}]'."
        raise UsageError(f"this needs {' and '.join(missing)}", hint)


def prompts_from(name: str | None, model: str) -> PromptSet:
    """The prompt set for a model; one in ./prompts is named, because anyone may have put it there.

    Not so azent's own, in a checkout of azent.
    """
    from azent import prompt, settings

    found = prompt.load(name, model)
    local = found.folder is not None and found.folder.parent == Path("prompts")
    if local and Path("prompts").resolve() != settings.own_prompts().resolve():
        say(f"using the prompt set in {found.folder}")
    return found


def functions_from(sources: list[str] | None, none: bool) -> list[Any]:
    """The functions of some files of tools; without any, the standard ones."""
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


def model_from(given: Mapping[str, Any], quiet: bool) -> Model:
    """The model that is set, else the one at hand, its replies kept in a file where one is set."""
    model = _model_at_hand(given, quiet)
    if given["reply_cache"] is None:
        return model
    from azent.models.cached import Cached

    return Cached(model, Path(given["reply_cache"]).expanduser())


def _model_at_hand(given: Mapping[str, Any], quiet: bool) -> Model:
    from azent.models import open_model
    from azent.models.choose import choose

    address = given["model"]
    if address is None:
        choice = choose(given["host"])
        address = choice.address
        if choice.why and not quiet:
            say(choice.why)
    if address.startswith("gguf:"):
        from azent.cli.progress import fetch_model

        fetch_model(address.removeprefix("gguf:"))
        return open_model(address, num_ctx=given["num_ctx"])
    of_openai = address.startswith("openai:")
    wanted = ("num_ctx", "api_key") if of_openai else ("host", "num_ctx", "keep_alive")
    return open_model(address, **{name: given[name] for name in wanted})


def consent(yes: bool) -> Callable[[Call], bool]:
    """Asks a person on the terminal whether a call may run; where there is none, it may not."""
    from azent.cli.show import call_line
    from azent.cli.visible import visible

    def approve(call: Call) -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            say(f"! not run, for want of a person to ask (-y allows it): {call_line(call)}")
            return False
        return typer.confirm(visible(f"Run {call_line(call)}?"), default=False, err=True)

    return approve
