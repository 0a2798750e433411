"""Run `azent doctor`, `models`, `config` and `completion`, which check and show the setup."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import azent
from azent import config as settings
from azent.cli import agents, console, options
from azent.config import masked, resolved
from azent.errors import AzentError, ModelUnreachable, size_of
from azent.models import catalogue
from azent.models.catalogue import PREFERRED, choose
from azent.models.embedded import NUM_CTX
from azent.models.encoders import NONE, find_encoder, how_to_get_one
from azent.models.weights import MODELS, known, path_of

if TYPE_CHECKING:
    from azent.messages import Usage

EXAMPLES = {
    "doctor": """Examples:
  azent doctor
  azent doctor -m qwen2.5-coder:1.5b --json
""",
    "completion": """Examples:
  azent completion bash >> ~/.bashrc
  azent completion zsh >> ~/.zshrc
  azent completion fish > ~/.config/fish/completions/azent.fish
""",
}
Level = Literal["ok", "note", "bad"]
MARKS = {"ok": "✓", "note": "!", "bad": "✗"}
ROUND_TRIP_SECONDS = 180.0
FETCH = "Fetch it with `azent models pull {}`, or name a model with -m."


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, and a hint what to do about it."""

    what: str
    level: Level
    found: str
    todo: str = ""


def doctor(
    model: options.Model = None,
    profile: options.Profile = None,
    host: options.Host = None,
    as_json: options.AsJson = False,
) -> None:
    """Check folders, server, models and a real call. Exits with 1 where one of them is bad."""
    findings = []
    values = agents.settings_from({"model": model, "profile": profile, "host": host})
    for finding in look(agents.plain_values(values)):
        findings.append(finding)
        if not as_json:
            _print_finding(finding)
    if as_json:
        console.print_json([asdict(finding) for finding in findings], indent=2)
    if any(finding.level == "bad" for finding in findings):
        raise typer.Exit(1)


def _print_finding(finding: Finding) -> None:
    mark = console.encodable(MARKS[finding.level], console.output_stream().encoding)
    console.print_wrapped(f"{finding.what}: {finding.found}", first=f"{mark} ")
    if finding.todo:
        console.print_wrapped(finding.todo, first="    ", indent="    ")


def look(given: Mapping[str, Any]) -> Iterator[Finding]:
    """Check what a question needs under some settings, and yield each finding at once."""
    parts = [f"azent {azent.__version__}", f"Python {platform.python_version()}"]
    parts += [f"{name} {version_of(name)}" for name in ("ollama", "pydantic")]
    yield Finding("versions", "ok", ", ".join(parts))
    yield from _folders()
    yield from _prompt_sets()
    server = _server(given["host"])
    yield server
    if server.level == "ok":
        yield from _models(given["host"])
    yield _encoder(given)
    yield _call(given)


def _folders() -> Iterator[Finding]:
    folders = {
        "cache": settings.cache_folder(),
        "settings": settings.user_folder(),
        "sessions": settings.data_folder(),
    }
    for what, folder in folders.items():
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        writable = os.access(existing, os.W_OK)
        todo = "" if writable else f"Make it writable: {existing}"
        yield Finding(f"{what} folder", "ok" if writable else "bad", str(folder), todo)


def _prompt_sets() -> Iterator[Finding]:
    from azent import prompt
    from azent.cli.prompts import find_error

    folders = prompt.folders()
    broken = {name: error for name, at in folders.items() if (error := find_error(at))}
    yield Finding("prompt sets", "ok", ", ".join(name for name in folders if name not in broken))
    for name, error in broken.items():
        yield Finding(f"prompt set {name}", "bad", str(error), error.hint)


def _server(host: str | None) -> Finding:
    url = settings.ollama_host(host)
    try:
        return Finding("server", "ok", f"Ollama {catalogue.version(host)} at {url}")
    except AzentError as error:
        todo = "Start it with `ollama serve`; without it the embedded model is used."
        return Finding("server", "note", str(error), todo)


