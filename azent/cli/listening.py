"""What the commands that listen have in common: the token, the address, who may come in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from azent.cli.polite import say
from azent.errors import SettingsError
from azent.wording import reason_of

if TYPE_CHECKING:
    from azent.serve import Options


def token_from(file: Path | None) -> str | None:
    """The token of a file, else the environment's. Raises SettingsError for an empty one."""
    from azent.settings import server_token

    if file is None:
        return server_token()
    try:
        token = file.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the token in {file} cannot be read: {reason_of(error)}") from error
    if not token:
        raise SettingsError(f"{file} is empty", "Put the token into it, on one line.")
    return token


def announce(what: str, path: str, options: Options, port: int) -> None:
    """Say what is served, and where."""
    say(f"serving {what} at {address_of(options, port)}{path} (Ctrl-C ends it)")


def address_of(options: Options, port: int) -> str:
    """The URL that clients on this machine can ask."""
    return f"http://{f'[{options.host}]' if ':' in options.host else options.host}:{port}"


def warn_if_open(options: Options) -> None:
    """Say so where nothing keeps strangers out."""
    if not options.is_local and options.token is None:
        say("! anyone who reaches this address may ask; --token-file keeps it to those you know")
