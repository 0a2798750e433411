"""Options that are empty or contradict each other are refused before anything is done, everywhere.

An option that is silently of no effect is worse than an error: who gave it believes that it works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from azent.errors import UsageError

NAMES = {"as_json": "--json", "as_jsonl": "--jsonl", "last": "--continue"}
APART = [  # by the names of parameters
    ("as_json", "as_jsonl"),
    ("quiet", "verbose"),
    ("quiet", "show_prompt"),
    ("tools", "no_tools"),
    ("session", "last"),
    ("model", "profile"),
    ("cache", "replay"),
]
# In a script, where a variable was not set: another value must not be taken in silence.
NOT_EMPTY = ("model", "host", "profile", "prompts", "tools", "choice", "cache", "replay", "mcp")


def check_options(given: Mapping[str, Any]) -> None:
    """Raise UsageError where an option of a command is empty, or undoes another."""
    for name in NOT_EMPTY:
        value = given.get(name)
        if value == "" or (isinstance(value, list) and "" in value):
            hint = f"Give {name_of(name)} a value, or leave it out."
            raise UsageError(f"{name_of(name)} is empty", hint)
    _check_together(given)


def _check_together(given: Mapping[str, Any]) -> None:
    for one, other in APART:
        if given.get(one) and given.get(other):
            raise _apart(name_of(one), name_of(other))
    choice = given.get("choice")
    if given.get("no_tools") and choice not in (None, "auto", "none"):
        raise _apart(f"--choice {choice}", "--no-tools")


def check_of_use(given: Mapping[str, Any], without: str, hint: str) -> None:
    """Raise UsageError for the first option that was given, as `without` something it is of no use.

    `given` is by the names of parameters; None, False and empty lists were not given.
    """
    for name, value in given.items():
        if value is not None and value is not False and value != []:
            said = f"{name_of(name)} is of no use without {without}"
            raise UsageError(said, f"Leave {name_of(name)} out, or {hint}.")


def name_of(parameter: str) -> str:
    """The option that sets a parameter of a command."""
    return NAMES.get(parameter, f"--{parameter.replace('_', '-')}")


def _apart(one: str, other: str) -> UsageError:
    return UsageError(f"{one} and {other} cannot go together", f"Leave out {one} or {other}.")
