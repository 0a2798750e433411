"""`azent batch`: a file of questions, answered into another."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli import options
from azent.cli.build import agent_from, functions_from, need, settings_from
from azent.cli.polite import polite, say
from azent.cli.region import is_live
from azent.cli.together import check_of_use
from azent.errors import ModelUnreachable, UsageError

if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.batch import Progress, Server
    from azent.config import Value
    from azent.drive import Approve

CONNECT_SECONDS = "10s"
EXAMPLES = """Examples:
  azent batch in.jsonl -o out.jsonl -m qwen2.5-coder:1.5b
  azent batch in.jsonl -o out.jsonl -m qwen3:8b --host box1 --host box2
  azent batch in.jsonl -o out.jsonl -m openai:http://box:8000/v1#qwen3
  azent batch in.jsonl -o out.jsonl -m qwen3:8b --dask tcp://scheduler:8786
"""


@polite
def command(
    questions: Annotated[Path, typer.Argument(help='The questions: {"id", "question"} a line.')],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file for the answers.", metavar="FILE")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="The model; several, one for each server.", metavar="MODEL"
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(help="An Ollama server that has the model. Repeatable.", metavar="HOST"),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="A Dask scheduler, whose workers ask models beside them.", metavar="ADDRESS"
        ),
    ] = None,
    tools: options.Tools = None,
    prompts: options.Prompts = None,
    system: options.System = None,
    choice: options.Choice = None,
    rounds: options.Rounds = None,
    timeout: options.Timeout = None,
    num_ctx: options.NumCtx = None,
    parallel: Annotated[
        int | None,
        typer.Option(
            min=1, help="Questions at once to a server; else found out.", metavar="NUMBER"
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(min=0, help="Seconds to wait when all servers have gone.", metavar="SECONDS"),
    ] = 60.0,
    no_tools: options.NoTools = False,
    yes: options.Yes = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not tell how it goes, only what came of it.")
    ] = False,
) -> None:
    """Answer a file of questions into another; begun again, it goes on where it ended."""
    from azent.cli.batch_report import summary

    given = {
        "tools": tools or None,
        "prompts": prompts,
        "system": system,
        "choice": choice,
        "rounds": rounds,
        "timeout": timeout,
        "num_ctx": num_ctx,
        "yes": yes or None,
    }
    values = settings_from(given)
    if model and not dask and all(map(_has_place, model)):
        check_of_use({"host": host}, "a model of Ollama's", "name one with -m")
    with ExitStack() as opened:
        lanes: Sequence[Agent] | Sequence[Server]
        if dask:
            at = _at(values, _one(model), _one(host))
            lanes = [_cluster(dask, at, no_tools, parallel, opened)]
        else:
            lanes = _agents(values, model or [None], host or [None], no_tools)
        settings = {"parallel": parallel, "patience": patience, "approve": _approve(values)}
        progress = _run(questions, output, lanes, settings, quiet)
    say(*summary(progress))
    if progress.failed or progress.bad:
        raise typer.Exit(1)


def _approve(values: Mapping[str, Value]) -> Approve | None:
    """Nobody sits beside a batch: what needs a consent has it beforehand, or not at all."""
    return (lambda call: True) if values["yes"].value else None


def _agents(
    values: Mapping[str, Value], models: Sequence[Any], hosts: Sequence[Any], no_tools: bool
) -> list[Agent]:
    """An agent for each server: models that name theirs have one each, others one on each host."""
    places = [(m, h) for m in models for h in ([None] if _has_place(m) else hosts)]
    return [agent_from(_at(values, *place), no_tools=no_tools) for place in places]


def _has_place(model: str | None) -> bool:
    return model is not None and model.startswith(("openai:", "gguf:"))


def _at(values: Mapping[str, Value], model: str | None, host: str | None) -> dict[str, Value]:
    from azent.config import Value

    named = {"model": model, "host": host}
    return {**values, **{n: Value(v, "option") for n, v in named.items() if v is not None}}


def _one(values: Sequence[str] | None) -> str | None:
    if values and len(values) > 1:
        raise UsageError("with --dask, each worker asks one model", "Leave one --model and --host.")
    return values[0] if values else None


def _cluster(
    address: str,
    values: Mapping[str, Value],
    no_tools: bool,
    parallel: int | None,
    opened: ExitStack,
) -> Server:
    """A Dask cluster, to whose workers the tools are sent as they are."""
    need("dask", "distributed")
    from distributed import Client

    from azent.batch import cluster_server

    given = {name: value.value for name, value in values.items()}
    if not given["model"]:
        raise UsageError("with --dask, the model must be named", "Name it with -m.")
    functions = functions_from(given["tools"], no_tools)
    _send_by_value(functions)
    try:
        client = opened.enter_context(Client(address, timeout=CONNECT_SECONDS))  # type: ignore[no-untyped-call]  # it has no types
    except (OSError, ValueError) as error:
        hint = "Start one with `dask scheduler`, and workers with `dask worker ADDRESS`."
        raise ModelUnreachable(f"no Dask scheduler answers at {address}", hint) from error
    return cluster_server(client, partial(_agent_there, given, functions), parallel=parallel)


def _send_by_value(functions: Sequence[Any]) -> None:
    """Have functions of files sent whole: workers could not import these."""
    import cloudpickle

    from azent.toolfile import IN_A_FILE

    for name in {getattr(function, "__module__", "") for function in functions}:
        if name.startswith(IN_A_FILE):
            cloudpickle.register_pickle_by_value(sys.modules[name])


def _agent_there(given: Mapping[str, Any], functions: Sequence[Any]) -> Agent:
    """The agent, made on a worker: its model's server is the worker's own, unless one is named."""
    from azent.agent import Agent
    from azent.cli.build import model_at

    wanted = ("prompts", "system", "choice", "rounds", "timeout")
    return Agent(
        model_at(given["model"], given),
        functions,
        approval="never" if given["yes"] else "tool",
        **{name: given[name] for name in wanted},
    )


def _run(
    questions: Path,
    output: Path,
    lanes: Sequence[Agent] | Sequence[Server],
    settings: Mapping[str, Any],
    quiet: bool,
) -> Progress:
    from azent.batch import Watch, ignore, run_batch
    from azent.cli.batch_report import Report, count_lines

    report = Report(count_lines(questions), live=is_live(sys.stderr))
    watch: Watch = ignore if quiet else report
    with closing(report), report.prints_shown():
        return run_batch(questions, output, lanes, **settings, watch=watch)
