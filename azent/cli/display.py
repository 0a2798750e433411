"""Show the events of a run: calls and results on standard error, the answer on output."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import TYPE_CHECKING, Any

from azent import messages
from azent.cli import console
from azent.cli.live import FRAMES_PER_SECOND, LiveArea, TextWriter, answer_writer
from azent.errors import ModelError, counted
from azent.messages import Call, Delta, End, Event, Reply, Request, Result, Spec, Usage
from azent.models.fallback import Observed

if TYPE_CHECKING:
    from azent.agent import Agent
    from azent.models import Model

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
RESULT_WIDTH = 300


class RunDisplay:
    """A display of the events of an agent's runs.

    - `quiet`: show the answer only.
    - `verbose`: also show the model's reasoning, its replies and how long they took.
    - `show_prompt`: also show the messages that the model is sent.
    - `show_answer`: print the answer; False if it is printed as JSON later.

    It wraps the agent's model, to show the progress of requests.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        quiet: bool = False,
        verbose: bool = False,
        show_prompt: bool = False,
        show_answer: bool = True,
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.show_prompt = show_prompt
        self.show_answer = show_answer
        is_live = console.is_interactive(sys.stderr) and not quiet
        self._area = LiveArea(sys.stderr) if is_live else None
        self._request = RequestStatus(loads_model=is_live and must_load(agent.model))
        agent.model = Observed(agent.model, self._begin_request, self._request.add_piece)
        self._answer = self._answer_writer()
        self._running: dict[str, float] = {}  # the start times of calls, by id
        self._sent: tuple[Any, ...] = ()
        self._buffered: list[str] = []  # lines that tools printed during a question to a person
        self._is_asking = False
        self._warned = ""  # the last warning, which is not repeated
        self._lock = threading.RLock()  # tools print from their own threads
        self._began = time.monotonic()
        self._function_seconds = 0.0

    def follow(
        self,
        events: Generator[Event, None, None],
        then: Callable[[Event], None] | None = None,
    ) -> None:
        """Show each event and pass it to `then`; clear the redrawn lines at the end."""
        self._answer = self._answer_writer()
        with closing(self), closing(events), self._prints_captured():
            for event in events:
                with self._lock:
                    self._show(event)
                if then:
                    self._stop_status()
                    then(event)

    def pausing(self, approve: Callable[[Call], Any]) -> Callable[[Call], Any]:
        """Wrap `approve`, so that nothing is redrawn while it waits for a person's answer."""

        def paused(call: Call) -> Any:
            self.close()
            self._is_asking = True
            try:
                return approve(call)
            finally:
                self._is_asking = False
                self._print_buffered()

        return paused

    def close(self) -> None:
        """Clear the redrawn lines, even after an error."""
        self._pause()
        if self._area:
            self._area.close()

    def _show(self, event: Event) -> None:
        match event:
            case messages.Asking(_, _, why):
                if why and self.verbose and why not in self._warned:
                    self._print("·", why, "dim")
                self._draw_status(self._request.words)
            case messages.Chunk(text):
                self._stop_status()
                self._answer.write(text)
            case messages.Thinking():
                self._draw_status(lambda: f"thinking: {self._request.words()}")
            case messages.Replied(reply):
                self._stop_status()
                for line in _reply_lines(reply) if self.verbose else ():
                    self._print("·", line, "dim")
            case messages.CallStarted(call):
                self._print("→", call_line(call), "cyan")
                self._running[call.id] = time.monotonic()
                self._draw_status(self._running_words)
            case messages.CallFinished(call, result, seconds):
                console.flush_prints()
                has_run = self._running.pop(call.id, None) is not None
                self._function_seconds += seconds if has_run else 0.0
                took = f"  ({seconds:.1f} s)" if has_run else ""
                self._print("←", f"{_named(result)}{took}", "green" if result.ok else "red")
                self._draw_status(self._running_words)
            case messages.Corrected(problem):
                self._print("!", f"asked again: {problem.message}", "yellow")
            case messages.Shrunk(note):
                self._print("!", _left_out(note.turns, len(note.ids)), "yellow")
            case messages.Warning(text):
                self._warned = text
                self._print("!", text, "yellow")
            case messages.Answer():
                self._show_end(event)

    def _show_end(self, answer: messages.Answer) -> None:
        self._stop_status()
        if self._answer.is_empty and answer.text:
            self._answer.write(answer.text)
        self._answer.pause()
        if answer.stopped:
            self._print("!", f"stopped early: {answer.stopped}", "yellow")
        if self.verbose:
            self._print("·", f"in all {usage_line(answer.usage)}", "dim")
            self._print("·", self._other_times(answer.usage), "dim")

    def _other_times(self, usage: Usage) -> str:
        """Describe how long functions ran, and how long azent itself and people took."""
        functions = self._function_seconds
        rest = time.monotonic() - self._began - usage.seconds - functions
        return (
            f"functions {functions:.1f} s, the rest (azent, waiting for you) {max(rest, 0):.1f} s"
        )

    def _begin_request(self, request: Request) -> None:
        from azent.conversation.context_window import estimate

        if self.show_prompt:
            with self._lock:
                self._show_new_messages(request)
        self._request.begin(estimate(request.messages))

    def _show_new_messages(self, request: Request) -> None:
        """Show the messages of a request that were not in the one before."""
        pairs = zip(self._sent, request.messages, strict=False)
        same = next((n for n, (old, new) in enumerate(pairs) if old != new), len(self._sent))
        for message in request.messages[same:]:
            self._print("·", f"{message['role']}: {message['content'].strip()}", "dim")
        self._sent = request.messages

    # ---- the screen ------------------------------------------------------------------------------

    def _answer_writer(self) -> TextWriter:
        return answer_writer(console.output_stream() if self.show_answer else io.StringIO())

    def _prints_captured(self) -> AbstractContextManager[None]:
        """Print what tools print between the lines of the run, if those are redrawn."""
        return console.capture_prints(self._show_print) if self._area else nullcontext()

    def _show_print(self, line: str) -> None:
        self._buffered.append(line)
        if not self._is_asking:
            self._print_buffered()

    def _print_buffered(self) -> None:
        with self._lock:
            self._answer.pause()
            while self._buffered:
                self._print_line("·", self._buffered.pop(0), "dim")

    def _print(self, mark: str, text: str, style: str) -> None:
        self._pause()
        if not self.quiet:
            self._print_line(mark, text, style)

    def _print_line(self, mark: str, text: str, style: str) -> None:
        """Print a line; on a terminal it is wrapped beside its mark, above the status."""
        if self._area is None:
            mark = console.encodable(mark, sys.stderr.encoding)
            print(f"{mark} {console.sanitize(text)}", file=sys.stderr, flush=True)
            return
        from rich.text import Text

        screen = self._area.console
        width = max(screen.width - len(mark) - 1, 1)
        lines = [line.plain.rstrip() for line in Text(console.sanitize(text)).wrap(screen, width)]
        screen.print(Text(f"{mark} " + f"\n{' ' * (len(mark) + 1)}".join(lines), style=style))

    def _draw_status(self, words: Callable[[], str]) -> None:
        """Show what the run waits for, in one line that is redrawn as `words` changes."""
        from rich.text import Text

        def status() -> Text:
            frame = SPINNER[int(time.monotonic() * FRAMES_PER_SECOND) % len(SPINNER)]
            line = f"{frame} {console.sanitize(words())}"
            return Text(line, "dim", no_wrap=True, overflow="ellipsis")

        self._answer.pause()
        if self._area:
            self._area.draw(status)

    def _stop_status(self) -> None:
        with self._lock:
            if self._area:
                self._area.stop()

    def _pause(self) -> None:
        """Remove the redrawn lines, and print the part of the answer that has arrived."""
        with self._lock:
            self._stop_status()
            self._answer.pause()

    def _running_words(self) -> str:
        if not self._running:
            return "..."
        seconds = time.monotonic() - min(self._running.values())
        return f"running {counted(len(self._running), 'call')}  {seconds:.0f} s"


