"""The events of a run, shown as they happen: calls and results as lines, the answer as it comes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import TYPE_CHECKING, Any

from azent.cli.answer import AnswerText, Unshown, answer_on
from azent.cli.pace import Overheard, Pace, must_load
from azent.cli.screen import screen_on
from azent.cli.show import call_line, result_line, usage_line
from azent.cli.streams import answers, prints_shown, show_begun_prints
from azent.messages import (
    Answer,
    Asking,
    Call,
    CallFinished,
    CallStarted,
    Chunk,
    Corrected,
    Event,
    Replied,
    Reply,
    Request,
    Result,
    Shrunk,
    Thinking,
    Warning,
)
from azent.wording import counted

if TYPE_CHECKING:
    from azent.agent import Agent


class Watcher:
    """Shows what an agent does: its progress on standard error, its answer on standard output.

    It listens to the agent's model from now on. `quiet` shows the answer alone. `verbose` adds what
    the model thought and replied, word by word, and what it cost. `prompts` shows what it is sent.
    Where it is not to be `answered`, the answer is left to who follows.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        quiet: bool = False,
        verbose: bool = False,
        prompts: bool = False,
        answered: bool = True,
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.prompts = prompts
        self._screen = screen_on(sys.stderr)
        self._pace = Pace()
        if self._screen.is_live and not quiet:
            self._pace.loading = must_load(agent.model)
        agent.model = Overheard(agent.model, self._pace, self._sent)
        self._answered = answered
        self._answer = self._new_answer()
        self._running: dict[str, float] = {}
        self._known: tuple[Any, ...] = ()

    def follow(
        self,
        events: Generator[Event, None, None],
        also: Callable[[Event], None] | None = None,
    ) -> None:
        """Show events to their end; in any case they are closed, and the screen is in order.

        `also` is told of each, once it is shown.
        """
        self._answer = self._new_answer()
        with closing(self), closing(events), self._prints_shown():
            for event in events:
                self.show(event)
                if also:
                    self._screen.rest()
                    also(event)

    def _new_answer(self) -> AnswerText:
        return answer_on(answers()) if self._answered else Unshown()

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Asking(_, _, why):
                if why and self.verbose:
                    self._line("·", why, "dim")
                self._wait(self._pace.words)
            case Chunk(text):
                self._screen.rest()
                self._answer.write(text)
            case Thinking():
                self._wait(lambda: f"thinking: {self._pace.words()}")
            case Replied(reply):
                self._replied(reply)
            case CallStarted(call):
                self._line("→", call_line(call), "cyan")
                self._running[call.id] = time.monotonic()
                self._wait(self._at_work)
            case CallFinished(call, result, seconds):
                show_begun_prints()
                ran = self._running.pop(call.id, None) is not None
                took = f"  ({seconds:.1f} s)" if ran else ""
                self._line("←", f"{_named(result)}{took}", "green" if result.ok else "red")
                self._wait(self._at_work)
            case Corrected(problem):
                self._line("!", f"asked again: {problem.message}", "yellow")
            case Shrunk(note):
                self._line("!", _shrunk(note.turns, len(note.ids)), "yellow")
            case Warning(text):
                self._line("!", text, "yellow")
            case Answer():
                self._end(event)

    def asking(self, approve: Callable[[Call], Any]) -> Callable[[Call], Any]:
        """The question for a person's consent, asked on a screen that rests."""

        def ask(call: Call) -> Any:
            self.close()
            return approve(call)

        return ask

    def close(self) -> None:
        """Leave the terminal as it was found, whatever happened."""
        self._pause()
        self._screen.close()

    def _prints_shown(self) -> AbstractContextManager[None]:
        """What tools print stands among the lines of the run, where these are drawn around."""
        if self.quiet or not self._screen.is_live:
            return nullcontext()
        return prints_shown(lambda line: self._screen.beside("·", line, "dim"))

    def _pause(self) -> None:
        """Take off what is drawn, and print what has come of the answer."""
        self._screen.rest()
        self._answer.pause()

    def _sent(self, request: Request) -> None:
        """Show what the model is sent, but for what it was sent before."""
        if not self.prompts:
            return
        pairs = zip(self._known, request.messages, strict=False)
        known = next((n for n, (old, new) in enumerate(pairs) if old != new), len(self._known))
        for message in request.messages[known:]:
            self._line("·", f"{message['role']}: {message['content'].strip()}", "dim")
        self._known = request.messages

    def _replied(self, reply: Reply) -> None:
        self._screen.rest()
        if not self.verbose:
            return
        if reply.thinking:
            self._line("·", f"thought: {reply.thinking.strip()}", "dim")
        if reply.move != "answer":
            self._line("·", f"{reply.move}: {reply.raw.strip()}", "dim")
        for repair in reply.repairs:
            self._line("·", f"bent to be read: {repair}", "dim")
        if reply.usage:
            self._line("·", usage_line(reply.usage), "dim")

    def _end(self, answer: Answer) -> None:
        self._screen.rest()
        if self._answer.is_empty and answer.text:
            self._answer.write(answer.text)
        self._answer.pause()
        if answer.stopped:
            self._line("!", f"stopped early: {answer.stopped}", "yellow")
        if self.verbose:
            self._line("·", f"in all {usage_line(answer.usage)}", "dim")

    def _line(self, mark: str, text: str, style: str) -> None:
        self._pause()
        if not self.quiet:
            self._screen.line(mark, text, style)

    def _wait(self, words: Callable[[], str]) -> None:
        self._answer.pause()
        if not self.quiet:
            self._screen.wait(words)

    def _at_work(self) -> str:
        """What runs, and for how long."""
        if not self._running:
            return "..."
        seconds = time.monotonic() - min(self._running.values())
        return f"running {counted(len(self._running), 'call')}  {seconds:.0f} s"


def _named(result: Result) -> str:
    """A result under the name of its tool; what azent says of a call begins with it anyway."""
    line = result_line(result)
    return line if line.startswith(f"{result.tool}: ") else f"{result.tool}: {line}"


def _shrunk(turns: int, results: int) -> str:
    """What a note of shrinking has left out."""
    first = "the first question" if turns == 1 else f"the first {turns} questions"
    parts = {first: turns, counted(results, "result"): results}
    left_out = " and ".join(words for words, count in parts.items() if count)
    return f"left out to fit into the context: {left_out or 'a part'}"
