"""`azent prompts`: see, copy, check and compare the texts by which models are asked."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent import settings
from azent.cli import options
from azent.cli.build import functions_from, model_from, prompts_from, settings_from
from azent.cli.polite import polite, say
from azent.cli.printed import print_json, print_text
from azent.cli.table import print_wrapped
from azent.errors import PromptError, UsageError
from azent.wording import counted

if TYPE_CHECKING:
    from azent.config import Value
    from azent.prompt import PromptSet
    from azent.request import Terms

app = typer.Typer(
    help="See, copy, check and compare the texts by which models are asked.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(help="A prompt set, by name or folder.")]
MOVES = ("decide", "answer")
BROKEN = PromptError.exit_code


@app.command("list", short_help="List sets, and where they stand.")
@polite
def list_sets(
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Mark the set that this model gets.", metavar="MODEL"),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the prompt sets there are, and where they stand."""
    taken = _taken(model or "")
    found = {name: _described(at) for name, at in _folders().items()}
    if as_json:
        rows = [
            {"name": name, "folder": str(at), "taken": at == taken, **found[name]}
            for name, at in _folders().items()
        ]
        print_json(rows)
        return
    width = max(map(len, found))
    for name, at in _folders().items():
        mark, about = "*" if at == taken else " ", found[name]
        said = f"broken: {about['broken']}" if "broken" in about else about.get("description", "")
        print_wrapped(f"{name:{width}}  {said}  [{at}]", first=f"{mark} ", indent=" " * 4)


@app.command("show", short_help="Print a set's settings and texts.")
@polite
def show_set(name: Name = "default") -> None:
    """Print the settings and texts of a set, each under the name of its file."""
    for file, text in _files(_load(name)).items():
        print_text(f"--- {file}\n{text.rstrip()}\n")


@app.command(
    "new",
    short_help="Copy a set, to be edited.",
    epilog="Example: azent prompts new mine, then edit prompts/mine/system.txt",
)
@polite
def new_set(
    name: Annotated[str, typer.Argument(help="The name of the new set.")],
    source: Annotated[
        str, typer.Option("--from", help="The set to begin with.", metavar="SET")
    ] = "default",
    mine: Annotated[
        bool, typer.Option("--user", help="Put it into the user's folder, not into ./prompts.")
    ] = False,
) -> None:
    """Copy a set, to be edited; edits take effect at the next question."""
    from azent.prompt import checked_name

    checked_name(name)
    root = settings.user_folder() / "prompts" if mine else Path("prompts")
    if (root / name).exists():
        raise UsageError(f"{root / name} is there already", "Take another name, or edit that one.")
    origin = _load(source)
    (root / name).mkdir(parents=True)
    for file in _files(origin):
        shutil.copyfile(file, root / name / file.name)
    print_text(str(root / name))


@app.command("check", short_help="Check sets, by file and line.")
@polite
def check_sets(
    names: Annotated[list[str] | None, typer.Argument(help="Sets; all of them if none.")] = None,
) -> None:
    """Check sets: each text, blank and setting; what is wrong is named with file and line."""
    wanted: Sequence[str | Path] = names or list(_folders().values())
    broken = [error for error in map(error_in, wanted) if error]
    for error in broken:
        say(f"azent: {error}", error.hint)
    print_text(f"{counted(len(wanted), 'set')}, {len(broken)} broken")
    if broken:
        raise typer.Exit(BROKEN)


@app.command(
    "diff",
    short_help="Show in what two sets differ.",
    epilog="Example: azent prompts diff default mine",
)
@polite
def diff_sets(first: Name, second: Name) -> None:
    """Show in what two sets differ; nothing where they do not."""
    one, other = _by_name(_load(first)), _by_name(_load(second))
    for file in sorted(one.keys() | other.keys()):
        names = (f"{first}/{file}", f"{second}/{file}")
        lines = (one.get(file, "").splitlines(), other.get(file, "").splitlines())
        for line in difflib.unified_diff(*lines, *names, lineterm=""):
            print_text(line)


