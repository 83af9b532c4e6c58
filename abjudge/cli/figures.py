"""`abjudge report`, `analyze` and `power`: what figures say, without a call."""

from pathlib import Path
from typing import Annotated

import typer

from abjudge.cli import options
from abjudge.cli.ending import carry_out, emit, say

REPORT_EXAMPLE = "Example: abjudge report runs/first --json"
ANALYZE_EXAMPLE = "Example: abjudge analyze votes.csv --json"
POWER_EXAMPLE = "Example: abjudge power --effect 0.6"

Source = Annotated[Path, typer.Argument(help="A run folder, or a CSV of votes: case_id, verdict, order, judge, human.")]


def report(run: options.RunFolder, json: options.Json = False, debug: options.Debug = False) -> None:
    """Rebuild the reports of a run from its ledger, without a call."""
    carry_out(lambda: _report(run, json), json=json, debug=debug)


async def _report(run: Path, json: bool) -> int:
    from abjudge.reports.documents import to_json
    from abjudge.reports.run import render_run
    from abjudge.wiring import doubts_of, write_reports

    for doubt in doubts_of(run):
        say(f"warning: {doubt} Look at it with: abjudge verify {run}")
    summary = write_reports(run)
    if json:
        emit(to_json(summary))
    else:
        typer.echo(render_run(summary))
    return 0


def analyze(
    source: Annotated[
        Path, typer.Argument(help="A run folder, or a CSV of votes: case_id, verdict, order, judge, human.")
    ],
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say what a run, or votes that came from elsewhere, show and how sure anyone may be; nothing is written."""
    carry_out(lambda: _analyze(source, json), json=json, debug=debug)


async def _analyze(source: Path, json: bool) -> int:
    from abjudge.reports.documents import to_json
    from abjudge.reports.run import render_run
    from abjudge.wiring import analyse

    summary = analyse(source)
    if json:
        emit(to_json(summary))
    else:
        typer.echo(render_run(summary))
    return 0


def power(
    n: Annotated[int | None, typer.Option(min=1, help="Prompts: what would they show?")] = None,
    effect: Annotated[float | None, typer.Option(help="A win rate: how many prompts show it?")] = None,
    ties: Annotated[float, typer.Option(min=0, max=1, help="The share of ties.")] = 0.3,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """How many prompts a win rate needs, and which win rates so many prompts show (both orders, power 80 %)."""
    carry_out(lambda: _power(n, effect, ties, json), json=json, debug=debug)


async def _power(n: int | None, effect: float | None, ties: float, json: bool) -> int:
    from abjudge import measure
    from abjudge.domain.errors import InputError
    from abjudge.reports.documents import to_json

    if n is None and effect is None:
        raise InputError("bad_choice", None, "Give --n PROMPTS or --effect WIN_RATE, or both.")
    visible = None if n is None else measure.smallest_visible_effect(n, tie_share=ties)
    try:
        needed = (
            None
            if effect is None
            else measure.sample_size(win_rate=effect, tie_share=ties, calls_per_prompt=2, intra_prompt_corr=0.5)
        )
    except ValueError as error:
        raise InputError("bad_choice", None, f"--effect {effect}: {error}.") from error
    if json:
        parts = {"visible": visible, "needed": needed}
        emit(to_json({name: part.model_dump(mode="json") if part else None for name, part in parts.items()}))
        return 0
    if visible is not None:
        typer.echo(visible.sentence)
    if needed is not None and effect is not None:
        typer.echo(f"A win rate of {effect:.1%} needs {needed.n} prompts to show with a power of 80 %.")
    return 0
