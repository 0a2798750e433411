"""`azent config`: what is set, and where it comes from."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from azent.cli.polite import polite
from azent.cli.visible import visible

app = typer.Typer(help="Show settings and where they come from.", no_args_is_help=True)


@app.command("show")
@polite
def show_config(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each setting, its value, and where the value comes from; secrets are masked."""
    from azent.config import masked, resolved

    values = resolved()
    if as_json:
        rows = {n: {"value": masked(n, v.value), "source": v.source} for n, v in values.items()}
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for name, value in values.items():
        print(visible(f"{name:10}  {masked(name, value.value) or '-':24}  {value.source}"))
