"""`azent tune`: the prompt set that suits a model best, searched on the user's own cases."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from azent.cli import options
from azent.cli.build import (
    functions_from,
    model_from,
    name_if_here,
    prompts_from,
    settings_from,
    tell_left_out,
)
from azent.cli.polite import polite, say
from azent.cli.tune_report import progress, show
from azent.errors import ModelError, UsageError

if TYPE_CHECKING:
    from azent.models import Model
    from azent.prompt import PromptSet

EXAMPLES = """Examples:
  azent tune qwen2.5-coder:0.5b --cases cases.jsonl -t examples/weather.py
  azent tune qwen2.5-coder:1.5b --cases bfcl --budget 1000 --name mine
  azent tune qwen2.5-coder:1.5b --cases cases.jsonl -p default -p small
"""
PROMPTS = Path("prompts")
SAMPLE = 25
BUDGET = 600  # that of `azent.lab`, which help must not wait for; a test holds them together


@polite
def command(
    model: Annotated[str, typer.Argument(help="The model, such as qwen2.5-coder:0.5b.")],
    cases: Annotated[
        list[str],
        typer.Option(
            help="A file of cases, of BFCL's, bfcl, or bfcl:CATEGORY. Repeatable.", metavar="SOURCE"
        ),
    ],
    tools: options.Tools = None,
    prompts: Annotated[
        list[str] | None,
        typer.Option(
            "--prompts",
            "-p",
            help="Begin with this prompt set, the first to be beaten. Repeatable.",
            metavar="SET",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="The new set's name; else tuned-, and the model's.", metavar="NAME"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a set of this name.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Keep each outcome here; else in tune-MODEL.jsonl.",
            metavar="FILE",
        ),
    ] = None,
    budget: Annotated[
        int,
        typer.Option(
            min=1, help="How often a set may be asked a case in the search.", metavar="NUMBER"
        ),
    ] = BUDGET,
    sample: Annotated[
        int,
        typer.Option(
            min=1, help="At most so many cases of each category, in each half.", metavar="NUMBER"
        ),
    ] = SAMPLE,
    seed: Annotated[
        int, typer.Option(min=0, help="What chance is drawn from.", metavar="NUMBER")
    ] = 0,
    jobs: options.Jobs = 1,
    cache: options.Cache = None,
    num_ctx: options.NumCtx = None,
    as_json: options.AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Search the prompt set that suits a model best on your cases, and write it to ./prompts.

    Half of the cases are set aside: they are asked once, at the end, of the winner and of the set
    that was to be beaten. Begun again, the same command goes on where it ended.
    """
    from azent import lab
    from azent.config import masked

    values = settings_from({"model": model, "num_ctx": num_ctx, "reply_cache": cache})
    opened = model_from({key: value.value for key, value in values.items()}, quiet)
    name = f"tuned-{_slug(opened.name)}" if name is None else name
    folder = _folder(name, prompts, force)
    split = lab.split_cases(cases, functions_from(tools, none=not tools), sample=sample)
    bases = _bases(prompts, opened, name)
    file = output or Path(f"tune-{_slug(opened.name)}.jsonl")
    with _kept(file), progress(budget, len(split.aside), quiet) as watch:
        tuned = lab.tune(
            opened, split, bases, budget=budget, seed=seed, file=file, jobs=jobs, watch=watch
        )
    about = lab.About(name, date.today().isoformat(), _typed())
    written = lab.write(tuned, folder, about, force=force)
    show(tuned, about, written, masked("host", model), as_json)


def _slug(model: str) -> str:
    """A model's name in letters, digits and hyphens, for names of sets and files."""
    return re.sub(r"\W+|_", "-", model).strip("-").lower()


def _folder(name: str, prompts: Sequence[str] | None, force: bool) -> Path:
    """Where the new set will be; what is in its way is told before anything is asked."""
    from azent import lab, prompt

    folder = PROMPTS / prompt.checked_name(name)
    there = prompt.folders().get(name, folder)
    if there != folder:
        raise UsageError(f"a set of the name {name!r} is in {there}", "Take another --name.")
    lab.check_free(folder, force=force)
    if any(folder.resolve() == _place(each) for each in prompts or ()):
        raise UsageError(f"{name} is to be written, and to be begun with", "Take another --name.")
    return folder


def _place(prompts: str) -> Path | None:
    from azent import prompt

    folder = prompt.load(prompts).folder
    return folder.resolve() if folder else None


def _bases(named: Sequence[str] | None, model: Model, name: str) -> Sequence[PromptSet]:
    """The sets that are named, else all there are; those in ./prompts are told."""
    from azent import lab

    if named:
        return [prompts_from(each, model.name) for each in dict.fromkeys(named)]
    bases = lab.starting_sets(model.name, without=name)
    tell_left_out([model.name])
    for each in bases:
        name_if_here(each)
    return bases


def _typed() -> str:
    """The command that was typed, without passwords in addresses."""
    from azent.config import masked

    return shlex.join(["azent", *(masked("host", word) for word in sys.argv[1:])])


@contextmanager
def _kept(file: Path) -> Iterator[None]:
    """Say how to go on where it was broken off."""
    try:
        yield
    except (KeyboardInterrupt, ModelError):
        if file.exists():
            say(f"what was asked is kept in {file}; the same command goes on")
        raise
