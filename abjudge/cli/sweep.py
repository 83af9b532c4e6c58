"""`abjudge sweep`: a table of prompts, one run that can be stopped and resumed; `abjudge report`: its reports again."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abjudge.cli import options
from abjudge.cli.ending import agreed, carry_out, emit, say
from abjudge.cli.progress import Progress

if TYPE_CHECKING:
    from abjudge.domain.errors import RunStopped
    from abjudge.wiring import Cost, Prepared

EXAMPLE = (
    "Example: abjudge sweep prompts.csv --producer openai/gpt-4o-mini --judge gemini/gemini-2.5-flash "
    "--scaffold file:procedure.md --budget 5 --out runs/first"
)
JUDGE_EXAMPLE = "Example: abjudge judge pairs.csv --judge gemini/gemini-2.5-flash --out runs/pairs"


COMPANION: options.Group = {
    "companion_judge": (
        "companion_judge",
        Annotated[str | None, typer.Option(help="A scaffold for a second judge beside the first, in no figure.")],
        None,
    )
}


@options.takes(chosen=options.PRODUCER | options.EVALUATOR | COMPANION, plan=options.MANY)
def command(
    chosen: dict[str, Any],
    plan: dict[str, Any],
    prompts: Annotated[str, typer.Argument(help="A CSV or JSONL file with a column prompt, or - for standard input.")],
    out: options.Out = None,
    config: options.ConfigFile = None,
    json: options.Json = False,
    yes: options.Yes = False,
    debug: options.Debug = False,
) -> None:
    """Compare on every prompt of a table, and say how sure anyone may be."""
    _carry_out(prompts, chosen, plan, out, config, json, yes, debug)


@options.takes(chosen=options.EVALUATOR | COMPANION, plan=options.MANY)
def judge(
    chosen: dict[str, Any],
    plan: dict[str, Any],
    pairs: Annotated[str, typer.Argument(help="A CSV or JSONL file: prompt, response_1, response_2, and id, human.")],
    out: options.Out = None,
    config: options.ConfigFile = None,
    json: options.Json = False,
    yes: options.Yes = False,
    debug: options.Debug = False,
) -> None:
    """Judge responses that exist already, blind and in both orders; response 2 is the one under test."""
    _carry_out(pairs, {**chosen, "given": True}, plan, out, config, json, yes, debug)


def _carry_out(
    table: str,
    chosen: dict[str, Any],
    plan: dict[str, Any],
    out: Path | None,
    config: Path | None,
    json: bool,
    yes: bool,
    debug: bool,
) -> None:
    folder = out or _folder_for(table)
    words = tuple(word.strip() for word in plan["controls"].split(",") if word.strip())
    caps = {provider: number for provider, _, number in (cap.partition("=") for cap in plan["caps"] or ())}
    carry_out(
        lambda: _sweep(table, chosen, {**plan, "controls": words, "caps": caps}, folder, config, json, yes),
        json=json,
        debug=debug,
        resume=f"What was done is in {folder}; go on with the same command, --out {folder} and --resume.",
    )


async def _sweep(
    prompts: str,
    comparison: dict[str, Any],
    sweeping: dict[str, Any],
    out: Path,
    config: Path | None,
    json: bool,
    yes: bool,
) -> int:
    from abjudge.reports.documents import to_json
    from abjudge.reports.run import render_run
    from abjudge.wiring import Choices, SweepChoices, prepare_sweep, read_config, write_reports

    settings, path = read_config(config)
    if path is not None:
        say(f"settings from {path}")
    prepared = await prepare_sweep(
        prompts,
        Choices.of(**comparison),
        SweepChoices.of(**_one_order(sweeping)),
        out=out,
        environ=os.environ,
        config=settings,
        say=say,
        consent=lambda q: yes or agreed(f"{q} Fetch it now?"),
        approve=lambda n, cost: _approve(n, cost, yes),
    )
    say(f"run in {out}, seed {prepared.sweep.bench.seed}, {prepared.left} prompts to do")
    stopped = await _run(prepared)
    summary = write_reports(out)
    if json:
        emit(to_json(summary))
    else:
        typer.echo(render_run(summary))
        typer.echo(f"results.csv, summary.json and report.html are in {out}; check it with: abjudge verify {out}")
    if stopped is not None:
        say(f"RunStopped ({stopped.reason}): {stopped} The rest is left: go on with --out {out} --resume.")
    if summary["errors"]:
        say(f"{summary['errors']} pairs failed; they are tried again with --out {out} --resume --retry-errors.")
    # A run of which more than half could not be judged was not carried out, whatever the rest of it says.
    return 3 if stopped is not None or 2 * summary["errors"] > summary["trials"] else 0


async def _run(prepared: "Prepared") -> "RunStopped | None":
    """Carry the run out to its end; what stopped it before, if anything did."""
    from abjudge.domain.errors import RunStopped

    progress = Progress(prepared.left, prepared.sweep.governor.spent)
    try:
        async with prepared.sweep.bench:
            with prepared.ledger:
                async for outcome in prepared.sweep.run(prepared.places()):
                    progress.take(outcome)
    except RunStopped as stop:
        return stop
    finally:
        progress.close()
    return None


def _approve(prompts: int, cost: "Cost", yes: bool) -> bool:
    """Say what will be done; above 500 paid calls a person at a terminal is asked."""
    from abjudge import measure
    from abjudge.wiring import ASK_ABOVE

    dollars = "cost unknown (a price is not listed)" if cost.at_most is None else f"at most about ${cost.at_most:.2f}"
    say(f"plan: {prompts} prompts, {cost.calls} calls, {cost.paid_calls} of them paid, {dollars}")
    say(measure.smallest_visible_effect(prompts).sentence)
    if cost.paid_calls <= ASK_ABOVE or yes or not sys.stdin.isatty():
        return True
    return agreed(f"Make {cost.paid_calls} paid calls?")


def _one_order(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with its order said once: `--both-orders` and `--one-order` are other words for `--order`."""
    from abjudge.domain.errors import InputError

    both = plan.pop("both_orders")
    word = None if both is None else "swap" if both else "balanced"
    if word and plan["order"] not in (None, word):
        raise InputError("bad_choice", None, f"--order {plan['order']} and its other name say different things.")
    return {**plan, "order": plan["order"] or word}


def _folder_for(prompts: str) -> Path:
    """A folder under runs/ that is not there yet, named after the table."""
    stem = "stdin" if prompts == "-" else Path(prompts).stem or "sweep"
    number = 1
    while (folder := Path("runs") / (stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return folder
