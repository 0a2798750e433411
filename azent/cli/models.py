"""`azent models`: lists and fetches models of the server and those that azent runs by itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from azent.cli import agents, console, options
from azent.errors import AzentError, ModelUnreachable
from azent.wording import size_of

app = options.command_group("List and fetch models.")


@app.command("list", short_help="List models, and the set that suits each.")
def list_models(
    host: options.Host = None,
    as_json: options.AsJson = False,
) -> None:
    """List models: size, context, native tools or not, and the prompt set that suits each."""
    rows = [*_of_server(host), *_embedded()]
    agents.warn_of_broken_sets((row["name"].removeprefix("gguf:"), row["billions"]) for row in rows)
    if as_json:
        console.print_json(rows, indent=2)
        return
    headings = ("model", "size", "context", "native tools", "prompt set", "where")
    console.print_table(headings, [_cells(row) for row in rows])
    console.print_notice(_encoder_line(host))


@app.command("pull", short_help="Fetch a model.")
def pull_model(
    name: Annotated[str, typer.Argument(help="A model of Ollama's library, or gguf:NAME.")],
    host: options.Host = None,
) -> None:
    """Fetch a model: by the Ollama server, or (gguf:NAME) the file that azent runs by itself."""
    if name.startswith("gguf:"):
        options.reject_unused({"host": host}, "an Ollama server to ask", "name a model of Ollama's")
        from azent.models.weights import known

        console.print_text(str(agents.fetch_model(known(name.removeprefix("gguf:")))))
        return
    from azent.models.catalogue import pull

    with agents.download_bar() as progress:
        task = progress.add_task("pulling", total=None)
        for step in pull(name, host):
            progress.update(task, completed=step.done, total=step.total or None)
    console.print_notice(f"{name} is fetched")


def _encoder_line(host: str | None) -> str:
    """Say which encoder is in use, or how to get one."""
    from azent.config import resolved
    from azent.models.encoders import NONE, find_encoder, how_to_get_one

    setting = resolved()["encoder"].value
    try:
        encoder = find_encoder(setting, host or "")
    except AzentError as error:
        return f"{error} {error.hint}"
    if encoder is None:
        return "encoder: none" if setting == NONE else f"encoder: none. {how_to_get_one()}"
    return f"encoder: {encoder.name}"


def _cells(row: dict[str, Any]) -> list[str]:
    context, native = str(row["context"] or "?"), "yes" if row["native_tools"] else "no"
    return [row["name"], row["shown_size"], context, native, row["prompts"], row["where"]]


def _of_server(host: str | None) -> list[dict[str, Any]]:
    from azent import prompt
    from azent.models.catalogue import installed

    try:
        models = installed(host)
    except ModelUnreachable as error:
        console.print_notice(f"azent: {error}", error.hint)
        return []
    return [
        {
            **asdict(model),
            "shown_size": size_of(model.size),
            "prompts": prompt.load(None, model.name, model.billions).name,
            "where": "Ollama",
        }
        for model in models
    ]


def _embedded() -> list[dict[str, Any]]:
    """List the models that azent can run by itself, fetched or not."""
    from azent import prompt
    from azent.models.embedded import NUM_CTX
    from azent.models.weights import MODELS, path_of

    return [
        {
            "name": f"gguf:{name}",
            "size": file.size,
            "shown_size": size_of(file.size),
            "context": NUM_CTX,
            "native_tools": False,
            "billions": file.billions,
            "prompts": prompt.load(None, name, file.billions).name,
            "where": "fetched" if path_of(file).exists() else "fetched at first use",
        }
        for name, file in MODELS.items()
    ]