def _models(host: str | None) -> Iterator[Finding]:
    models = catalogue.installed(host)
    if not models:
        yield Finding("models", "bad", "none", f"Fetch one with `ollama pull {PREFERRED}`.")
    free = _free_memory()
    for model in models:
        fits = free is None or model.size < free
        todo = "" if fits else f"It needs more than the {(free or 0) / 1e9:.1f} GB that are free."
        native = "native tools" if model.native_tools else "no native tools (azent needs none)"
        facts = [size_of(model.size), f"context {model.context or '?'}", native]
        facts.append(f"prompt set {_set_name(model.name, model.billions)}")
        yield Finding(model.name, "ok" if fits else "note", ", ".join(facts), todo)


def _set_name(model: str, billions: float | None) -> str:
    """Return the name of the prompt set that a model gets."""
    from azent import prompt

    return prompt.load(None, model, billions).name


def _encoder(given: Mapping[str, Any]) -> Finding:
    """Check the encoder, which compares questions with functions by their meaning."""
    try:
        encoder = find_encoder(given["encoder"], given["host"] or "")
    except AzentError as error:
        return Finding("encoder", "bad", str(error), error.hint)
    if encoder is not None or given["encoder"] == NONE:
        return Finding("encoder", "ok", encoder.name if encoder else "none, as it is set")
    return Finding("encoder", "note", "none: the model alone decides", how_to_get_one())


