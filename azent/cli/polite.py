"""How every command ends: an error of azent in words with its exit code, Ctrl-C with 130."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import typer

from azent.cli.streams import answers, answers_apart
from azent.cli.together import check_options
from azent.cli.visible import visible
from azent.errors import AzentError
from azent.wording import reason_of

Command = TypeVar("Command", bound=Callable[..., Any])
REFUSED = 1
INTERRUPTED = 130


def polite(command: Command) -> Command:
    """The command, with errors told as a sentence and a way out."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        with answers_apart():
            return _ended(command, args, kwargs)

    return run  # type: ignore[return-value]  # it has the command's own signature


def _ended(command: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a command returns; what it raises, told."""
    try:
        check_options(kwargs)
        done = command(*args, **kwargs)
        answers().flush()  # a disk that is full is found out here, not when Python ends
        return done
    except AzentError as error:
        say(f"azent: {error}", error.hint)
        raise typer.Exit(error.exit_code) from error
    except KeyboardInterrupt as error:
        say("azent: interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except BrokenPipeError as error:
        sys.stderr.close()  # whoever read us has left; there is nobody to tell
        _give_up_stdout()
        raise typer.Exit(0) from error
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        say(f"azent: the system refuses: {reason_of(error)}{where}")
        _give_up_stdout()
        raise typer.Exit(REFUSED) from error


def _give_up_stdout() -> None:
    """What is left to be written is lost; Python would fail on it once more at its end."""
    with suppress(OSError):
        answers().close()


def say(*lines: str) -> None:
    """Lines for a person, on standard error."""
    for line in filter(None, lines):
        print(visible(line), file=sys.stderr, flush=True)
