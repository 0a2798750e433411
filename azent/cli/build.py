"""From settings to an agent: what `ask` and `chat` have in common."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azent.cli.polite import say
from azent.cli.together import check_of_use
from azent.cli.visible import visible
from azent.errors import UsageError

if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.config import Value
    from azent.messages import Call
    from azent.models import Model
    from azent.models.encoder import Encoder
    from azent.prompt import PromptSet
    from azent.tools import Tool

YES = {"y", "yes"}
NO = {"", "n", "no"}


def settings_from(options: Mapping[str, Any]) -> dict[str, Value]:
    """The settings, options included; a project's file is named, because anyone may have put it."""
    from azent.config import resolved, used_project_file

    values = resolved(_put_first(options))
    if file := used_project_file():
        say(f"using {file}")
    return values


def _put_first(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, put before other settings that would undo them."""
    undone = {"profile": "model", "reply_cache": "replay"}
    return {**options, **{undone[name]: "" for name in undone if options.get(name)}}


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
        choice="auto" if no_tools else given["choice"],
        rounds=given["rounds"],
        timeout=given["timeout"],
        encoder=encoder_from(given, model),
    )


@contextmanager
def tools_of_servers(addresses: Sequence[str] | None, trust: bool) -> Iterator[list[Tool]]:
    """The tools of MCP servers, which run for as long as the context lasts."""
    if not addresses:
        check_of_use({"trust": trust}, "MCP servers", "name one: --mcp")
        yield []
        return
    need("mcp", "mcp")
    from azent.mcp import connect

    with ExitStack() as servers:
        opened = []
        for given in addresses:
            name, address = _named(given)
            server = connect(address, name=name, trust=trust, report=say)
            opened.append(servers.enter_context(server))
        yield [tool for server in opened for tool in server.tools]


def _named(server: str) -> tuple[str | None, str]:
    """A server's name and its address, of "name=address"; the name may be left out."""
    match = re.fullmatch(r"(\w+)=(.+)", server, re.DOTALL)
    return (match[1], match[2]) if match else (None, server)


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
    from azent import prompt

    found = prompt.load(name, model)
    tell_left_out([] if name else [model])
    name_if_here(found)
    return found


def name_if_here(prompt_set: PromptSet) -> None:
    """Name a set that lies in the current folder or in ./prompts."""
    from azent import prompt

    say(*prompt.words_on(prompt_set))


def tell_left_out(models: Iterable[str]) -> None:
    """Say, of each set that is left out for some models because it is broken, what is wrong."""
    from azent import prompt

    said = dict.fromkeys(str(error) for model in models for error in prompt.left_out(model))
    for words in said:
        say(f"! left out, as it is broken: {words}")


def functions_from(sources: list[str] | None, none: bool) -> list[Any]:
    """The functions of some files of tools; without any, the standard ones."""
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
    from azent.models.cached import Cached

    file = given["replay"] or given["reply_cache"]
    if given["replay"] and not given["model"]:
        raise UsageError("--replay needs the name of a model", "Name the one that was asked: -m.")
    model = _model_at_hand(given, quiet)
    if not file:
        return model
    return Cached(model, Path(file).expanduser(), strict=bool(given["replay"]))


def _model_at_hand(given: Mapping[str, Any], quiet: bool) -> Model:
    """The model that is named, else one of the profiles, else one that is there."""
    from azent.models.choose import choose

    if not given["model"] and (given["profiles"] or given["profile"]):
        return _of_profiles(given, quiet)
    address = given["model"]
    if not address:
        choice = choose(given["host"])
        address = choice.address
        if choice.why and not quiet:
            say(choice.why)
    return model_at(address, given)


def model_at(address: str, given: Mapping[str, Any]) -> Model:
    """The model at an address, its file fetched where it is one that azent knows by name."""
    from azent.models import open_model

    if address.startswith("gguf:"):
        from azent.cli.progress import fetch_model

        fetch_model(address.removeprefix("gguf:"))
        return open_model(address, num_ctx=given["num_ctx"])
    of_openai = address.startswith("openai:")
    wanted = ("num_ctx", "api_key") if of_openai else ("host", "num_ctx", "keep_alive")
    return open_model(address, **{name: given[name] for name in wanted})


def encoder_from(given: Mapping[str, Any], model: Model) -> Encoder | None:
    """The encoder that is set, else one at hand; on the model's own server, where that is Ollama.

    Raises AzentError where an encoder that is set does not work.
    """
    from azent.models.cached import Cached
    from azent.models.choose_encoder import find_encoder
    from azent.models.ollama import Ollama

    asked = model.model if isinstance(model, Cached) and not model.strict else model
    on_ollama = isinstance(asked, Ollama) or (given["encoder"] or "").startswith("ollama:")
    return find_encoder(given["encoder"], (given["host"] or "") if on_ollama else None)


def _of_profiles(given: Mapping[str, Any], quiet: bool) -> Model:
    from azent.models.profiles import filter_from, open_profiles, profiles_from_json

    if not given["profiles"]:
        hint = "Set AZENT_PROFILES to a file or to JSON, or profiles in your config.toml."
        raise UsageError("--profile chooses among profiles, and there are none", hint)
    chosen = profiles_from_json(given["profiles"], filter_from(given["profile"] or ()))
    return open_profiles(chosen, tell=_mute if quiet else _tell)


def _tell(words: str) -> None:
    say(f"! {words}")


def _mute(words: str) -> None:
    """Say nothing."""


def consent(yes: bool) -> Callable[[Call], bool | str]:
    """Asks a person on the terminal whether a call may run; where there is none, it may not.

    Other words than yes and no are for the model, which may then try otherwise.
    """
    from azent.cli.show import call_line

    def approve(call: Call) -> bool | str:
        if yes:
            return True
        if not sys.stdin.isatty():
            say(f"! not run, for want of a person to ask (-y allows it): {call_line(call)}")
            return False
        said = asked(f"Run {call_line(call)}? [y/N, or words for the model] ")
        return said.lower() in YES if said.lower() in (*YES, *NO) else said

    return approve


def asked(question: str) -> str:
    """What a person answers on the terminal; nothing, where they leave."""
    print(visible(question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
