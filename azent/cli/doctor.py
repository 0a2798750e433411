"""`azent doctor`: is all there that a question needs, and what to do where it is not."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from azent.cli.polite import polite
from azent.cli.visible import visible
from azent.errors import AzentError

Level = Literal["ok", "note", "bad"]
MARKS = {"ok": "✓", "note": "!", "bad": "✗"}
ROUND_TRIP_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, and what to do."""

    what: str
    level: Level
    found: str
    todo: str = ""


@polite
def command(
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model to try.")] = None,
    host: Annotated[str | None, typer.Option(help="The server; else OLLAMA_HOST.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the server, the models, the folders and a real call. Exits with 1 where one is bad."""
    findings = []
    for finding in look(model, host):
        findings.append(finding)
        if not as_json:
            _print(finding)
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    if any(finding.level == "bad" for finding in findings):
        raise typer.Exit(1)


def look(model: str | None = None, host: str | None = None) -> Iterator[Finding]:
    """The findings, one by one, as they are made."""
    yield _versions()
    yield from _folders()
    server = _server(host)
    yield server
    if server.level == "ok":
        yield from _models(host)
    yield _call(model, host)


def _versions() -> Finding:
    from importlib.metadata import version

    import azent

    parts = [f"azent {azent.__version__}", f"Python {platform.python_version()}"]
    parts += [f"{name} {version(name)}" for name in ("ollama", "pydantic")]
    return Finding("versions", "ok", ", ".join(parts))


def _folders() -> Iterator[Finding]:
    from azent import prompt, settings

    for what, folder in (("cache", settings.cache_folder()), ("settings", settings.user_folder())):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        writable = os.access(there, os.W_OK)
        todo = "" if writable else f"Make it writable: {there}"
        yield Finding(f"{what} folder", "ok" if writable else "bad", str(folder), todo)
    yield Finding("prompt sets", "ok", ", ".join(prompt.folders()))


def _server(host: str | None) -> Finding:
    from azent import settings
    from azent.models.catalogue import version

    url = settings.ollama_host(host)
    try:
        return Finding("server", "ok", f"Ollama {version(host)} at {url}")
    except AzentError as error:
        todo = "Start it with `ollama serve`; without it the embedded model is used."
        return Finding("server", "note", str(error), todo)


def _models(host: str | None) -> Iterator[Finding]:
    from azent.models.catalogue import installed
    from azent.models.choose import PREFERRED

    models = installed(host)
    if not models:
        yield Finding("models", "bad", "none", f"Fetch one with `ollama pull {PREFERRED}`.")
    free = _free_memory()
    for model in models:
        fits = free is None or model.size < free
        todo = "" if fits else f"It needs more than the {free or 0:.1e} bytes that are free."
        native = "native tools" if model.native_tools else "no native tools (azent needs none)"
        found = f"{model.size / 1e9:.1f} GB, context {model.context or '?'}, {native}"
        yield Finding(model.name, "ok" if fits else "note", found, todo)


def _free_memory() -> int | None:
    """The bytes of memory that could be used, where the system tells."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _call(model: str | None, host: str | None) -> Finding:
    """A real question, for which a function must be called."""
    from azent.agent import Agent
    from azent.models import open_model
    from azent.models.choose import choose

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    began = time.monotonic()
    try:
        address = model or choose(host).address
        if address.startswith("gguf:") and not model:
            return Finding("a call", "note", "not tried: it would fetch the embedded model", "")
        given = {} if address.startswith("gguf:") else {"host": host}
        agent = Agent(open_model(address, **given), [double], timeout=ROUND_TRIP_SECONDS)
        answer = agent.ask("Double the number 21 with the function.")
    except AzentError as error:
        return Finding("a call", "bad", str(error), error.hint)
    seconds, usage = time.monotonic() - began, answer.usage
    speed = usage.reply_tokens / usage.reply_seconds if usage.reply_seconds else 0
    found = (
        f"{address} in {seconds:.1f} s (loading {usage.load_seconds:.1f} s, "
        f"reading {usage.prompt_seconds:.1f} s, {speed:.0f} tokens/s)"
    )
    if [result.value for result in answer.results] == [42]:
        return Finding("a call", "ok", found)
    made = [call.tool for call in answer.calls] or "none"
    return Finding("a call", "note", f"{found}, calls made: {made}", "Try a larger model.")


def _print(finding: Finding) -> None:
    mark = MARKS[finding.level]
    print(visible(f"{mark} {finding.what}: {finding.found}"))
    if finding.todo:
        print(visible(f"    {finding.todo}"))
    sys.stdout.flush()
