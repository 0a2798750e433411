"""How a run looks while it happens: calls and results as lines, the answer as it streams.

What comes from models, tools and files is shown, not obeyed (`azent.cli.visible`).
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import Any

from azent.cli.visible import visible
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
    Result,
    Usage,
    Warning,
)

RESULT_WIDTH = 300


def call_line(call: Call) -> str:
    """A call as one line: add(a=2, b=3)."""
    inputs = (f"{name}={_json(value)}" for name, value in call.tool_input.items())
    return f"{call.tool}({', '.join(inputs)})"


def result_line(result: Result) -> str:
    """A result as one line, cut where it is long, with a word on how long it is."""
    line = " ".join(result.text.split())
    if len(line) > RESULT_WIDTH:
        line = f"{line[:RESULT_WIDTH]}... ({len(result.text)} characters)"
    return line


def usage_line(usage: Usage) -> str:
    """What a run cost, as one line."""
    return (
        f"{usage.requests} requests, {usage.prompt_tokens} + {usage.reply_tokens} tokens, "
        f"{usage.seconds:.1f} s"
    )


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as plain JSON values, for scripts."""
    return {
        "answer": answer.text,
        "value": answer.value,
        "calls": [{"tool": c.tool, "tool_input": c.tool_input} for c in answer.calls],
        "results": [{"tool": r.tool, "ok": r.ok, "text": r.text} for r in answer.results],
        "stopped": answer.stopped,
        "warnings": list(answer.warnings),
        "usage": {
            "prompt_tokens": answer.usage.prompt_tokens,
            "reply_tokens": answer.usage.reply_tokens,
            "requests": answer.usage.requests,
            "seconds": round(answer.usage.seconds, 3),
        },
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class Watcher:
    """Shows the events of a run: progress on standard error, the answer on standard output.

    `quiet` shows the answer alone; `verbose` adds each reply as it came and what it cost.
    """

    def __init__(self, model: str, *, quiet: bool = False, verbose: bool = False) -> None:
        from rich.console import Console

        self.model = model
        self.quiet = quiet
        self.verbose = verbose
        self.streamed = ""
        self._screen = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self._waiting: Any = nullcontext()

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Asking(number=number):
                self._wait(f"asking {self.model}" + (f" ({number})" if number > 1 else ""))
            case Chunk(text):
                self._stop_waiting()
                self._write(text)
            case Replied(reply) if self.verbose:
                cost = usage_line(reply.usage) if reply.usage else "no count"
                self._line(f"  {reply.move}: {reply.raw.strip()}  [{cost}]", "dim")
                for repair in reply.repairs:
                    self._line(f"  bent: {repair}", "dim")
            case CallStarted(call):
                self._line(f"→ {call_line(call)}", "cyan")
                self._wait("running")
            case CallFinished(call, result, seconds):
                style = "green" if result.ok else "red"
                self._line(f"← {call.tool}: {result_line(result)}  ({seconds:.1f} s)", style)
            case Corrected(problem):
                self._line(f"! asked again: {problem.message}", "yellow")
            case Warning(text):
                self._line(f"! {text}", "yellow")
            case Answer():
                self._end(event)

    def close(self) -> None:
        """Leave the screen as it should be, whatever happened."""
        self._stop_waiting()

    def _end(self, answer: Answer) -> None:
        self._stop_waiting()
        if not self.streamed.strip() and answer.text:
            self._write(answer.text)
        if self.streamed and not self.streamed.endswith("\n"):
            self._write("\n")
        if answer.stopped:
            self._line(f"! stopped early: {answer.stopped}", "yellow")
        if self.verbose:
            self._line(usage_line(answer.usage), "dim")

    def _write(self, text: str) -> None:
        self.streamed += text
        sys.stdout.write(visible(text))
        sys.stdout.flush()

    def _line(self, text: str, style: str) -> None:
        self._stop_waiting()
        if not self.quiet:
            self._screen.print(visible(text), style=style)

    def _wait(self, text: str) -> None:
        """A spinner, where there is a terminal to show it on."""
        self._stop_waiting()
        if self._screen.is_terminal and not self.quiet:
            self._waiting = self._screen.status(f"{text} ...", spinner="dots")
            self._waiting.start()

    def _stop_waiting(self) -> None:
        if not isinstance(self._waiting, nullcontext):
            self._waiting.stop()
            self._waiting = nullcontext()
