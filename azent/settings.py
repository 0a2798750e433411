"""Where settings and folders come from: the only reader of the environment.

Everything here is a function, so nothing is read on import and a change is seen at the next call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from azent.errors import SettingsError

COMPLETING = "_AZENT_COMPLETE"  # set by the shells' scripts when they ask what could follow
OLLAMA_PORT = 11434
ADAPTERS = "azent.models"  # the group of entry points by which packages add kinds of models
YES = {"1", "yes", "on", "true"}
NO = {"", "0", "no", "off", "false"}


def cache_folder() -> Path:
    """The folder for what can be fetched again: $AZENT_CACHE, else the user's own cache."""
    import platformdirs

    named = os.environ.get("AZENT_CACHE")
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("azent", False))


def offline() -> bool:
    """Whether AZENT_OFFLINE forbids fetching anything."""
    return os.environ.get("AZENT_OFFLINE", "").strip().lower() not in NO


def server_token() -> str | None:
    """The token that AZENT_TOKEN says clients of the server must bear."""
    return os.environ.get("AZENT_TOKEN", "").strip() or None


def model_mirror() -> str | None:
    """The URL or folder that AZENT_MODEL_MIRROR names as a place to fetch model files from."""
    return os.environ.get("AZENT_MODEL_MIRROR") or None


def ollama_host(given: str | None = None) -> str:
    """The URL of the Ollama server: what was given, else OLLAMA_HOST, else the local default.

    A host without scheme or port works; 0.0.0.0, an address to listen on, means this machine.
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
    """The "user:password" in the address of the Ollama server, if there is one."""
    text = _ollama_address(given)
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.username is None:
        return None
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def _ollama_address(given: str | None) -> str:
    return (given or os.environ.get("OLLAMA_HOST") or "").strip().rstrip("/")


def is_loopback(url: str) -> bool:
    """Is the server of a URL on this machine?"""
    name = urlsplit(url).hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def api_key() -> str | None:
    """The key that AZENT_API_KEY has for servers that speak OpenAI's protocol."""
    return os.environ.get("AZENT_API_KEY", "").strip() or None


def prompt_folders() -> tuple[Path, ...]:
    """Where prompt sets are looked for, in order: here, the user's folder, azent's own."""
    return (Path("prompts"), user_folder() / "prompts", own_prompts())


def own_prompts() -> Path:
    """The sets that azent brings: in the package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    packed = package / "prompts"
    return packed if packed.is_dir() else package.parent / "prompts"


def user_folder() -> Path:
    """The folder of the user's own settings: AZENT_HOME, else where the system keeps such."""
    import platformdirs

    return Path(os.environ.get("AZENT_HOME") or platformdirs.user_config_dir("azent", False))


def environment(names: Iterable[str]) -> dict[str, str]:
    """What the environment sets of these, each as AZENT_ and its name in capitals."""
    texts = {name: os.environ.get(f"AZENT_{name.upper()}", "") for name in names}
    return {name: text for name, text in texts.items() if text}


def captures_content() -> bool:
    """Whether traces may hold what was asked and said, by OpenTelemetry's own variable for it."""
    wanted = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "")
    return wanted.strip().lower() not in {*NO, "no_content"}


def variable(name: str) -> str | None:
    """What an environment variable holds."""
    return os.environ.get(name)


def data_folder() -> Path:
    """The folder for what is kept for the user: AZENT_HOME, else where the system keeps such."""
    import platformdirs

    return Path(os.environ.get("AZENT_HOME") or platformdirs.user_data_dir("azent", False))
