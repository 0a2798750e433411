"""Run `azent prompts`, which shows, copies, checks and compares prompt sets."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from azent import config, prompt
from azent.cli import agents, console, options
from azent.cli.options import option
from azent.errors import PromptError, UsageError, counted

if TYPE_CHECKING:
    from azent.conversation.requests import Terms
    from azent.models import Model
    from azent.prompt import PromptSet

app = options.command_group("Show, copy, check and compare prompt sets.")
Name = Annotated[str, typer.Argument(help="A prompt set, by name or folder.")]
Move = Literal["decide", "answer"]


@app.command("list", short_help="List prompt sets and their folders.")
def list_sets(
    model: Annotated[
        str | None, option("MODEL", "Mark the set that this model gets.", "--model", "-m")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the prompt sets, their descriptions and their folders."""
    taken = _set_for(model).folder
    found = {name: (folder, _describe(folder)) for name, folder in prompt.folders().items()}
    if as_json:
        rows = [
            {"name": name, "folder": str(folder), "taken": folder == taken, **about}
            for name, (folder, about) in found.items()
        ]
        console.print_json(rows)
        return
    width = max(map(len, found))
    for name, (folder, about) in found.items():
        mark = "*" if folder == taken else " "
        text = f"broken: {about['broken']}" if "broken" in about else about.get("description", "")
        console.print_wrapped(
            f"{name:{width}}  {text}  [{folder}]", first=f"{mark} ", indent=" " * 4
        )


@app.command("show", short_help="Print a set's settings and texts.")
def show_set(name: Name = "default") -> None:
    """Print the settings and texts of a set, each under the name of its file."""
    for file, text in _files(name).items():
        console.print_text(f"--- {file}\n{text.rstrip()}\n")


@app.command(
    "new",
    short_help="Copy a set, to be edited.",
    epilog="Example: azent prompts new mine, then edit prompts/mine/system.txt",
)
def new_set(
    name: Annotated[str, typer.Argument(help="The name of the new set.")],
    source: Annotated[str, option("SET", "The set to begin with.", "--from")] = "default",
    user: Annotated[
        bool, typer.Option("--user", help="Put it into the user's folder, not into ./prompts.")
    ] = False,
) -> None:
    """Copy a set, to be edited; edits take effect at the next question."""
    root = config.user_folder() / "prompts" if user else Path("prompts")
    folder = root / prompt.checked_name(name)
    if folder.exists():
        raise UsageError(f"{folder} is there already", "Take another name, or edit that one.")
    files = _files(source)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
    console.print_text(str(folder))


@app.command("check", short_help="Check sets, by file and line.")
def check_sets(
    names: Annotated[list[str] | None, typer.Argument(help="Sets; all of them if none.")] = None,
) -> None:
    """Check sets: each text, blank and setting; errors are printed with file and line."""
    wanted: Sequence[str | Path] = names or list(prompt.folders().values())
    errors = [error for error in map(find_error, wanted) if error]
    for error in errors:
        console.print_notice(f"azent: {error}", error.hint)
    console.print_text(f"{counted(len(wanted), 'set')}, {len(errors)} broken")
    if errors:
        raise typer.Exit(PromptError.exit_code)


@app.command(
    "diff",
    short_help="Show the differences of two sets.",
    epilog="Example: azent prompts diff default mine",
)
def diff_sets(first: Name, second: Name) -> None:
    """Show the differences of two sets as a unified diff."""
    one, other = (
        {file.name: text.splitlines() for file, text in _files(name).items()}
        for name in (first, second)
    )
    for file in sorted(one.keys() | other.keys()):
        names = (f"{first}/{file}", f"{second}/{file}")
        for line in difflib.unified_diff(
            one.get(file, []), other.get(file, []), *names, lineterm=""
        ):
            console.print_text(line)


def find_error(wanted: str | Path) -> PromptError | None:
    """Return what is wrong with a set, by its name or folder; None if nothing is."""
    try:
        prompt.read(wanted) if isinstance(wanted, Path) else prompt.load(wanted)
    except PromptError as error:
        return error
    return None


