"""`azent config`: what is set, and where it comes from."""

from __future__ import annotations

from typing import Any

import typer

from azent.cli import options
from azent.cli.polite import polite
from azent.cli.printed import print_json
from azent.cli.table import print_table

app = typer.Typer(
    help="Show settings and where they come from.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("show", short_help="Show each setting and its source.")
@polite
def show_config(as_json: options.AsJson = False) -> None:
    """Show each setting, its value, and where the value comes from; secrets are masked."""
    from azent.config import masked, resolved

    values = resolved()
    if as_json:
        rows = {n: {"value": _plain(n, v.value), "source": v.source} for n, v in values.items()}
        print_json(rows, indent=2)
        return
    lines = [(name, masked(name, v.value) or "-", v.source) for name, v in values.items()]
    print_table(("setting", "value", "from"), lines)


def _plain(name: str, value: Any) -> Any:
    """A value for programs: numbers, truths and nothing are what they are, texts are masked."""
    from azent.config import masked

    if isinstance(value, list):
        return [masked(name, each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else masked(name, value)
