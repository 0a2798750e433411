"""`azent completion`: what a shell needs to complete azent's commands and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from azent.cli.polite import polite
from azent.cli.printed import print_text
from azent.settings import COMPLETING

EXAMPLES = """Examples:
  azent completion bash >> ~/.bashrc
  azent completion zsh >> ~/.zshrc
  azent completion fish > ~/.config/fish/completions/azent.fish
"""


class Shell(StrEnum):
    """The shells that can be served."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"
    powershell = "powershell"


@polite
def command(shell: Annotated[Shell, typer.Argument(help="The shell to print it for.")]) -> None:
    """Print the script that lets a shell complete azent's commands and options."""
    from typer import completion

    print_text(
        completion.get_completion_script(  # type: ignore[attr-defined]  # not marked as exported
            prog_name="azent", complete_var=COMPLETING, shell=shell.value
        )
    )
