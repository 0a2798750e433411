"""Run `azent sessions`, which lists and changes stored conversations, and store chats."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent import messages
from azent.cli import console, options
from azent.cli.options import option
from azent.errors import SessionError, UsageError, counted
from azent.messages import Answer, Call, Event, Log, Message, Question, json_forms
from azent.messages.log import turn_of
from azent.messages.log import turns as all_turns
from azent.sessions import Session, Store

if TYPE_CHECKING:
    from azent.agent import Agent

app = options.command_group("List, show, branch, undo, export and delete stored conversations.")
QUESTION_WIDTH = 60
Name = Annotated[str, typer.Argument(help="The conversation's name.")]


@app.command("list", short_help="List the conversations.")
def list_sessions(store: options.StoreFile = None, as_json: options.AsJson = False) -> None:
    """List the conversations, the one that was last used first."""
    listed = open_store(store).sessions()
    if as_json:
        fields = ("name", "created", "updated", "turns", "question")
        console.print_json([{name: getattr(each, name) for name in fields} for each in listed])
        return
    if not listed:
        console.print_notice(
            "no conversation is kept yet", 'Keep one: azent ask --session NAME "..."'
        )
    width = max((len(each.name) for each in listed), default=0)
    for each in listed:
        used = datetime.fromtimestamp(each.updated)
        question = " ".join(each.question.split())[:QUESTION_WIDTH]
        line = f"{each.name:{width}}  {used:%Y-%m-%d %H:%M}  {counted(each.turns, 'turn'):>8}"
        console.print_wrapped(f"{line}  {question}".rstrip())


@app.command("show", short_help="Show a conversation.")
def show_session(
    name: Name, store: options.StoreFile = None, as_json: options.AsJson = False
) -> None:
    """Show a conversation: questions, calls, results and answers."""
    from azent.runtime.decision import chat_of

    log = open_store(store).log(name)
    if as_json:
        console.print_json(chat_of(log))
        return
    for message in log:
        for line in _message_lines(message):
            console.print_text(line)


def _message_lines(message: Message) -> Iterator[str]:
    from azent.cli.display import call_line, result_line

    match message:
        case Question(text):
            yield from ("", f"> {text}", "")
        case messages.Reply(calls=calls, text=text):
            yield from filter(None, (text, *(f"→ {call_line(call)}" for call in calls)))
        case messages.Result() as result:
            yield f"← {result.tool}: {result_line(result)}"
        case messages.Correction(problem):
            yield f"! asked again: {problem.message}"
        case messages.Note(what, text):
            yield f"! {what}: {text}" if text else f"! {what}"


@app.command("branch", short_help="Begin one with the turns of another.")
def branch_session(
    name: Name,
    new: Annotated[str, typer.Argument(help="The name of the new one.")],
    turns: Annotated[
        int | None, option("NUMBER", "Copy only this many of the first turns.", min=0)
    ] = None,
    store: options.StoreFile = None,
) -> None:
    """Begin a new conversation with the turns of another."""
    open_store(store).branch(name, new, turns)
    console.print_notice(f"go on with it: azent ask --session {new} ...")


@app.command("undo", short_help="Take back the last turn, or more.")
def undo_session(
    name: Name,
    turns: Annotated[int, option("NUMBER", "How many turns to take back.", min=1)] = 1,
    store: options.StoreFile = None,
) -> None:
    """Take back the last turn of a conversation, or more of them."""
    left = len(all_turns(open_store(store).undo(name, turns)))
    console.print_notice(f"{counted(left, 'turn')} left")


@app.command("export", short_help="Print a conversation as JSON lines.")
def export_session(name: Name, store: options.StoreFile = None) -> None:
    """Print a conversation as JSON lines, one for each message, with nothing left out."""
    for message in open_store(store).log(name):
        console.print_json(json_forms.to_json(message))


@app.command("delete", short_help="Delete conversations.")
def delete_sessions(
    names: Annotated[list[str], typer.Argument(help="The conversations' names.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: options.StoreFile = None,
) -> None:
    """Delete conversations."""
    kept = open_store(store)
    for name in names:
        question = console.sanitize(f"Delete {name}?")
        if yes or not sys.stdin.isatty() or typer.confirm(question, err=True):
            kept.delete(name)
            console.print_notice(f"deleted {name}")


# ---- for `ask` and `chat` ------------------------------------------------------------------------


def open_store(file: Path | None) -> Store:
    """Open the store in a file, by default the user's own."""
    return Store(file.expanduser() if file else None)


def open_session(name: str | None, last: bool, file: Path | None) -> Session | None:
    """Open the conversation of a name, or the last one; return None if neither is wanted."""
    if name is None and not last:
        return None
    store = open_store(file)
    if name is None:
        listed = store.sessions()
        if not listed:
            raise UsageError("there is no conversation to go on with", "Begin one: --session NAME")
        name = listed[0].name
        console.print_notice(f"going on with the conversation {name}")
    return Session(name, store)


class Conversation:
    """The conversation of a chat: in memory until it is saved by a name, then in the store."""

    def __init__(self, session: Session | None, store: Store) -> None:
        self.session = session
        self.store = store
        self._log: Log = ()
        self._turns_before = 0

    @property
    def log(self) -> Log:
        """Return all messages so far."""
        if self.session is None:
            return self._log
        try:
            return self.store.log(self.session.name)
        except SessionError:
            return ()  # it has no message yet

    def ask(
        self, agent: Agent, question: str, approve: Callable[[Call], Any]
    ) -> Generator[Event, None, None]:
        """Ask a question, and yield the events of the run."""
        self._turns_before = len(all_turns(self.log))
        if self.session:
            return agent.stream(question, session=self.session, approve=approve)
        return self._remembered(agent.stream(question, self._log, approve=approve))

    def _remembered(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        with closing(events):
            for event in events:
                if isinstance(event, Answer):
                    self._log = event.log
                yield event

    def forget_unfinished(self) -> None:
        """Remove the question that was stopped, if anything of it is stored."""
        if self.session and len(all_turns(self.log)) > self._turns_before:
            self.store.undo(self.session.name)

    def undo(self) -> str:
        """Remove the last question and its answer. Raises UsageError if there is none."""
        log = self.log
        if not all_turns(log):
            raise UsageError("there is nothing to take back", "Ask something first.")
        if self.session:
            self.store.undo(self.session.name)
        last = turn_of(log)
        self._log = log[: len(log) - len(last)]
        return next(message.text for message in last if isinstance(message, Question))

    def save(self, name: str) -> None:
        """Store it by a name, and continue there. Raises UsageError or SessionError."""
        if not name:
            raise UsageError("a name is missing", "Such as: /save holidays")
        if any(each.name == name for each in self.store.sessions()):
            hint = "Take another name, or delete that one: azent sessions delete."
            raise SessionError(f"there is a conversation {name!r} already", hint)
        log = self.log
        with self.store.hold(name) as held:
            held.keep(log)
        self.session = replace(self.session or Session(name, self.store), name=name)

    def clear(self) -> None:
        """Start an empty conversation; the stored one stays in the store."""
        self.session, self._log = None, ()
