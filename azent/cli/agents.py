"""Build models, functions, prompt sets and agents from settings and command-line options."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azent.cli import console
from azent.cli.options import reject_unused
from azent.config import SETTINGS, Value, resolved, used_project_file
from azent.errors import UsageError
from azent.messages import Call
from azent.models import Model, open_model, parameters_of
from azent.models.catalogue import choose
from azent.models.encoder import Encoder
from azent.models.encoders import find_encoder
from azent.models.model import settings_of
from azent.models.weights import MODELS, model_file, path_of
from azent.tools.files import load_tools, offered

if TYPE_CHECKING:
    from rich.progress import Progress

    from azent.agent import Agent
    from azent.prompt import PromptSet
    from azent.tools.tool import Tool

YES = {"y", "yes"}
NO = {"", "n", "no"}
UNDOES = {"profile": "model", "reply_cache": "replay"}  # an option switches off this setting


def settings_from(options: Mapping[str, Any]) -> dict[str, Value]:
    """Resolve the settings; an option with the name of a setting overrides it.

    `options` may be all parameters of a command. A project's settings file is named on standard
    error, because anyone may have put it there.
    """
    named = {name: value for name, value in options.items() if name in SETTINGS}
    given = {n: list(v) if isinstance(v, tuple) else v for n, v in named.items() if v or v == ""}
    given |= {undone: "" for name, undone in UNDOES.items() if name in given}
    values = resolved(given)
    if file := used_project_file():
        console.print_notice(f"using {file}")
    return values


def plain_values(values: Mapping[str, Value]) -> dict[str, Any]:
    """Return the values of the settings, without where they come from."""
    return {name: value.value for name, value in values.items()}


def agent_from(
    values: Mapping[str, Value],
    *,
    more: Sequence[Tool] = (),
    no_tools: bool = False,
    quiet: bool = False,
) -> Agent:
    """Build the agent that the settings describe; tools of servers replace the standard ones."""
    from azent.agent import Agent

    given = plain_values(values)
    none = no_tools or bool(more and not given["tools"])
    functions = [*functions_from(given["tools"], none=none), *more]
    model = model_from(given, quiet=quiet)
    prompts_from(given["prompts"], model)  # raise for a broken set before any request
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


def require_extra(extra: str, *modules: str) -> None:
    """Raise UsageError where modules of an optional extra are not installed."""
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        hint = f"Install it: pip install 'azent[{extra}]'."
        raise UsageError(f"this needs {' and '.join(missing)}", hint)


# ---- functions -----------------------------------------------------------------------------------


def functions_from(sources: Sequence[str] | None, *, none: bool = False) -> list[Any]:
    """Load the functions of some sources; without any, the standard ones."""
    if none:
        return []
    if not sources:
        from azent.tools import standard

        return list(offered(standard))
    return [function for source in sources for function in load_tools(source)]


@contextmanager
def mcp_tools(addresses: Sequence[str] | None, trust: bool) -> Iterator[list[Tool]]:
    """Connect to MCP servers for as long as the context lasts, and give their tools."""
    if not addresses:
        reject_unused({"trust": trust}, "MCP servers", "name one: --mcp")
        yield []
        return
    require_extra("mcp", "mcp")
    from azent.mcp import connect

    with ExitStack() as servers:
        tools: list[Tool] = []
        for given in addresses:
            match = re.fullmatch(r"(\w+)=(.+)", given, re.DOTALL)
            name, address = match.groups() if match else (None, given)
            server = connect(address, name=name, trust=trust, report=console.print_notice)
            tools += servers.enter_context(server).tools
        yield tools


def approval(yes: bool) -> Callable[[Call], bool | str]:
    """Return a function that asks a person whether a call may run; with `yes` all calls may.

    An answer other than yes or no is passed on to the model, which may then change the call. If
    there is no terminal to ask on, the call does not run.
    """
    from azent.cli.display import call_line

    def approve(call: Call) -> bool | str:
        if yes:
            return True
        if not sys.stdin.isatty():
            why = "not run, because nobody can be asked here (-y allows it)"
            console.print_notice(f"! {why}: {call_line(call)}")
            return False
        question = console.sanitize(f"Run {call_line(call)}? [y/N, or words for the model] ")
        print(question, end="", file=sys.stderr, flush=True)
        reply = sys.stdin.readline().strip()
        return reply.lower() in YES if reply.lower() in (*YES, *NO) else reply

    return approve


# ---- prompt sets ---------------------------------------------------------------------------------


def prompts_from(name: str | None, model: Model | None) -> PromptSet:
    """Load the prompt set for a model; a set in ./prompts is named on standard error.

    Without a model it is the named set, else `default`.
    """
    from azent import prompt
    from azent.prompt.choice import prompts_for

    found = prompts_for(model, name) if model else prompt.load(name)
    warn_of_broken_sets([] if name else [name_and_size(model)])
    name_local_set(found)
    return found


def name_local_set(prompt_set: PromptSet) -> None:
    """Print the name of a set in the current folder, unless it is a copy of azent's own."""
    from azent import prompt

    console.print_notice(*prompt.words_on(prompt_set))


