"""`azent chat`: a conversation, question by question.

At a keyboard Ctrl-C stops a reply and not the program; the question it belonged to is forgotten.
Ctrl-D, the end of a pipe and /exit end the conversation. In a pipe, where nobody may have seen an
error, the exit code is that of the last one, unless a question after it was answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from azent.cli import options
from azent.cli.build import agent_from, consent, settings_from, tools_of_servers
from azent.cli.lines import at_keyboard, lines_from_user
from azent.cli.polite import polite, say
from azent.cli.printed import print_text
from azent.cli.sessions import StoreFile, opened, session_from
from azent.errors import AzentError, UsageError
from azent.wording import counted

if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.cli.conversation import Conversation
    from azent.cli.watch import Watcher
    from azent.config import Value

EXAMPLES = """Examples:
  azent chat --tools examples/weather.py
  azent chat --session work
  printf 'What is 17 * 23?\\nAnd twice that?\\n' | azent chat -q
"""
COMMAND = re.compile(r"/(\w*)(?:\s+(.*))?", re.DOTALL)


@polite
def command(
    tools: options.Tools = None,
    model: options.Model = None,
    profile: options.Profile = None,
    session: options.Session = None,
    last: options.Last = False,
    store: StoreFile = None,
    prompts: options.Prompts = None,
    system: options.System = None,
    rounds: options.Rounds = None,
    timeout: options.Timeout = None,
    num_ctx: options.NumCtx = None,
    cache: options.Cache = None,
    replay: options.Replay = None,
    mcp: options.Mcp = None,
    trust: options.Trust = False,
    no_tools: options.NoTools = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    show_prompt: options.ShowPrompt = False,
) -> None:
    """Talk with a model, which may call functions; /help tells what else can be said."""
    from azent.cli.conversation import Conversation

    given = {
        "tools": tools or None,
        "model": model,
        "profile": profile or None,
        "prompts": prompts,
        "system": system,
        "rounds": rounds,
        "timeout": timeout,
        "num_ctx": num_ctx,
        "reply_cache": cache,
        "replay": replay,
        "yes": yes or None,
    }
    values = settings_from(given)
    looks = {"quiet": quiet, "verbose": verbose, "prompts": show_prompt}
    kept = session_from(session, last, store)
    conversation = Conversation(kept, kept.store if kept else opened(store))
    with tools_of_servers(mcp, trust) as more:

        def opened_agent(values: Mapping[str, Value]) -> Agent:
            return agent_from(values, more=more, no_tools=no_tools, quiet=quiet)

        code = Chat(values, opened_agent, conversation, looks).run()
    if code and not at_keyboard():
        raise typer.Exit(code)


class Chat:
    """A conversation on the terminal: what is asked, and what is said to azent itself."""

    def __init__(
        self,
        values: Mapping[str, Value],
        agent_with: Callable[[Mapping[str, Value]], Agent],
        conversation: Conversation,
        looks: Mapping[str, bool],
    ) -> None:
        self.values = dict(values)
        self.agent_with = agent_with
        self.conversation = conversation
        self.looks = dict(looks)
        self.code = 0  # of the last error, until a question is answered
        self._open()

    def run(self) -> int:
        """Answer each line until there are no more; the exit code."""
        next_line = lines_from_user([f"/{name}" for name in COMMANDS])
        if not self.looks["quiet"]:
            say(f"{self.agent.model.name}, {self._offers()}. /help tells what else can be said.")
        while True:
            try:
                line = next_line().strip()
                if line and not self._take(line):
                    return self.code
            except KeyboardInterrupt:
                if not at_keyboard():
                    raise
                say("(Ctrl-D or /exit ends it)")
            except EOFError:
                return self.code

    def _take(self, line: str) -> bool:
        """Do what a line asks for; whether the conversation goes on."""
        told = COMMAND.fullmatch(line)
        if told and told[1] in ENDS:
            return False
        try:
            if told:
                self._obey(told[1], (told[2] or "").strip())
            else:
                self._ask(line)
                self.code = 0
        except AzentError as error:
            self.code = error.exit_code
            say(f"azent: {error}", error.hint)
        return True

    def _ask(self, question: str) -> None:
        approve = self.watcher.asking(consent(self.values["yes"].value))
        try:
            self.watcher.follow(self.conversation.ask(self.agent, question, approve))
        except KeyboardInterrupt:
            self.conversation.forget_unfinished()
            if not at_keyboard():
                raise
            say("stopped")

    def _obey(self, name: str, words: str) -> None:
        if name not in COMMANDS:
            raise UsageError(f"there is no /{name}", "/help tells what there is.")
        COMMANDS[name][0](self, words)

    def _open(self) -> None:
        from azent.cli.watch import Watcher

        self.agent: Agent = self.agent_with(self.values)
        self.watcher: Watcher = Watcher(self.agent, **self.looks)

    def _offers(self) -> str:
        count = len(self.agent.toolbox.specs)
        return counted(count, "function") if count else "no functions"

    # ---- what can be said to azent -----------------------------------------------------------

    def help(self, words: str) -> None:
        """this list"""
        for name, (act, takes) in COMMANDS.items():
            say(f"/{f'{name} {takes}'.strip():14} {act.__doc__}")
        say(f"/{'exit':14} end, as does Ctrl-D", "Alt-Enter begins a new line.")

    def tools(self, words: str) -> None:
        """the functions that the model is offered"""
        from azent.cli.show import tool_lines

        lines = list(tool_lines(self.agent.toolbox.specs.values()))
        print_text("\n".join(lines) or "none")

    def undo(self, words: str) -> None:
        """take back the last question and its answer"""
        say(f"taken back: {self.conversation.undo()}")

    def save(self, name: str) -> None:
        """keep the conversation by a name; it is kept from then on"""
        self.conversation.save(name)
        say(f"kept as {name}: azent chat --session {name} goes on with it")

    def model(self, address: str) -> None:
        """go on with another model, or say which is asked"""
        if not address:
            say(self.agent.model.name)
            return
        before = self.values
        self.values = {**before, "model": replace(before["model"], value=address)}
        try:
            self._open()
        except AzentError:
            self.values = before
            raise
        say(f"going on with {self.agent.model.name}")

    def new(self, words: str) -> None:
        """forget the conversation and begin another"""
        self.conversation.begin_anew()
        say("a new conversation")


ENDS = ("exit", "quit", "bye")
COMMANDS: dict[str, tuple[Callable[[Chat, str], Any], str]] = {
    "help": (Chat.help, ""),
    "tools": (Chat.tools, ""),
    "undo": (Chat.undo, ""),
    "new": (Chat.new, ""),
    "save": (Chat.save, "NAME"),
    "model": (Chat.model, "[NAME]"),
}