# ---- the request to the model --------------------------------------------------------------------


class RequestStatus:
    """The progress of a request to a model: its duration, its tokens and the reply's speed."""

    def __init__(self, *, loads_model: bool = False) -> None:
        self._loads_model = loads_model
        self._began = self._first_piece = time.monotonic()
        self._tokens = 0
        self._pieces = 0

    def begin(self, tokens: int) -> None:
        """Start to measure a request of about so many tokens."""
        self._began, self._tokens, self._pieces = time.monotonic(), tokens, 0

    def add_piece(self, piece: Delta | End) -> None:
        """Count a piece of the reply; most servers send one for each token."""
        if not self._pieces:
            self._first_piece = time.monotonic()
        self._pieces += 1
        self._loads_model = False

    def words(self) -> str:
        """Describe what the model is doing now."""
        now = time.monotonic()
        if self._pieces:
            writing = now - self._first_piece
            speed = f", {(self._pieces - 1) / writing:.0f} tokens/s" if writing > 0.5 else ""
            return f"writing{speed}  {now - self._began:.0f} s"
        if not self._tokens:
            return "asking"
        doing = "loading the model, then reading" if self._loads_model else "reading"
        return f"{doing} about {self._tokens} tokens  {now - self._began:.0f} s"


def must_load(model: Model) -> bool:
    """Return whether the server says that it has to load the model first."""
    from azent.models.catalogue import loaded

    host: str | None = getattr(model, "host", None)
    if host is None:
        return False
    try:
        return not {model.name, f"{model.name}:latest"} & set(loaded(host))
    except ModelError:
        return False


