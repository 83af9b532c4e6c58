"""`abjudge models`: which models could be used, and fetching the small ones."""

import os
from pathlib import Path
from typing import Annotated

import typer

from abjudge.cli import options
from abjudge.cli.ending import agreed, carry_out, emit, say
from abjudge.domain.display import printable

app = typer.Typer(
    help="Which models are there, and fetching the small embedded ones.",
    epilog="Example: abjudge models fetch smollm2-135m --yes",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def default(context: typer.Context, json: options.Json = False, debug: options.Debug = False) -> None:
    """List the models that are there, in the order in which they are taken when none is named."""
    if context.invoked_subcommand is None:
        carry_out(lambda: _list(json), json=json, debug=debug)


@app.command("list", epilog="Example: abjudge models list --json")
def list_(json: options.Json = False, debug: options.Debug = False) -> None:
    """List the models that are there, in the order in which they are taken when none is named."""
    carry_out(lambda: _list(json), json=json, debug=debug)


@app.command("fetch", epilog="Example: abjudge models fetch gemma3-270m --yes")
def fetch(
    name: Annotated[str, typer.Argument(help="An embedded model's name, such as smollm2-135m.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Agree to the licence and fetch without asking.")] = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fetch an embedded model into the cache, once; after that it works offline."""
    carry_out(lambda: _fetch(name, yes, json), json=json, debug=debug)


async def _list(json: bool) -> int:
    from abjudge.reports.documents import to_json
    from abjudge.wiring import ModelStore, discover, read_config

    settings, _ = read_config(None)
    found = await discover({**settings.keys, **os.environ}, ModelStore(), settings.families)
    if json:
        emit(to_json({"models": [model.model_dump(mode="json") for model in found]}))
        return 0
    for model in found:
        family = f"{model.lineage.family} ({', '.join(model.lineage.owners)})" if model.lineage else "family unknown"
        typer.echo(printable(f"{model.model:<32} {family:<28} {model.why}"))
    return 0


async def _fetch(name: str, yes: bool, json: bool) -> int:
    from abjudge.reports.documents import to_json
    from abjudge.wiring import fetch_model

    path: Path = fetch_model(
        name.removeprefix("embedded/"), consent=lambda q: yes or agreed(f"{q} Fetch it now?"), say=say, check=True
    )
    if json:
        emit(to_json({"model": f"embedded/{name.removeprefix('embedded/')}", "path": str(path)}))
    else:
        typer.echo(f"embedded/{name.removeprefix('embedded/')} is ready.")
    return 0