def _set_for(address: str | None) -> PromptSet:
    """Load the prompt set of a model, or without one, the default set."""
    if not address:
        return prompt.load()
    given = agents.plain_values(agents.settings_from({"model": address}))
    name, billions = agents.name_and_size(_model_of(given))
    if billions is None:
        console.print_notice(f"the size of {name} is not known here, so that only its name counts")
    return prompt.load(None, name, billions)


def _describe(folder: Path) -> dict[str, Any]:
    """Return the settings of a set, or what is wrong with it."""
    if error := find_error(folder):
        return {"broken": str(error)}
    return prompt.read_settings(folder / "set.toml")


def _files(name: str) -> dict[Path, str]:
    """Read the files in the folder of a set: its settings, then its texts."""
    found = prompt.load(name)
    folder = found.folder or Path()
    known = [folder / "set.toml", *(folder / f"{each}.txt" for each in found.texts)]
    return {file: file.read_text("utf-8") for file in known if file.exists()}


# ---- rendering -----------------------------------------------------------------------------------


@app.command(
    "render",
    short_help="Print what a model would get.",
    epilog='Example: azent prompts render "What is 2 + 3?" -p default',
)
def render(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question.")] = "What is (2 + 3) * 4?",
    prompts: options.Prompts = None,
    tools: options.ToolSources = None,
    model: Annotated[
        str | None, option("MODEL", "The model that would be asked.", "--model", "-m")
    ] = None,
    system: options.System = None,
    choice: options.Choice = None,
    move: Annotated[Move, option("MOVE", "decide (the first request), or answer.")] = "decide",
    exact: Annotated[bool, typer.Option("--exact", help="Let the server count tokens.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Print exactly what the model would get, and how many tokens that is."""
    from azent.conversation.context_window import estimate

    given = agents.plain_values(agents.settings_from(context.params))
    terms = _terms(given)
    messages, schema = _request(question, terms, move)
    tokens = _count_tokens(messages, schema, given) if exact else estimate(messages)
    if as_json:
        size = {"tokens": tokens, "exact": exact}
        console.print_json({"messages": messages, "format": schema, **size})
        return
    for message in messages:
        console.print_text(f"--- {message['role']}\n{message['content']}")
    constrained = ", the reply is held to a schema" if schema else ""
    how = "counted" if exact else "estimated"
    console.print_notice(f"{tokens} tokens ({how}){constrained}, set {terms.prompts.name}")


def _terms(given: dict[str, Any]) -> Terms:
    from azent.conversation.requests import Terms
    from azent.tools.tool import choice_among, specs_of

    specs = specs_of(agents.functions_from(given["tools"]))
    prompt_set: PromptSet = agents.prompts_from(given["prompts"], _model_of(given))
    return Terms(specs, prompt_set, given["system"], choice_among(given["choice"], specs))


def _model_of(given: Mapping[str, Any]) -> Model | None:
    """Open the model that the settings name, if they name one; nothing is fetched or loaded."""
    return agents.unfetched_model_at(given["model"], given) if given["model"] else None


def _request(question: str, terms: Terms, move: Move) -> tuple[list[dict[str, Any]], Any]:
    """Return the messages of a request, and the schema for constrained decoding, if any."""
    from azent.conversation.next_step import Ask, next_step
    from azent.conversation.requests import messages_for
    from azent.messages import Question

    log = (Question(question),)
    step = next_step(log, terms)
    if move == "answer" or not isinstance(step, Ask):
        return list(messages_for(log, terms, "answer")), None
    return list(step.messages), step.format


def _count_tokens(messages: Sequence[dict[str, Any]], schema: Any, given: dict[str, Any]) -> int:
    """Let the server count the tokens, by a request for a reply of one token."""
    from azent.messages import End, Request

    request = Request(tuple(messages), schema, options={"num_predict": 1})
    pieces = agents.model_from(given, quiet=False).stream(request)
    return sum(piece.usage.prompt_tokens for piece in pieces if isinstance(piece, End))
