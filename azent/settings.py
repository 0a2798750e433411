"""Where settings and folders come from: the only reader of the environment.

Everything here is a function, so nothing is read on import and a change is seen at the next call.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder for what can be fetched again: $AZENT_CACHE, else the user's own cache."""
    import platformdirs

    named = os.environ.get("AZENT_CACHE")
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("azent", False))


def offline() -> bool:
    """Whether AZENT_OFFLINE forbids fetching anything."""
    return os.environ.get("AZENT_OFFLINE", "").strip().lower() not in _NO


def model_mirror() -> str | None:
    """The URL or folder that AZENT_MODEL_MIRROR names as a place to fetch model files from."""
    return os.environ.get("AZENT_MODEL_MIRROR") or None


_NO = {"", "0", "no", "off", "false"}
