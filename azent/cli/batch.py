"""Run `azent batch`, which writes the answers to a file of questions into another file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli import agents, console, options
from azent.cli.live import ProgressLines
from azent.cli.options import option
from azent.config import Value
from azent.errors import ModelUnreachable, UsageError, counted
from azent.values.files import lines_of, open_regular

if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.batch import BatchEvent, Progress, Server

CONNECT_SECONDS = "10s"
PRINT_SECONDS = 10.0  # between two lines of progress in a pipe
MAX_BAD_LINES = 20
EXAMPLES = {
    "batch": """Examples:
  azent batch in.jsonl -o out.jsonl -m qwen2.5-coder:1.5b
  azent batch in.jsonl -o out.jsonl -m qwen3:8b --host box1 --host box2
  azent batch in.jsonl -o out.jsonl -m openai:http://box:8000/v1#qwen3
  azent batch in.jsonl -o out.jsonl -m qwen3:8b --dask tcp://scheduler:8786
"""
}


def batch(
    context: typer.Context,
    questions: Annotated[Path, typer.Argument(help='The questions: {"id", "question"} a line.')],
    output: Annotated[Path, option("FILE", "The file for the answers.", "--output", "-o")],
    models: Annotated[
        list[str] | None,
        option("MODEL", "The model; several, one for each server.", "--model", "-m"),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        option("HOST", "An Ollama server that has the model. Repeatable.", "--host"),
    ] = None,
    dask: Annotated[
        str | None, option("ADDRESS", "A Dask scheduler, whose workers ask models beside them.")
    ] = None,
    tools: options.ToolSources = None,
    prompts: options.Prompts = None,
    system: options.System = None,
    choice: options.Choice = None,
    rounds: options.Rounds = None,
    timeout: options.Timeout = None,
    num_ctx: options.NumCtx = None,
    parallel: Annotated[
        int | None, option("NUMBER", "Questions at once to a server; else found by trying.", min=1)
    ] = None,
    patience: Annotated[
        float, option("SECONDS", "Seconds to wait when all servers have gone.", min=0)
    ] = 60.0,
    no_tools: options.NoTools = False,
    yes: options.Yes = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, only the summary.")
    ] = False,
) -> None:
    """Answer a file of questions into another; begun again, it goes on where it ended."""
    values = agents.settings_from(context.params)
    if models and not dask and all(map(_names_server, models)):
        options.reject_unused({"hosts": hosts}, "a model of Ollama's", "name one with -m")
    with ExitStack() as opened:
        servers: Sequence[Agent] | Sequence[Server]
        if dask:
            given = agents.plain_values(_at(values, _only(models), _only(hosts)))
            servers = [_dask_server(dask, given, no_tools, parallel, opened)]
        else:
            servers = _agents(values, models or [None], hosts or [None], no_tools)
        # No person attends a batch: calls that need approval run only with --yes.
        approve = (lambda call: True) if values["yes"].value else None
        settings = {"parallel": parallel, "patience": patience, "approve": approve}
        progress = _run(questions, output, servers, settings, quiet)
    console.print_notice(*_summary(progress))
    if progress.failed or progress.bad:
        raise typer.Exit(1)


def _agents(
    values: Mapping[str, Value], models: Sequence[Any], hosts: Sequence[Any], no_tools: bool
) -> list[Agent]:
    """Build an agent for each server: of each model address, or of each host for one model."""
    places = [(m, h) for m in models for h in ([None] if _names_server(m) else hosts)]
    return [agents.agent_from(_at(values, *place), no_tools=no_tools) for place in places]


def _names_server(model: str | None) -> bool:
    from azent.models.model import settings_of

    return model is not None and not settings_of(model, {"host": None})


def _at(values: Mapping[str, Value], model: str | None, host: str | None) -> dict[str, Value]:
    named = {"model": model, "host": host}
    return {**values, **{n: Value(v, "option") for n, v in named.items() if v is not None}}


def _run(
    questions: Path,
    output: Path,
    servers: Sequence[Agent] | Sequence[Server],
    settings: Mapping[str, Any],
    quiet: bool,
) -> Progress:
    from azent.batch import Notice, ignore, run_batch

    lines = _count_lines(questions)
    with closing(ProgressLines(PRINT_SECONDS)) as shown, console.capture_prints(shown.print):

        def report(progress: Progress, event: BatchEvent) -> None:
            if isinstance(event, Notice):
                shown.print(f"! {event.text}")
            shown.update(_progress_line(progress, lines))

        watch = ignore if quiet else report
        return run_batch(questions, output, servers, **settings, watch=watch)


# ---- on a Dask cluster ---------------------------------------------------------------------------


def _only(values: Sequence[str] | None) -> str | None:
    if values and len(values) > 1:
        raise UsageError("with --dask, each worker asks one model", "Leave one --model and --host.")
    return values[0] if values else None


def _dask_server(
    address: str, given: Mapping[str, Any], no_tools: bool, parallel: int | None, opened: ExitStack
) -> Server:
    """Connect to a Dask cluster and send the functions to its workers."""
    agents.require_extra("dask", "distributed")
    from distributed import Client

    from azent.batch import cluster_server

    if not given["model"]:
        raise UsageError("with --dask, the model must be named", "Name it with -m.")
    functions = agents.functions_from(given["tools"], none=no_tools)
    try:
        client = opened.enter_context(Client(address, timeout=CONNECT_SECONDS))  # type: ignore[no-untyped-call]  # it has no types
    except (OSError, ValueError) as error:
        hint = "Start one with `dask scheduler`, and workers with `dask worker ADDRESS`."
        raise ModelUnreachable(f"no Dask scheduler answers at {address}", hint) from error
    return cluster_server(client, partial(_agent_on_worker, given, functions), parallel=parallel)


def _agent_on_worker(given: Mapping[str, Any], functions: Sequence[Any]) -> Agent:
    """Build the agent on a worker; without a host it uses the worker's own model server."""
    from azent.agent import Agent

    wanted = ("prompts", "system", "choice", "rounds", "timeout")
    return Agent(
        agents.model_at(given["model"], given),
        functions,
        approval="never" if given["yes"] else "tool",
        **{name: given[name] for name in wanted},
    )