def _free_memory() -> int | None:
    """Return the bytes of memory that could be used; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        facts = dict(line.split(":", 1) for line in lines)
        return int(facts["MemAvailable"].split()[0]) * 1024  # with caches, freed on demand
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _call(given: Mapping[str, Any]) -> Finding:
    """Ask a real question, for which a function must be called."""
    from azent.agent import Agent

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    began = time.monotonic()
    try:
        if address := _would_fetch(given):
            found = "not tried: it would fetch the embedded model"
            return Finding("a call", "note", found, FETCH.format(address))
        agent = Agent(agents.model_from(given, quiet=True), [double], timeout=ROUND_TRIP_SECONDS)
        answer = agent.ask("Double the number 21 with the function.")
    except AzentError as error:
        return Finding("a call", "bad", str(error), error.hint)
    seconds = time.monotonic() - began
    found = f"{agent.model.name} in {seconds:.1f} s ({_timings(answer.usage, seconds)})"
    if [result.value for result in answer.results] == [42]:
        return Finding("a call", "ok", found)
    made = ", ".join(call.tool for call in answer.calls) or "none"
    return Finding("a call", "note", f"{found}, calls made: {made}", "Try a larger model.")


def _would_fetch(given: Mapping[str, Any]) -> str | None:
    """Return the address of the embedded model that would be fetched first, if there is one."""
    if given["profiles"] or given["profile"]:
        return None
    address = given["model"] or choose(given["host"]).address
    file = MODELS.get(address.removeprefix("gguf:")) if address.startswith("gguf:") else None
    return address if file is not None and not path_of(file).exists() else None


def _timings(usage: Usage, seconds: float) -> str:
    """Describe how the seconds of a question divide between the server and azent."""
    speed = usage.reply_tokens / usage.reply_seconds if usage.reply_seconds else 0
    cached = f" with {usage.cached_tokens} tokens cached" if usage.cached_tokens else ""
    return (
        f"loading {usage.load_seconds:.1f} s, reading {usage.prompt_seconds:.1f} s{cached}, "
        f"writing {usage.reply_seconds:.1f} s at {speed:.0f} tokens/s, "
        f"azent {max(seconds - usage.seconds, 0):.1f} s"
    )


# ---- models --------------------------------------------------------------------------------------

models = options.command_group("List and fetch models.")


@models.command("list", short_help="List models, and the set that suits each.")
def list_models(host: options.Host = None, as_json: options.AsJson = False) -> None:
    """List models: size, context, native tools or not, and the prompt set that suits each."""
    rows = [*_of_server(host), *_embedded()]
    agents.warn_of_broken_sets((row["name"].removeprefix("gguf:"), row["billions"]) for row in rows)
    if as_json:
        console.print_json(rows, indent=2)
        return
    headings = ("model", "size", "context", "native tools", "prompt set", "where")
    console.print_table(headings, [_cells(row) for row in rows])
    setting = resolved()["encoder"].value
    encoder = _encoder({"encoder": setting, "host": host})
    console.print_notice(". ".join(filter(None, (f"encoder: {encoder.found}", encoder.todo))))


@models.command("pull", short_help="Fetch a model.")
def pull_model(
    name: Annotated[str, typer.Argument(help="A model of Ollama's library, or gguf:NAME.")],
    host: options.Host = None,
) -> None:
    """Fetch a model: by the Ollama server, or (gguf:NAME) the file that azent runs by itself."""
    if name.startswith("gguf:"):
        options.reject_unused({"host": host}, "an Ollama server to ask", "name a model of Ollama's")
        console.print_text(str(agents.fetch_model(known(name.removeprefix("gguf:")))))
        return
    with agents.download_bar() as progress:
        task = progress.add_task("pulling", total=None)
        for step in catalogue.pull(name, host):
            progress.update(task, completed=step.done, total=step.total or None)
    console.print_notice(f"{name} is fetched")


def _cells(row: Mapping[str, Any]) -> list[str]:
    context, native = str(row["context"] or "?"), "yes" if row["native_tools"] else "no"
    return [row["name"], row["shown_size"], context, native, row["prompts"], row["where"]]


def _of_server(host: str | None) -> list[dict[str, Any]]:
    """List the models of the server; where there is none, say so."""
    try:
        listed = catalogue.installed(host)
    except ModelUnreachable as error:
        console.print_notice(f"azent: {error}", error.hint)
        return []
    return [_row(asdict(model), model.name, "Ollama") for model in listed]


def _embedded() -> list[dict[str, Any]]:
    """List the models that azent can run by itself, fetched or not."""
    rows = []
    for name, file in MODELS.items():
        facts = {"name": f"gguf:{name}", "size": file.size, "context": NUM_CTX}
        facts |= {"native_tools": False, "billions": file.billions}
        where = "fetched" if path_of(file).exists() else "fetched at first use"
        rows.append(_row(facts, name, where))
    return rows


def _row(facts: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    shown = {"shown_size": size_of(facts["size"]), "where": where}
    return {**facts, **shown, "prompts": _set_name(name, facts["billions"])}


# ---- settings and completion ---------------------------------------------------------------------

Shell = StrEnum("Shell", ["bash", "zsh", "fish", "powershell"])
config = options.command_group("Show settings and where they come from.")


@config.command("show", short_help="Show each setting and its source.")
def show_config(as_json: options.AsJson = False) -> None:
    """Show each setting, its value, and where the value comes from; secrets are masked."""
    values = resolved()
    if as_json:
        rows = {n: {"value": _masked(n, v.value), "source": v.source} for n, v in values.items()}
        console.print_json(rows, indent=2)
        return
    lines = [(name, masked(name, v.value) or "-", v.source) for name, v in values.items()]
    console.print_table(("setting", "value", "from"), lines)


def _masked(name: str, value: Any) -> Any:
    """Mask a secret in a value, which keeps its type."""
    if isinstance(value, list):
        return [masked(name, each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else masked(name, value)


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to print it for.")]) -> None:
    """Print the script that lets a shell complete azent's commands and options."""
    from typer import completion as completions

    console.print_text(
        completions.get_completion_script(  # type: ignore[attr-defined]  # not marked as exported
            prog_name="azent", complete_var=settings.COMPLETING, shell=shell.value
        )
    )
