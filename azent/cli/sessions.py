"""`azent sessions`: the conversations that are kept, looked at and looked after."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from azent.cli import options
from azent.cli.polite import polite, say
from azent.cli.printed import print_json, print_text
from azent.cli.table import print_wrapped
from azent.cli.visible import visible
from azent.errors import UsageError
from azent.wording import counted

if TYPE_CHECKING:
    from azent.messages import Message
    from azent.sessions import Session, Store

app = typer.Typer(
    help="List, show, branch, undo, export and delete the conversations that are kept.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
QUESTION_WIDTH = 60
Name = Annotated[str, typer.Argument(help="The conversation's name.")]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        "--store", help="The file of conversations.", show_default="the user's own", metavar="FILE"
    ),
]


@app.command("list", short_help="List the conversations.")
@polite
def list_sessions(store: StoreFile = None, as_json: options.AsJson = False) -> None:
    """List the conversations, the one that was last used first."""
    listed = opened(store).sessions()
    if as_json:
        fields = ("name", "created", "updated", "turns", "question")
        print_json([{name: getattr(each, name) for name in fields} for each in listed])
        return
    if not listed:
        say("no conversation is kept yet", 'Keep one: azent ask --session NAME "..."')
    width = max((len(each.name) for each in listed), default=0)
    for each in listed:
        used = datetime.fromtimestamp(each.updated).strftime("%Y-%m-%d %H:%M")
        question = " ".join(each.question.split())[:QUESTION_WIDTH]
        turns = counted(each.turns, "turn")
        print_wrapped(f"{each.name:{width}}  {used}  {turns:>8}  {question}".rstrip())


@app.command("show", short_help="Show a conversation.")
@polite
def show_session(name: Name, store: StoreFile = None, as_json: options.AsJson = False) -> None:
    """Show a conversation: questions, calls, results and answers."""
    from azent.decide import chat_of

    log = opened(store).log(name)
    if as_json:
        print_json(chat_of(log))
        return
    for message in log:
        for line in _lines(message):
            print_text(line)


@app.command("branch", short_help="Begin one with the turns of another.")
@polite
def branch_session(
    name: Name,
    new: Annotated[str, typer.Argument(help="The name of the new one.")],
    turns: Annotated[
        int | None,
        typer.Option(min=0, help="Take over only so many of the first turns.", metavar="NUMBER"),
    ] = None,
    store: StoreFile = None,
) -> None:
    """Begin a new conversation with the turns of another."""
    opened(store).branch(name, new, turns)
    say(f"go on with it: azent ask --session {new} ...")


@app.command("undo", short_help="Take back the last turn, or more.")
@polite
def undo_session(
    name: Name,
    turns: Annotated[
        int, typer.Option(min=1, help="How many turns to take back.", metavar="NUMBER")
    ] = 1,
    store: StoreFile = None,
) -> None:
    """Take back the last turn of a conversation, or more of them."""
    from azent.log import turns as turns_of

    left = len(turns_of(opened(store).undo(name, turns)))
    say(f"{counted(left, 'turn')} left")


@app.command("export", short_help="Print a conversation as JSON lines.")
@polite
def export_session(name: Name, store: StoreFile = None) -> None:
    """Print a conversation as JSON lines, one for each message, with nothing left out."""
    from azent.messages import to_json

    for message in opened(store).log(name):
        print_json(to_json(message))


@app.command("delete", short_help="Delete conversations.")
@polite
def delete_sessions(
    names: Annotated[list[str], typer.Argument(help="The conversations' names.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreFile = None,
) -> None:
    """Delete conversations."""
    kept = opened(store)
    for name in names:
        question = visible(f"Delete {name}?")
        if yes or not sys.stdin.isatty() or typer.confirm(question, err=True):
            kept.delete(name)
            say(f"deleted {name}")


def opened(file: Path | None) -> Store:
    """The store in a file, else the user's own."""
    from azent.sessions import Store

    return Store(file.expanduser() if file else None)


def session_from(name: str | None, last: bool, file: Path | None) -> Session | None:
    """The conversation that is named, or the last one, or none."""
    if name is None and not last:
        return None
    from azent.sessions import Session

    store = opened(file)
    if name is None:
        listed = store.sessions()
        if not listed:
            raise UsageError("there is no conversation to go on with", "Begin one: --session NAME")
        name = listed[0].name
        say(f"going on with the conversation {name}")
    return Session(name, store)


def _lines(message: Message) -> list[str]:
    """A message as lines for a person."""
    from azent.cli.show import call_line, result_line
    from azent.messages import Correction, Note, Question, Reply, Result

    match message:
        case Question(text):
            return ["", f"> {text}", ""]
        case Reply(calls=calls, text=text):
            return [*([text] if text else []), *(f"→ {call_line(call)}" for call in calls)]
        case Result() as result:
            return [f"← {result.tool}: {result_line(result)}"]
        case Correction(problem):
            return [f"! asked again: {problem.message}"]
        case Note(what, text):
            return [f"! {what}" + (f": {text}" if text else "")]
