"""Run `azent eval` and `azent tune`, which measure models and find the best prompt set."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent.cli import agents, console, options
from azent.cli.live import ProgressLines
from azent.cli.options import option
from azent.errors import ModelError, UsageError, counted, reason_of

if TYPE_CHECKING:
    from azent.lab import About, Arm, Outcome, Plan, Row, Standing, Tuned, TuningProgress
    from azent.models import Model
    from azent.models.encoder import Encoder
    from azent.prompt import PromptSet

EXAMPLES = {
    "eval": """Examples:
  azent eval cases.jsonl --tools examples/weather.py -m qwen2.5-coder:1.5b
  azent eval bfcl --sample 10 -p default -p article --native -o out.jsonl
  azent eval -o out.jsonl --html report.html
""",
    "tune": """Examples:
  azent tune qwen2.5-coder:0.5b --cases cases.jsonl -t examples/weather.py
  azent tune qwen2.5-coder:1.5b --cases bfcl --budget 1000 --name mine
  azent tune qwen2.5-coder:1.5b --cases cases.jsonl -p default -p small
""",
}
FOR_ASKING = ("models", "prompt_sets", "native", "tools", "sample", "reply_cache", "num_ctx")
TOO_LOW = 1  # exit code where a mean is under --fail-under
PRINT_SECONDS = 60.0  # between two lines of progress in a pipe
PROMPTS = Path("prompts")
SAMPLE = 25
BUDGET = 600  # as in `azent.lab`, which is too slow to import for --help; a test compares them
MAX_SHOWN = 5  # of the prompt sets that were tried


def evaluate(
    context: typer.Context,
    cases: Annotated[
        list[str] | None,
        typer.Argument(help="Files of cases, files of BFCL's, bfcl, or bfcl:CATEGORY."),
    ] = None,
    models: Annotated[
        list[str] | None, option("MODEL", "A model. Repeatable.", "--model", "-m")
    ] = None,
    prompt_sets: Annotated[
        list[str] | None, option("SET", "A prompt set. Repeatable.", "--prompts", "-p")
    ] = None,
    native: Annotated[
        bool, typer.Option("--native", help="Compare with the server's own tool calling.")
    ] = False,
    tools: options.ToolSources = None,
    output: Annotated[
        Path | None,
        option("FILE", "Keep outcomes in this file, and continue from it.", "--output", "-o"),
    ] = None,
    sample: options.Sample = None,
    jobs: options.Jobs = 1,
    part: Annotated[
        str, option("PART", "dev, final (those set aside), or all of the cases.")
    ] = "all",
    against: Annotated[
        Path | None, option("FILE", "Compare with the outcomes of another run.")
    ] = None,
    html: Annotated[Path | None, option("FILE", "Write a page with charts.")] = None,
    fail_under: Annotated[
        float | None, option("SHARE", "Fail if any mean is lower, for CI.", min=0, max=1)
    ] = None,
    reply_cache: options.Cache = None,
    num_ctx: options.NumCtx = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how often models are right; compare prompt sets, models and native tool calling."""
    from azent import lab

    other_run = "Name a file that `azent eval -o` wrote."
    before = lab.rows(_read_outcomes(against, other_run)) if against else []
    asking = {name: context.params[name] for name in FOR_ASKING}
    if cases:
        functions = agents.functions_from(tools, none=not tools)
        chosen = lab.cases_from(cases, functions, part=part, sample=sample)
        kept = lab.read_outcomes(output) if output else []
        arms = _arms(models, prompt_sets, native, asking)
        outcomes, is_whole = _run(lab.plan(arms, chosen, kept), output, jobs)
    else:
        outcomes, is_whole = _read_outcomes(output, "Name cases to get some."), True
        options.reject_unused(asking, "cases", "name a file of cases, or bfcl")
    rows = lab.rows(outcomes)
    verdicts = lab.verdicts(rows) + lab.against(before, rows)
    if as_json:
        console.print_json(lab.as_json(rows, verdicts))
    else:
        console.print_table(*lab.table(rows))
        for verdict in verdicts:
            console.print_wrapped(str(verdict))
    if html:
        _write_page(html, lab.page(outcomes, verdicts))
    if not is_whole:
        raise KeyboardInterrupt
    _fail_if_low(rows, fail_under)


def _read_outcomes(file: Path | None, hint: str) -> list[Outcome]:
    """Read the outcomes of an earlier run. Raises UsageError where there are none."""
    from azent.lab import read_outcomes

    if file is None:
        raise UsageError("there are no cases", "Name a file of cases, or bfcl; see --help.")
    kept = read_outcomes(file)
    if not kept:
        what = "has no outcomes" if file.exists() else "is not there"
        raise UsageError(f"{file} {what}", hint)
    return kept


