"""Run `azent ask` and `azent chat`, which answer questions with the help of functions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from azent import config
from azent.cli import agents, console, options
from azent.cli.display import RunDisplay, tool_lines
from azent.cli.sessions import Conversation, open_session, open_store
from azent.config import Value
from azent.conversation.answers import answer_json, event_json
from azent.errors import AzentError, UsageError, counted
from azent.messages import Answer, Event

if TYPE_CHECKING:
    from prompt_toolkit.history import History

    from azent.agent import Agent

EXAMPLES = {
    "ask": """Examples:
  azent ask "What is (2123 + 2321) * 312?"
  azent ask "What's the weather in London, UK?" --tools examples/weather.py
  echo "How many days until 2030-01-01?" | azent ask -q
  azent ask "..." --json | jq .answer
  azent ask -s work "My name is Logan."; azent ask -c "What is my name?"
""",
    "chat": """Examples:
  azent chat --tools examples/weather.py
  azent chat --session work
  printf 'What is 17 * 23?\\nAnd twice that?\\n' | azent chat -q
""",
}
COMMAND = re.compile(r"/(\w*)(?:\s+(.*))?", re.DOTALL)
PROMPT_MARK = "›"


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question; '-' or a pipe is read.")] = "-",
    tools: options.ToolSources = None,
    model: options.Model = None,
    profile: options.Profile = None,
    session: options.Session = None,
    last: options.Last = False,
    store: options.StoreFile = None,
    prompts: options.Prompts = None,
    system: options.System = None,
    choice: options.Choice = None,
    rounds: options.Rounds = None,
    timeout: options.Timeout = None,
    num_ctx: options.NumCtx = None,
    reply_cache: options.Cache = None,
    replay: options.Replay = None,
    mcp: options.Mcp = None,
    trust: options.Trust = False,
    no_tools: options.NoTools = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    show_prompt: options.ShowPrompt = False,
    as_json: options.AsJson = False,
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print each event, as one line of JSON.")
    ] = False,
) -> None:
    """Ask a question; the model may call functions to answer it."""
    stored = open_session(session, last, store)
    if stored is None:
        options.reject_unused({"store": store}, "a conversation", "name one: --session NAME")
    text = _question(question, is_optional=stored is not None)
    values = agents.settings_from(context.params)
    prints_json = as_json or as_jsonl
    is_quiet = quiet or (prints_json and not (verbose or show_prompt))
    display_options = {"quiet": is_quiet, "verbose": verbose, "show_prompt": show_prompt}
    with agents.mcp_tools(mcp, trust) as more:
        agent = agents.agent_from(values, more=more, no_tools=no_tools, quiet=is_quiet)
        with closing(RunDisplay(agent, **display_options, show_answer=not prints_json)) as display:
            approve = display.pausing(agents.approval(values["yes"].value))
            then = _print_event if as_jsonl else _print_answer if as_json else None
            display.follow(agent.stream(text, session=stored, approve=approve), then)


def _print_event(event: Event) -> None:
    console.print_json(event_json(event))


def _print_answer(event: Event) -> None:
    if isinstance(event, Answer):
        console.print_json(answer_json(event))


def _question(given: str, *, is_optional: bool) -> str | None:
    """Return the question, read from a pipe where none was given; None continues a conversation."""
    if given == "-" and is_optional and sys.stdin.isatty():
        return None
    text = sys.stdin.read() if given == "-" and not sys.stdin.isatty() else given
    if not text.strip() or text == "-":
        raise UsageError("there is no question", 'Give one: azent ask "What is 2 + 3?"')
    return text.strip()


# ---- chat ----------------------------------------------------------------------------------------


def chat(
    context: typer.Context,
    tools: options.ToolSources = None,
    model: options.Model = None,
    profile: options.Profile = None,
    session: options.Session = None,
    last: options.Last = False,
    store: options.StoreFile = None,
    prompts: options.Prompts = None,
    system: options.System = None,
    rounds: options.Rounds = None,
    timeout: options.Timeout = None,
    num_ctx: options.NumCtx = None,
    reply_cache: options.Cache = None,
    replay: options.Replay = None,
    mcp: options.Mcp = None,
    trust: options.Trust = False,
    no_tools: options.NoTools = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    show_prompt: options.ShowPrompt = False,
) -> None:
    """Talk with a model, which may call functions; /help lists what else can be typed."""
    values = agents.settings_from(context.params)
    display_options = {"quiet": quiet, "verbose": verbose, "show_prompt": show_prompt}
    stored = open_session(session, last, store)
    conversation = Conversation(stored, stored.store if stored else open_store(store))
    with agents.mcp_tools(mcp, trust) as more:

        def build_agent(values: Mapping[str, Value]) -> Agent:
            return agents.agent_from(values, more=more, no_tools=no_tools, quiet=quiet)

        code = Chat(values, build_agent, conversation, display_options).run()
    if code and not _has_keyboard():
        raise typer.Exit(code)


class Chat:
    """A chat: each line is a question, or a command to azent that begins with a slash.

    On a terminal Ctrl-C stops a reply, not the program, and its question is removed from the
    conversation. In a pipe, `exit_code` is that of the last error, until a later question is
    answered.
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        build_agent: Callable[[Mapping[str, Value]], Agent],
        conversation: Conversation,
        display_options: Mapping[str, bool],
    ) -> None:
        self.values = dict(values)
        self.build_agent = build_agent
        self.conversation = conversation
        self.display_options = dict(display_options)
        self.exit_code = 0
        self._open_agent()

    def run(self) -> int:
        """Answer lines until there are no more, and return the exit code."""
        next_line = line_reader([f"/{name}" for name in COMMANDS])
        count = len(self.agent.toolbox.specs)
        offered = counted(count, "function") if count else "no functions"
        greeting = f"{self.agent.model.name}, {offered}. /help lists what else can be typed."
        console.print_notice("" if self.display_options["quiet"] else greeting)
        while True:
            try:
                line = next_line().strip()
                if line and not self._handle(line):
                    return self.exit_code
            except KeyboardInterrupt:
                if not _has_keyboard():
                    raise
                console.print_notice("(Ctrl-D or /exit ends it)")
            except EOFError:
                return self.exit_code

    def _handle(self, line: str) -> bool:
        """Answer a question or run a command; return False to end the chat."""
        command = COMMAND.fullmatch(line)
        name, argument = (command[1], (command[2] or "").strip()) if command else ("", "")
        if name in EXITS:
            return False
        try:
            if command is None:
                self._ask(line)
                self.exit_code = 0
            elif name in COMMANDS:
                COMMANDS[name][0](self, argument)
            else:
                raise UsageError(f"there is no /{name}", "/help lists the commands.")
        except AzentError as error:
            self.exit_code = error.exit_code
            console.print_notice(f"azent: {error}", error.hint)
        return True

    def _ask(self, question: str) -> None:
        approve = self.display.pausing(agents.approval(self.values["yes"].value))
        try:
            self.display.follow(self.conversation.ask(self.agent, question, approve))
        except KeyboardInterrupt:
            self.conversation.forget_unfinished()
            if not _has_keyboard():
                raise
            console.print_notice("stopped")

    def _open_agent(self) -> None:
        self.agent: Agent = self.build_agent(self.values)
        self.display: RunDisplay = RunDisplay(self.agent, **self.display_options)

    # ---- commands; their docstrings are the lines of /help ---------------------------------------

    def help(self, argument: str) -> None:
        """this list"""
        for name, (command, takes) in COMMANDS.items():
            console.print_notice(f"/{f'{name} {takes}'.strip():14} {command.__doc__}")
        console.print_notice(f"/{'exit':14} end, as does Ctrl-D", "Alt-Enter begins a new line.")

    def tools(self, argument: str) -> None:
        """the functions that the model is offered"""
        console.print_text("\n".join(tool_lines(self.agent.toolbox.specs.values())) or "none")

    def undo(self, argument: str) -> None:
        """take back the last question and its answer"""
        console.print_notice(f"taken back: {self.conversation.undo()}")

    def save(self, name: str) -> None:
        """keep the conversation by a name; it is kept from then on"""
        self.conversation.save(name)
        console.print_notice(f"kept as {name}: azent chat --session {name} goes on with it")

    def model(self, address: str) -> None:
        """go on with another model, or say which is asked"""
        if not address:
            console.print_notice(self.agent.model.name)
            return
        before = self.values
        self.values = {**before, "model": replace(before["model"], value=address)}
        try:
            self._open_agent()
        except AzentError:
            self.values = before
            raise
        console.print_notice(f"going on with {self.agent.model.name}")

    def new(self, argument: str) -> None:
        """forget the conversation and begin another"""
        self.conversation.clear()
        console.print_notice("a new conversation")