def name_and_size(model: Model | None) -> tuple[str, float | None]:
    """Return a model's name and billions of parameters, by which its prompt set is chosen."""
    return (model.name, parameters_of(model)) if model else ("", None)


def warn_of_broken_sets(models: Iterable[tuple[str, float | None]]) -> None:
    """Print the broken sets that are skipped for models with these names and sizes."""
    from azent import prompt

    errors = (error for name, billions in models for error in prompt.left_out(name, billions))
    for error in dict.fromkeys(map(str, errors)):
        console.print_notice(f"! left out, as it is broken: {error}")


# ---- models --------------------------------------------------------------------------------------


def model_from(given: Mapping[str, Any], *, quiet: bool) -> Model:
    """Open the model of the settings, else one that is available; its replies may be cached."""
    from azent.models.recorded import Cached

    file = given["replay"] or given["reply_cache"]
    if given["replay"] and not given["model"]:
        raise UsageError("--replay needs the name of a model", "Name the one that was asked: -m.")
    model = _uncached_model(given, quiet)
    if not file:
        return model
    return Cached(model, Path(file).expanduser(), strict=bool(given["replay"]))


def _uncached_model(given: Mapping[str, Any], quiet: bool) -> Model:
    address = given["model"]
    if not address and (given["profiles"] or given["profile"]):
        return _model_of_profiles(given, quiet)
    if not address:
        choice = choose(given["host"])
        address = choice.address
        console.print_notice("" if quiet else choice.why)
    return model_at(address, given)


def model_at(address: str, given: Mapping[str, Any]) -> Model:
    """Open the model at an address; a file that azent knows by name is fetched first."""
    if address.startswith("gguf:"):
        fetch_model(address.removeprefix("gguf:"))
    return unfetched_model_at(address, given)


def unfetched_model_at(address: str, given: Mapping[str, Any]) -> Model:
    """Open the model at an address; nothing is fetched."""
    offered = {name: given[name] for name in ("host", "num_ctx", "keep_alive", "api_key")}
    return open_model(address, **settings_of(address, offered))


def encoder_from(given: Mapping[str, Any], model: Model) -> Encoder | None:
    """Open the encoder that is set, else one that is available on the model's Ollama server.

    Raises AzentError where an encoder that is set does not work.
    """
    from azent.models.ollama import Ollama
    from azent.models.recorded import Cached

    inner = model.model if isinstance(model, Cached) and not model.strict else model
    on_ollama = isinstance(inner, Ollama) or (given["encoder"] or "").startswith("ollama:")
    return find_encoder(given["encoder"], (given["host"] or "") if on_ollama else None)


def _model_of_profiles(given: Mapping[str, Any], quiet: bool) -> Model:
    from azent.models.profiles import filter_from, open_profiles, profiles_from_json

    if not given["profiles"]:
        hint = "Set AZENT_PROFILES to a file or to JSON, or profiles in your config.toml."
        raise UsageError("--profile chooses among profiles, and there are none", hint)
    chosen = profiles_from_json(given["profiles"], filter_from(given["profile"] or ()))
    return open_profiles(
        chosen, tell=lambda words: console.print_notice("" if quiet else f"! {words}")
    )


def fetch_model(name: str) -> Path:
    """Return the file of a model, fetched with a progress bar where azent knows it by name."""
    if name not in MODELS:
        return Path(name)
    if path_of(MODELS[name]).exists():
        return model_file(name)
    with download_bar() as progress:
        task = progress.add_task("fetching", total=MODELS[name].size)
        return model_file(name, progress=lambda done, _: progress.update(task, completed=done))


def download_bar() -> Progress:
    """Return a progress bar in bytes on standard error, which is not shown in a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    hidden = not console.is_interactive(sys.stderr)
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden)