def _arms(
    models: Sequence[str] | None,
    prompts: Sequence[str] | None,
    native: bool,
    options: dict[str, Any],
) -> list[Arm]:
    """Pair every model with every named prompt set, or else with its default set."""
    from azent.lab import Arm

    arms = []
    addresses: Sequence[str | None] = models or [None]
    for address in addresses:
        model, encoder = _opened({**options, "model": address}, quiet=False)
        named: Sequence[str | None] = prompts or [None]
        arms += [Arm(model, agents.prompts_from(name, model), encoder) for name in named]
        arms += [Arm(model, None)] if native else []
    return arms


def _opened(options: dict[str, Any], *, quiet: bool) -> tuple[Model, Encoder | None]:
    """Open the model and the encoder that options and settings name."""
    given = agents.plain_values(agents.settings_from(options))
    model = agents.model_from(given, quiet=quiet)
    return model, agents.encoder_from(given, model)


def _run(plan: Plan, output: Path | None, jobs: int) -> tuple[list[Outcome], bool]:
    """Return all outcomes, and whether the run was finished: Ctrl-C keeps those that there are."""
    from azent.lab import evaluate as run_evaluation

    outcomes, total = list(plan.done), len(plan.todo)
    if outcomes:
        there = "is there" if len(outcomes) == 1 else "are there"
        console.print_notice(f"{counted(len(outcomes), 'outcome')} {there} already, {total} to go")
    try:
        with closing(ProgressLines(PRINT_SECONDS)) as progress:
            began, right = time.monotonic(), 0
            for number, outcome in enumerate(run_evaluation(plan.todo, output, jobs=jobs), start=1):
                outcomes.append(outcome)
                right += outcome.ok
                rate = _rate(number, time.monotonic() - began, total - number)
                progress.update(f"{number} of {total} asked, {right} right{rate}")
    except KeyboardInterrupt:
        kept = f"; kept in {output}, the same command goes on" if output else ""
        console.print_notice(f"interrupted after {counted(len(outcomes), 'outcome')}{kept}")
        return outcomes, False
    return outcomes, True


def _rate(done: int, seconds: float, left: int) -> str:
    """Describe how many cases are asked a minute, and how long the rest takes at most."""
    if not done or not seconds:
        return ""
    rate = 60 * done / seconds
    shown = f"{rate:,.0f}" if rate > 10 else f"{rate:.1f}"
    return f", {shown} a minute, at most {timedelta(seconds=round(60 * left / rate))} left"


