"""Progress bars for what takes long."""

from __future__ import annotations

from pathlib import Path

from azent.models.fetch import MODELS, model_file, path_of


def fetch_model(name: str) -> Path:
    """The file of a model that azent knows by name, with a bar while it is being fetched."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    if name not in MODELS or path_of(MODELS[name]).exists():
        return model_file(name) if name in MODELS else Path(name)
    screen = Console(stderr=True)
    columns = ("fetching", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task(name, total=MODELS[name].size)
        return model_file(name, progress=lambda done, _: progress.update(task, completed=done))
