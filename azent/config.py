"""Find settings and folders, each with where it came from. Nothing is read on import.

They are read in this order, and later ones win: `azent.toml` in the project, `config.toml` in the
user's folder, environment variables (`AZENT_MODEL`, ...), options. A project's file may come from
anyone, so it may not name tools or servers, and may not switch approval off.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from azent.errors import SettingsError, counted, reason_of
from azent.values.files import read_text, read_toml

# ---- the environment and the folders -------------------------------------------------------------

COMPLETING = "_AZENT_COMPLETE"  # set by the shells' scripts when they ask what could follow
OLLAMA_PORT = 11434
ADAPTERS = "azent.models"  # the group of entry points by which packages add kinds of models
YES = {"1", "yes", "on", "true"}
NO = {"", "0", "no", "off", "false"}


def cache_folder() -> Path:
    """Return the folder for files that can be fetched again: $AZENT_CACHE or the default."""
    import platformdirs

    named = os.environ.get("AZENT_CACHE")
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("azent", False))


def offline() -> bool:
    """Return whether AZENT_OFFLINE forbids all downloads."""
    return os.environ.get("AZENT_OFFLINE", "").strip().lower() not in NO


def server_token() -> str | None:
    """Return the token that clients of the server must send (AZENT_TOKEN), or None."""
    return os.environ.get("AZENT_TOKEN", "").strip() or None


def model_mirror() -> str | None:
    """Return the URL or folder that model files are fetched from (AZENT_MODEL_MIRROR)."""
    return os.environ.get("AZENT_MODEL_MIRROR") or None


def ollama_host(given: str | None = None) -> str:
    """Return the URL of the Ollama server: `given`, else OLLAMA_HOST, else the default.

    The scheme and the port may be missing; 0.0.0.0, an address to listen on, means this machine.
    """
    text = _ollama_address(given)
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError as error:
        shown = text.rpartition("@")[2]  # never a password
        hint = "An address is such as http://127.0.0.1:11434, in --host or OLLAMA_HOST."
        raise SettingsError(f"{shown!r} is not an address of a server: {error}", hint) from None
    host = parts.hostname or "127.0.0.1"
    host = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    default = OLLAMA_PORT if "://" not in text else {"https": 443}.get(parts.scheme, 80)
    where = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{where}:{port or default}{parts.path}"


def ollama_login(given: str | None = None) -> str | None:
    """Return "user:password" from the address of the Ollama server, or None."""
    text = _ollama_address(given)
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.username is None:
        return None
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def _ollama_address(given: str | None) -> str:
    return (given or os.environ.get("OLLAMA_HOST") or "").strip().rstrip("/")


def is_loopback(url: str) -> bool:
    """Return whether the server of a URL is on this machine."""
    name = urlsplit(url).hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def api_key() -> str | None:
    """Return the key for servers that speak OpenAI's protocol (AZENT_API_KEY), or None."""
    return os.environ.get("AZENT_API_KEY", "").strip() or None


def prompt_folders() -> tuple[Path, ...]:
    """Return the folders of prompt sets, in the order in which they are searched."""
    return (Path("prompts"), user_folder() / "prompts", own_prompts())


def own_prompts() -> Path:
    """Return the folder of azent's own prompt sets: in the package, or in a checkout."""
    package = Path(__file__).resolve().parent
    packed = package / "prompts"
    return packed if packed.is_dir() else package.parent / "prompts"


def user_folder() -> Path:
    """Return the folder of the user's settings: AZENT_HOME, or the system's default."""
    import platformdirs

    return Path(os.environ.get("AZENT_HOME") or platformdirs.user_config_dir("azent", False))


def environment(names: Iterable[str]) -> dict[str, str]:
    """Return the settings of these names that environment variables (AZENT_NAME) set."""
    texts = {name: os.environ.get(f"AZENT_{name.upper()}", "") for name in names}
    return {name: text for name, text in texts.items() if text}


def captures_content() -> bool:
    """Return whether OpenTelemetry's own variable lets traces contain messages."""
    wanted = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "")
    return wanted.strip().lower() not in {*NO, "no_content"}


def variable(name: str) -> str | None:
    """Return the value of an environment variable, or None."""
    return os.environ.get(name)


def data_folder() -> Path:
    """Return the folder for the user's data: AZENT_HOME, or the system's default."""
    import platformdirs

    return Path(os.environ.get("AZENT_HOME") or platformdirs.user_data_dir("azent", False))


# ---- settings of the command line, each with the place that it came from -------------------------

PROJECT_FILE = Path("azent.toml")
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """The definition of a setting: its type, its default and its least value.

    `project` says whether a project's file may set it, `secret` whether it is never shown.
    """

    kind: type
    default: Any = None
    project: bool = True
    secret: bool = False
    least: float | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a setting, and the place that it came from."""

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
YES_OR_NO = {**dict.fromkeys(NO, False), **dict.fromkeys(YES, True)}
REMOTE = ("openai:", "gguf:", "://")  # addresses by which a model names a server or a file


def resolved(options: Mapping[str, Any] | None = None) -> dict[str, Value]:
    """Return every setting with its value and source.

    `options` are those of the command line; None means that an option was not given. Raises
    SettingsError that names the file and the setting.
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
    """Return the path of the project's file, None if there is none."""
    return PROJECT_FILE if PROJECT_FILE.is_file() else None


def masked(name: str, value: Any) -> str:
    """Return a setting's value as text for display, without secrets and passwords."""
    if value is None or value == "":
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if SETTINGS[name].secret and not _is_path(name, text):
        return f"({counted(len(text), 'character')})"
    return LOGIN.sub("***@", text)


def _is_path(name: str, text: str) -> bool:
    """Return whether the profiles are a file's path, not JSON with its keys."""
    return name == "profiles" and text.lstrip()[:1] not in ("[", "{")


def _sources() -> Iterator[tuple[str, dict[str, Any]]]:
    yield str(PROJECT_FILE), _of_project(_from_file(PROJECT_FILE))
    user_file = user_folder() / "config.toml"
    yield str(user_file), _from_file(user_file)
    for name, text in environment(SETTINGS).items():
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
    """Return a project's settings. Raises SettingsError for one that it may not set."""
    for name, value in given.items():
        names_server = name == "model" and _names_server(str(value))
        if names_server or (name in SETTINGS and not SETTINGS[name].project):
            hint = f"Put it into {user_folder() / 'config.toml'}, or give it as an option."
            raise SettingsError(f"{PROJECT_FILE} may not set {name} = {value!r}", hint)
    return given


def _names_server(model: str) -> bool:
    """Return whether an address leads elsewhere than to the Ollama server in use."""
    from importlib.metadata import entry_points

    is_adapter = model.partition(":")[0] in entry_points(group=ADAPTERS).names
    return is_adapter or any(mark in model for mark in REMOTE)


def _from_text(name: str, text: str) -> Any:
    """Parse the text of an environment variable into the value of a setting."""
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
    """Return whether a value is exactly of a type: True is no int, and lists hold texts."""
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