# ---- lines ---------------------------------------------------------------------------------------


def call_line(call: Call) -> str:
    """Write a call as one line: add(a=2, b=3)."""
    pairs = call.tool_input.items()
    inputs = (f"{n}={json.dumps(v, ensure_ascii=False, default=str)}" for n, v in pairs)
    return f"{call.tool}({', '.join(inputs)})"


def result_line(result: Result) -> str:
    """Write a result as one line; a long one is cut, with its length."""
    line = " ".join(result.text.split())
    if len(line) > RESULT_WIDTH:
        line = f"{line[:RESULT_WIDTH]}... ({len(result.text)} characters)"
    return line


def _named(result: Result) -> str:
    """Write a result after the name of its tool, unless its text begins with that already."""
    line = result_line(result)
    return line if line.startswith(f"{result.tool}: ") else f"{result.tool}: {line}"


def _reply_lines(reply: Reply) -> Iterator[str]:
    if reply.thinking:
        yield f"thought: {reply.thinking.strip()}"
    if reply.move != "answer":
        yield f"{reply.move}: {reply.raw.strip()}"
    for repair in reply.repairs:
        yield f"repaired: {repair}"
    if reply.usage:
        yield usage_line(reply.usage)


def usage_line(usage: Usage) -> str:
    """Write the usage of a run as one line, with the times that the server reports."""
    writing = usage.reply_seconds
    speed = f" ({usage.reply_tokens / writing:.0f} tokens/s)" if writing else ""
    cached = f" ({usage.cached_tokens} tokens cached)" if usage.cached_tokens else ""
    times = {
        f"loading {usage.load_seconds:.1f} s": usage.load_seconds,
        f"reading {usage.prompt_seconds:.1f} s{cached}": usage.prompt_seconds,
        f"writing {writing:.1f} s{speed}": writing,
    }
    known = ", ".join(words for words, seconds in times.items() if seconds >= 0.05)
    tokens = f"{usage.prompt_tokens} + {usage.reply_tokens} tokens"
    cost = f"{counted(usage.requests, 'request')}, {tokens}, {usage.seconds:.1f} s"
    return f"{cost}: {known}" if known else cost


def _left_out(turns: int, results: int) -> str:
    """Describe what was left out to fit the context window."""
    first = "the first question" if turns == 1 else f"the first {turns} questions"
    parts = {first: turns, counted(results, "result"): results}
    left_out = " and ".join(words for words, count in parts.items() if count)
    return f"left out to fit into the context: {left_out or 'a part'}"


def tool_lines(specs: Iterable[Spec]) -> list[str]:
    """List functions in lines, each with the first line of its description."""
    listed = [(spec["name"], spec["description"].partition("\n")[0]) for spec in specs]
    width = max((len(name) for name, _ in listed), default=0)
    return [f"{name:{width}}  {first}".rstrip() for name, first in listed]
