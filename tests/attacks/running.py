"""Python and azent as programs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def python(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A run of Python with further environment variables, stopped after a minute."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT), **more},
        check=False,
    )


def command(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A run of `azent` with further environment variables."""
    return python("-m", "azent", *arguments, **more)
