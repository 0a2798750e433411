"""Settings of the command line, each with where it came from.

Looked for in this order, what comes later wins: `azent.toml` in the project, `config.toml` in the
user's folder, environment variables (`AZENT_MODEL`, ...), options. A project's file may come from
anyone, so it may not name tools or servers, and may not lift approval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azent import settings
from azent.errors import SettingsError
from azent.files import read_text, read_toml
from azent.wording import counted, reason_of

PROJECT_FILE = Path("azent.toml")
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """What can be set: its type and default, and the least value that makes sense.

    `project` is whether a project's file may set it, `secret` whether it is never shown.
    """

    kind: type
    default: Any = None
    project: bool = True
    secret: bool = False
    least: float | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and the place that it came from."""

    value: Any
    source: str = DEFAULT


SETTINGS: dict[str, Setting] = {
    "model": Setting(str),
    "host": Setting(str, project=False),
    "api_key": Setting(str, project=False, secret=True),
    "profiles": Setting(str, project=False, secret=True),
    "profile": Setting(list, project=False),
    "encoder": Setting(str, "auto", project=False),
    "prompts": Setting(str),
    "system": Setting(str, ""),
    "tools": Setting(list, project=False),
    "yes": Setting(bool, False, project=False),
    "choice": Setting(str, "auto"),
    "rounds": Setting(int, 8, least=1),
    "timeout": Setting(float, least=0.1),
    "num_ctx": Setting(int, least=256),
    "keep_alive": Setting(str),
    "reply_cache": Setting(str, project=False),
    "replay": Setting(str, project=False),
}
LOGIN = re.compile(r"(?<=//)[^/@]*@|^[^/@]+@")  # a user and a password in an address
YES_OR_NO = {**dict.fromkeys(settings.NO, False), **dict.fromkeys(settings.YES, True)}
REMOTE = ("openai:", "gguf:", "://")  # addresses by which a model names a server or a file


def resolved(options: Mapping[str, Any] | None = None) -> dict[str, Value]:
    """Every setting with its value and source. Raises SettingsError that names file and setting.

    `options` are those of the command line; the ones that are None were not given.
    """
    values = {name: Value(setting.default) for name, setting in SETTINGS.items()}
    for source, given in _sources():
        for name, value in given.items():
            values[name] = Value(_checked(name, value, source), source)
    for name, value in (options or {}).items():
        if value is not None:
            values[name] = Value(value, "option")
    return values


def used_project_file() -> Path | None:
    """The project's file, if there is one, to be named to the user."""
    return PROJECT_FILE if PROJECT_FILE.is_file() else None


def masked(name: str, value: Any) -> str:
    """A value as it may be shown: secrets by their length alone, addresses without a password."""
    if value is None or value == "":
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if SETTINGS[name].secret and not _is_path(name, text):
        return f"({counted(len(text), 'character')})"
    return LOGIN.sub("***@", text)


def _is_path(name: str, text: str) -> bool:
    """Do the profiles stand in a file? Else they are JSON, keys and all."""
    return name == "profiles" and text.lstrip()[:1] not in ("[", "{")


def _sources() -> Iterator[tuple[str, dict[str, Any]]]:
    yield str(PROJECT_FILE), _of_project(_from_file(PROJECT_FILE))
    user_file = settings.user_folder() / "config.toml"
    yield str(user_file), _from_file(user_file)
    for name, text in settings.environment(SETTINGS).items():
        yield f"AZENT_{name.upper()}", {name: _from_text(name, text)}


def _from_file(file: Path) -> dict[str, Any]:
    try:
        return read_toml(read_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        hint = "Mend it, or put it away: settings are lines such as rounds = 4."
        raise SettingsError(f"{file} cannot be used: {reason_of(error)}", hint) from error


def _of_project(given: dict[str, Any]) -> dict[str, Any]:
    """A project's settings, without any that would hand over more than looks."""
    for name, value in given.items():
        names_server = name == "model" and _names_server(str(value))
        if names_server or (name in SETTINGS and not SETTINGS[name].project):
            hint = f"Put it into {settings.user_folder() / 'config.toml'}, or give it as an option."
            raise SettingsError(f"{PROJECT_FILE} may not set {name} = {value!r}", hint)
    return given


def _names_server(model: str) -> bool:
    """Return whether an address is of anything else than a model of the Ollama server in use."""
    from importlib.metadata import entry_points

    is_adapter = model.partition(":")[0] in entry_points(group=settings.ADAPTERS).names
    return is_adapter or any(mark in model for mark in REMOTE)


def _from_text(name: str, text: str) -> Any:
    """The value that an environment variable's text stands for."""
    kind = SETTINGS[name].kind
    if kind is list:
        return [part for part in text.split(",") if part]
    try:
        return YES_OR_NO[text.strip().lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        variable = f"AZENT_{name.upper()}"
        raise SettingsError(f"{variable} is {text!r}, not {_words(kind)}") from error


def _checked(name: str, value: Any, source: str) -> Any:
    if name not in SETTINGS:
        raise SettingsError(f"{source}: there is no setting {name!r}", f"Settings: {_names()}.")
    kind, least = SETTINGS[name].kind, SETTINGS[name].least
    if kind is float and type(value) is int:
        value = float(value)
    if not _is_of(kind, value):
        raise SettingsError(f"{source}: {name} is {value!r}, not {_words(kind)}")
    if least is not None and not least <= value < math.inf:
        raise SettingsError(f"{source}: {name} is {value!r}, which must be at least {least:g}")
    return value


def _is_of(kind: type, value: Any) -> bool:
    """Is a value exactly of a type? True is no whole number, and lists hold texts."""
    if kind is list:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return type(value) is kind


def _words(kind: type) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        list: "a list of texts",
    }
    return names.get(kind, "text")


def _names() -> str:
    return ", ".join(SETTINGS)