def _write_page(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", "backslashreplace")  # models may write lone surrogates
    except OSError as error:
        message = f"{file} cannot be written: {reason_of(error)}"
        raise UsageError(message, "Name another file.") from error
    console.print_notice(f"wrote {file}")


def _fail_if_low(rows: Sequence[Row], least: float | None) -> None:
    low = [row for row in rows if least is not None and row.mean < least]
    for row in low:
        console.print_notice(f"{row.name}: {row.mean:.2f} is under {least}")
    if low:
        raise typer.Exit(TOO_LOW)


# ---- tune ----------------------------------------------------------------------------------------


def tune(
    model: Annotated[str, typer.Argument(help="The model, such as qwen2.5-coder:0.5b.")],
    cases: Annotated[
        list[str],
        option("SOURCE", "A file of cases, of BFCL's, bfcl, or bfcl:CATEGORY. Repeatable."),
    ],
    tools: options.ToolSources = None,
    prompt_sets: Annotated[
        list[str] | None,
        option(
            "SET",
            "A set to begin with; the first is the one to beat. Repeatable.",
            "--prompts",
            "-p",
        ),
    ] = None,
    name: Annotated[
        str | None, option("NAME", "The new set's name; else tuned-, and the model's.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a set of this name.")] = False,
    output: Annotated[
        Path | None,
        option("FILE", "Keep outcomes in this file; else in tune-MODEL.jsonl.", "--output", "-o"),
    ] = None,
    budget: Annotated[
        int, option("NUMBER", "The most cases to ask in the search, over all sets.", min=1)
    ] = BUDGET,
    sample: Annotated[
        int, option("NUMBER", "The most cases of each category, in each half.", min=1)
    ] = SAMPLE,
    seed: Annotated[int, option("NUMBER", "The seed of random choices.", min=0)] = 0,
    jobs: options.Jobs = 1,
    reply_cache: options.Cache = None,
    num_ctx: options.NumCtx = None,
    as_json: options.AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Find the prompt set that suits a model best on your cases, and write it to ./prompts.

    Half of the cases are set aside: they are asked once, at the end, of the winner and of the set
    that was to be beaten. Begun again, the same command goes on where it ended.
    """
    from azent import lab

    opened, encoder = _opened(
        {"model": model, "num_ctx": num_ctx, "reply_cache": reply_cache}, quiet=quiet
    )
    slug = re.sub(r"\W+|_", "-", opened.name).strip("-").lower()
    name = f"tuned-{slug}" if name is None else name
    folder = _new_folder(name, prompt_sets, force)
    split = lab.split_cases(cases, agents.functions_from(tools, none=not tools), sample=sample)
    bases = _bases(prompt_sets, opened, name)
    file = output or Path(f"tune-{slug}.jsonl")
    settings: dict[str, Any] = {"budget": budget, "seed": seed, "file": file, "jobs": jobs}
    with _interruption_explained(file), closing(TuneReport(budget, len(split.aside))) as report:
        watch = lab.ignore if quiet else report
        tuned = lab.tune(opened, split, bases, **settings, encoder=encoder, watch=watch)
    command = shlex.join(["azent", *map(_without_password, sys.argv[1:])])
    about = lab.About(name, date.today().isoformat(), command)
    written = lab.write(tuned, folder, about, force=force)
    _print_tuned(tuned, about, written, _without_password(model), as_json)


def _new_folder(name: str, prompts: Sequence[str] | None, force: bool) -> Path:
    """Return the folder for the new set. Raises UsageError where it cannot be written to."""
    from azent import prompt
    from azent.lab import check_free

    folder = PROMPTS / prompt.checked_name(name)
    existing = prompt.folders().get(name, folder)
    if existing != folder:
        raise UsageError(f"a set of the name {name!r} is in {existing}", "Take another --name.")
    check_free(folder, force=force)
    bases = [prompt.load(each).folder for each in prompts or ()]
    if any(base and base.resolve() == folder.resolve() for base in bases):
        message = f"{name} cannot be both a set to begin with and the set to be written"
        raise UsageError(message, "Take another --name.")
    return folder


def _bases(named: Sequence[str] | None, model: Model, name: str) -> Sequence[PromptSet]:
    """Load the sets to begin with: those that are named, else all there are."""
    from azent.lab import starting_sets

    if named:
        return [agents.prompts_from(each, model) for each in dict.fromkeys(named)]
    bases = starting_sets(model, without=name)
    agents.warn_of_broken_sets([agents.name_and_size(model)])
    for each in bases:
        agents.name_local_set(each)
    return bases


def _without_password(word: str) -> str:
    """Hide the password in a word of the command line, if it is an address."""
    from azent.config import masked

    return masked("host", word)


@contextmanager
def _interruption_explained(file: Path) -> Iterator[None]:
    """Print how to continue, if the search is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, ModelError):
        if file.exists():
            console.print_notice(f"what was asked is kept in {file}; the same command goes on")
        raise


class TuneReport(ProgressLines):
    """Progress lines of a search of `budget` cases at most, and `aside` twice at the end."""

    def __init__(self, budget: int, aside: int) -> None:
        super().__init__(PRINT_SECONDS)
        self._budget = budget
        self._aside = aside
        self._began = time.monotonic()
        self._stage: tuple[int, ...] = ()

    def __call__(self, now: TuningProgress, asked: int) -> None:
        from azent.lab import JudgingProgress

        seconds = time.monotonic() - self._began
        if isinstance(now, JudgingProgress):
            stage: tuple[int, ...] = ()
            rate = _rate(asked, seconds, now.of - now.done)
            lines = ["judging the winner on the cases set aside", f"{now.done} of {now.of} asked"]
        else:
            stage = (now.round, now.cases)
            rate = _rate(asked, seconds, self._budget - now.spent + 2 * self._aside)
            left = counted(now.left, "prompt set")
            lines = [
                f"round {now.round}: {left} left, case {now.done + 1} of {now.cases}",
                *([f"best: {_score_line(now.best)}"] if now.best else []),
                f"{now.spent} of {self._budget} asked",
            ]
        self.update("\n".join(lines) + rate, at_once=stage != self._stage)
        self._stage = stage


def _score_line(score: Standing) -> str:
    cases = counted(score.cases, "case")
    return f"{score.mean:.2f} on {cases}, {score.tokens:.0f} prompt tokens: {score.candidate.name}"


def _print_tuned(
    tuned: Tuned, about: About, written: PromptSet, address: str, as_json: bool
) -> None:
    """Print what was tried, how the winner did on the cases set aside, and where it is."""
    from azent import prompt
    from azent.lab import evidence, table

    taken = prompt.load(None, tuned.model).name
    if as_json:
        folder = {"folder": str(written.folder), "taken": taken == written.name}
        console.print_json({**folder, **evidence(tuned, about)})
        return
    tried, spent = counted(len(tuned.result.tried), "prompt set"), tuned.result.spent
    scores = [f"  {_score_line(score)}" for score in tuned.result.tried[:MAX_SHOWN]]
    console.print_text("\n".join([f"tried {tried} on {counted(spent, 'case')} in all:", *scores]))
    console.print_text(f"\non {counted(tuned.winner.all.count, 'case')} set aside:")
    console.print_table(*table(tuned.judged))
    for verdict in tuned.verdicts:
        console.print_text(str(verdict))
        if verdict.comparison.difference <= 0:
            console.print_text(f"there it is no better than {tuned.start.prompts}: try more cases")
    console.print_text(f"wrote {written.folder}")
    if taken == written.name:
        console.print_text(f"`azent ask -m {address}` takes it from here on")
    else:
        suits = f"{taken} suits {address} too and comes first"
        console.print_text(f"{suits}: take the new one with -p {written.name}")
