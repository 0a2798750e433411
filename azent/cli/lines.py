"""Where the lines of a chat come from: a person's keyboard, or a pipe.

On a terminal prompt_toolkit reads them: arrow keys bring back earlier ones, pasted text may have
many lines, and Alt-Enter begins another. Elsewhere, as on a dumb terminal, each line is one
question; one that ends in a backslash goes on in the next.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from azent import settings
from azent.cli.region import is_dumb
from azent.cli.visible import encodable

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings

NextLine = Callable[[], str]
HISTORY = "chat-history"
MARK = "›"


def at_keyboard() -> bool:
    """Does a person type the lines, and see what becomes of them?"""
    return sys.stdin.isatty() and sys.stderr.isatty()


def lines_from_user(commands: Sequence[str]) -> NextLine:
    """A function that waits for the next line. It raises EOFError when there are no more."""
    if at_keyboard():
        return _from_dumb_terminal if is_dumb() else _from_keyboard(commands)
    return _from_pipe


def _from_pipe() -> str:
    """A question: a line, and those after it as long as they end in a backslash."""
    begun = ""
    while line := sys.stdin.readline():
        line = line.rstrip("\n")
        if not line.endswith("\\"):
            return begun + line
        begun += f"{line[:-1]}\n"
    if not begun:
        raise EOFError
    return begun


def _from_dumb_terminal() -> str:
    print(f"{encodable(MARK, sys.stderr.encoding)} ", end="", file=sys.stderr, flush=True)
    return _from_pipe()


def _from_keyboard(commands: Sequence[str]) -> NextLine:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.output import create_output

    mark = encodable(MARK, sys.stderr.encoding)
    session: PromptSession[str] = PromptSession(
        f"{mark} ",
        prompt_continuation="  ",
        key_bindings=_keys(),
        history=_history(),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
        output=create_output(sys.stderr),  # what is printed is the answers'
    )
    return session.prompt


def _keys() -> KeyBindings:
    """Alt-Enter begins another line; Enter sends them all."""
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _begin_line(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _history() -> History:
    """Earlier lines, in the user's folder where it can be written to."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    file = settings.data_folder() / HISTORY
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(file)
