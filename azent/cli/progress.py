"""Progress bars for what takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from azent.cli.region import is_live
from azent.models.catalogue import Pulling
from azent.models.fetch import MODELS, model_file, path_of

if TYPE_CHECKING:
    from rich.progress import Progress


def fetch_model(name: str) -> Path:
    """The file of a model that azent knows by name, with a bar while it is being fetched."""
    if name not in MODELS:
        return Path(name)
    if path_of(MODELS[name]).exists():
        return model_file(name)
    with _bar() as progress:
        task = progress.add_task("fetching", total=MODELS[name].size)
        return model_file(name, progress=lambda done, _: progress.update(task, completed=done))


def show_pull(steps: Iterable[Pulling]) -> None:
    """A bar for what a server fetches."""
    with _bar() as progress:
        task = progress.add_task("pulling", total=None)
        for step in steps:
            progress.update(task, completed=step.done, total=step.total or None)


def _bar() -> Progress:
    """A bar in bytes on standard error, gone when it is done; in a pipe there is none."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    hidden = not is_live(sys.stderr)
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden)
