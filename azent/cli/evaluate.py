"""`azent eval`: how often models are right, asked in one way and another."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli import options
from azent.cli.build import functions_from, model_from, prompts_from, settings_from
from azent.cli.figures import print_figures
from azent.cli.polite import polite, say
from azent.cli.printed import print_json
from azent.cli.region import is_live
from azent.cli.table import print_wrapped
from azent.cli.together import check_of_use
from azent.errors import UsageError
from azent.wording import counted, reason_of

if TYPE_CHECKING:
    from azent.lab import Arm, Outcome, Plan, Row, Verdict

EXAMPLES = """Examples:
  azent eval cases.jsonl --tools examples/weather.py -m qwen2.5-coder:1.5b
  azent eval bfcl --sample 10 -p default -p article --native -o out.jsonl
  azent eval -o out.jsonl --html report.html
"""
TOO_LOW = 1


@polite
def command(
    cases: Annotated[
        list[str] | None,
        typer.Argument(help="Files of cases, files of BFCL's, bfcl, or bfcl:CATEGORY."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="A model. Repeatable.", metavar="MODEL"),
    ] = None,
    prompts: Annotated[
        list[str] | None,
        typer.Option("--prompts", "-p", help="A prompt set. Repeatable.", metavar="SET"),
    ] = None,
    native: Annotated[
        bool, typer.Option("--native", help="Compare with the server's own tool calling.")
    ] = False,
    tools: options.Tools = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Keep each outcome here; go on where it was left.",
            metavar="FILE",
        ),
    ] = None,
    sample: options.Sample = None,
    jobs: options.Jobs = 1,
    part: Annotated[
        str, typer.Option(help="dev, final (those set aside), or all of the cases.", metavar="PART")
    ] = "all",
    against: Annotated[
        Path | None, typer.Option(help="Compare with the outcomes of another run.", metavar="FILE")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with charts.", metavar="FILE")
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Fail if any mean is lower, for CI.", metavar="SHARE"),
    ] = None,
    cache: options.Cache = None,
    num_ctx: options.NumCtx = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how often models are right; compare prompt sets, models and native tool calling."""
    from azent import lab

    kept = lab.read_outcomes(output) if output else []
    before = lab.rows(_of_another_run(against)) if against else []
    if cases:
        given = {"num_ctx": num_ctx, "reply_cache": cache}
        functions = functions_from(tools, none=not tools)
        chosen = lab.cases_from(cases, functions, part=part, sample=sample)
        arms = _arms(model, prompts, native, given)
        outcomes, whole = _run(lab.plan(arms, chosen, kept), output, jobs)
    else:
        outcomes, whole = _only_kept(kept, output), True
        asking = {
            "model": model,
            "prompts": prompts,
            "native": native,
            "tools": tools,
            "sample": sample,
            "cache": cache,
            "num_ctx": num_ctx,
        }
        check_of_use(asking, "cases", "name a file of cases, or bfcl")
    mine = lab.rows(outcomes)
    found = lab.verdicts(mine) + lab.against(before, mine)
    _show(mine, found, as_json)
    if html:
        _write(html, lab.page(outcomes, found))
    _end(mine, whole, fail_under)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", "backslashreplace")  # models write half a character, too
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {reason_of(error)}", "Name another file."
        ) from error
    say(f"wrote {file}")


def _of_another_run(file: Path) -> list[Outcome]:
    from azent.lab import read_outcomes

    kept = read_outcomes(file)
    if not kept:
        what = "has no outcomes" if file.exists() else "is not there"
        raise UsageError(f"{file} {what}", "Name a file that `azent eval -o` wrote.")
    return kept


def _only_kept(kept: list[Outcome], file: Path | None) -> list[Outcome]:
    """Outcomes of an earlier run, where nothing is to be asked now."""
    if file is None:
        raise UsageError("there are no cases", "Name a file of cases, or bfcl; see --help.")
    if not kept:
        raise UsageError(f"{file} has no outcomes", "Name cases to get some.")
    return kept


def _arms(
    models: list[str] | None, prompts: list[str] | None, native: bool, given: dict[str, Any]
) -> list[Arm]:
    """Every model with every prompt set; without one named, with the set that suits it."""
    from azent.lab import Arm

    arms = []
    unnamed: list[str | None] = [None]
    for address in models or unnamed:
        values = settings_from({**given, "model": address})
        model = model_from({name: value.value for name, value in values.items()}, quiet=False)
        sets = [prompts_from(name, model.name) for name in prompts or unnamed]
        arms += [Arm(model, each) for each in sets]
        arms += [Arm(model, None)] if native else []
    return arms


def _run(plan: Plan, output: Path | None, jobs: int) -> tuple[list[Outcome], bool]:
    """The outcomes, those of before too, and whether it went to its end: Ctrl-C keeps the rest."""
    from azent.lab import evaluate

    outcomes = list(plan.done)
    if outcomes:
        there = "is there" if len(outcomes) == 1 else "are there"
        say(f"{counted(len(outcomes), 'outcome')} {there} already, {len(plan.todo)} to go")
    try:
        with _progress(len(plan.todo)) as progress:
            for outcome in evaluate(plan.todo, output, jobs=jobs):
                outcomes.append(outcome)
                progress(outcome)
    except KeyboardInterrupt:
        kept = f"; kept in {output}, the same command goes on" if output else ""
        say(f"interrupted after {counted(len(outcomes), 'outcome')}{kept}")
        return outcomes, False
    return outcomes, True


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A bar with the time that is left, where there is a terminal to show it on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    right = 0
    hidden = not is_live(sys.stderr)
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden) as bars:
        task = bars.add_task("asking", total=total)

        def show(outcome: Outcome) -> None:
            nonlocal right
            right += outcome.ok
            bars.update(task, advance=1, description=f"{right} right")

        yield show


def _show(mine: Sequence[Row], found: Sequence[Verdict], as_json: bool) -> None:
    from azent.lab import as_json as plain

    if as_json:
        print_json(plain(mine, found))
        return
    print_figures(mine)
    for verdict in found:
        print_wrapped(str(verdict))


def _end(mine: Sequence[Row], whole: bool, fail_under: float | None) -> None:
    if not whole:
        raise KeyboardInterrupt
    low = [row for row in mine if fail_under is not None and row.mean < fail_under]
    for row in low:
        say(f"{row.name}: {row.mean:.2f} is under {fail_under}")
    if low:
        raise typer.Exit(TOO_LOW)