# ---- progress and summary ------------------------------------------------------------------------


def _progress_line(progress: Progress, lines: int) -> str:
    here = progress.answered + progress.failed
    done = progress.before + here + len(progress.bad)
    rate = here / progress.seconds if progress.seconds else 0.0
    left = max(lines - done, 0)
    time_left = f", {_duration(left / rate)} left" if rate and left else ""
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{min(done, lines):,} of {lines:,} done, {rate:.2f} a second{time_left}{failed}"


def _summary(progress: Progress) -> Iterator[str]:
    before = f", {progress.before:,} before" if progress.before else ""
    answered = counted(progress.answered, "question")
    yield f"answered {answered} in {_duration(progress.seconds)}{before}"
    for kind, count in progress.failures.most_common():
        yield f"failed: {count:,} by {kind}, such as: {progress.examples[kind]}"
    if progress.failed:
        yield "They are asked again when the same command is run again."
    for bad in progress.bad[:MAX_BAD_LINES]:
        yield f"line {bad.line} was left out: {bad.problem}"
    if (more := len(progress.bad) - MAX_BAD_LINES) > 0:
        yield f"and {counted(more, 'more line')} without a question"


def _count_lines(path: Path) -> int:
    """Count the lines of a file that are not empty; 0 for a pipe, and where it cannot be read."""
    try:
        with open_regular(path) as file:
            return sum(1 for line in lines_of(file) if line.strip())
    except OSError:
        return 0


def _duration(seconds: float) -> str:
    """Write a time: 4.2 s, or 1:02:03."""
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))