EXITS = ("exit", "quit", "bye")
COMMANDS: dict[str, tuple[Callable[[Chat, str], Any], str]] = {
    "help": (Chat.help, ""),
    "tools": (Chat.tools, ""),
    "undo": (Chat.undo, ""),
    "new": (Chat.new, ""),
    "save": (Chat.save, "NAME"),
    "model": (Chat.model, "[NAME]"),
}

# ---- lines of a chat -----------------------------------------------------------------------------


def line_reader(commands: Sequence[str]) -> Callable[[], str]:
    """Return a function that waits for the next line, and raises EOFError after the last.

    On a terminal prompt_toolkit reads it, with a history; Alt-Enter starts a new line.
    """
    if not _has_keyboard():
        return _read_piped_line
    return _read_dumb_terminal if console.is_dumb_terminal() else _keyboard_reader(commands)


def _has_keyboard() -> bool:
    """Return whether standard input and the answers are on a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _read_piped_line() -> str:
    """Read a line, and those after it as long as they end in a backslash."""
    text = ""
    while line := sys.stdin.readline():
        line = line.rstrip("\n")
        if not line.endswith("\\"):
            return text + line
        text += f"{line[:-1]}\n"
    if not text:
        raise EOFError
    return text


def _read_dumb_terminal() -> str:
    mark = console.encodable(PROMPT_MARK, sys.stderr.encoding)
    print(f"{mark} ", end="", file=sys.stderr, flush=True)
    return _read_piped_line()


def _keyboard_reader(commands: Sequence[str]) -> Callable[[], str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output

    keys = KeyBindings()
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    session: PromptSession[str] = PromptSession(
        f"{console.encodable(PROMPT_MARK, sys.stderr.encoding)} ",
        prompt_continuation="  ",
        key_bindings=keys,
        history=_history(),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
        output=create_output(sys.stderr),  # standard output is for answers
    )
    return session.prompt


def _history() -> History:
    """Return earlier lines, kept in the user's folder where it can be written to."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    file = config.data_folder() / "chat-history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(file)