@app.command(
    "render",
    short_help="Print what a model would get.",
    epilog='Example: azent prompts render "What is 2 + 3?" -p default',
)
@polite
def render(
    question: Annotated[str, typer.Argument(help="The question.")] = "What is (2 + 3) * 4?",
    prompts: options.Prompts = None,
    tools: options.Tools = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="The model that would be asked.", metavar="MODEL"),
    ] = None,
    system: options.System = None,
    choice: options.Choice = None,
    move: Annotated[
        str, typer.Option(help="decide (the first request), or answer.", metavar="MOVE")
    ] = "decide",
    exact: Annotated[bool, typer.Option("--exact", help="Let the server count tokens.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Print exactly what the model would get, and how many tokens that is."""
    if move not in MOVES:
        raise UsageError(f"--move is {move!r}", f"Say {' or '.join(MOVES)}.")
    given = {"prompts": prompts, "model": model, "system": system, "choice": choice}
    values = settings_from({**given, "tools": tools or None})
    terms = _terms(values)
    messages, schema = _request(question, terms, move)
    tokens = _counted(messages, schema, values) if exact else _estimated(messages)
    if as_json:
        size = {"tokens": tokens, "exact": exact}
        print_json({"messages": messages, "format": schema, **size})
        return
    for message in messages:
        print_text(f"--- {message['role']}\n{message['content']}")
    held = ", the reply is held to a schema" if schema else ""
    say(f"{tokens} tokens ({'counted' if exact else 'estimated'}){held}, set {terms.prompts.name}")


def _terms(values: dict[str, Value]) -> Terms:
    from azent.request import Terms
    from azent.tools import choice_among, specs_of

    specs = specs_of(functions_from(values["tools"].value, none=False))
    prompt_set = prompts_from(values["prompts"].value, values["model"].value or "")
    choice = choice_among(values["choice"].value, specs)
    return Terms(specs, prompt_set, values["system"].value, choice)


def _request(question: str, terms: Terms, move: str) -> tuple[list[dict[str, Any]], Any]:
    """The messages of a request and the schema that its reply is held to, if any."""
    from azent.messages import Question
    from azent.request import messages_for
    from azent.step import Ask, next_step

    log = (Question(question),)
    step = next_step(log, terms)
    if move == "answer" or not isinstance(step, Ask):
        return list(messages_for(log, terms, "answer")), None
    return list(step.messages), step.format


def _estimated(messages: Sequence[dict[str, Any]]) -> int:
    from azent.budget import estimate

    return estimate(messages)


def _counted(messages: Sequence[dict[str, Any]], schema: Any, values: dict[str, Value]) -> int:
    """The tokens that the server counts: it is asked for a reply of one token."""
    from azent.messages import End, Request

    model = model_from({name: value.value for name, value in values.items()}, quiet=False)
    request = Request(tuple(messages), schema, options={"num_predict": 1})
    usages = [piece.usage for piece in model.stream(request) if isinstance(piece, End)]
    return sum(usage.prompt_tokens for usage in usages)


# ---- sets and their files ------------------------------------------------------------------------


def _folders() -> dict[str, Path]:
    from azent import prompt

    return prompt.folders()


def _load(name: str) -> PromptSet:
    from azent import prompt

    return prompt.load(name)


def _taken(model: str) -> Path | None:
    """The folder of the set that a model gets."""
    from azent import prompt

    return prompt.load(None, model).folder


def _described(folder: Path) -> dict[str, Any]:
    """The settings of a set, or what is wrong with it."""
    from azent import prompt

    if error := error_in(folder):
        return {"broken": str(error)}
    return prompt.read_settings(folder / "set.toml")


def error_in(wanted: str | Path) -> PromptError | None:
    """What is wrong with a set, named or in a folder, if anything is."""
    from azent import prompt

    try:
        prompt.read(wanted) if isinstance(wanted, Path) else prompt.load(wanted)
    except PromptError as error:
        return error
    return None


def _files(prompt_set: PromptSet) -> dict[Path, str]:
    """The files of a set that was read: its settings, then its texts; not those lent by another."""
    folder = prompt_set.folder or Path()
    known = [folder / "set.toml", *(folder / f"{name}.txt" for name in prompt_set.texts)]
    return {file: file.read_text("utf-8") for file in known if file.exists()}


def _by_name(prompt_set: PromptSet) -> dict[str, str]:
    return {file.name: text for file, text in _files(prompt_set).items()}
