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
REPORT_EXAMPLE = "Example: abjudge report runs/first --json"


def command(
    prompts: Annotated[str, typer.Argument(help="A CSV or JSONL file with a column prompt, or - for standard input.")],
    prompt_column: Annotated[str, typer.Option(help="The column of the prompts.")] = "prompt",
    id_column: Annotated[str, typer.Option(help="The column of their names.")] = "id",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N prompts.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="N prompts drawn by the seed.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Ask and judge each prompt N times.")] = 1,
    order: Annotated[str, typer.Option(help="swap: both orders; balanced: one each, half and half.")] = "swap",
    panel: Annotated[bool, typer.Option("--panel", help="Every judge on every prompt, not in turns.")] = False,
    controls: Annotated[str, typer.Option(help="Mix in control pairs: null,placebo,degraded.")] = "",
    companion_judge: Annotated[str | None, typer.Option(help="A scaffold for a second judge beside the first.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Calls at once.")] = 32,
    cap: Annotated[list[str] | None, typer.Option(help="PROVIDER=N: calls at once for one provider.")] = None,
    budget: Annotated[float | None, typer.Option(help="US dollars that are never exceeded.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="With --resume: try failed pairs again.")
    ] = False,
    engine: Annotated[str, typer.Option(help="Where it runs: local.")] = "local",
    producer: options.Producer = None,
    judge: options.Judges = None,
    scaffold: options.Scaffolds = None,
    seed: options.Seed = None,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    timeout: options.Timeout = None,
    retries: Annotated[int | None, typer.Option(min=0, help="Tries again after faults of transport (3).")] = None,
    api_base: options.ApiBase = None,
    judge_api_base: options.JudgeApiBase = None,
    allow_same_family: options.AllowSameFamily = None,
    producer_family: options.ProducerFamily = None,
    judge_family: options.JudgeFamily = None,
    producer_system: options.ProducerSystem = None,
    scaffolded_system: options.ScaffoldedSystem = None,
    judge_system: options.JudgeSystem = None,
    out: options.Out = None,
    config: options.ConfigFile = None,
    json: options.Json = False,
    yes: options.Yes = False,
    debug: options.Debug = False,
) -> None:
    """Compare on every prompt of a table, and say how sure anyone may be."""
    comparison = {
        "producer": producer,
        "judges": tuple(judge or ()),
        "scaffolds": tuple(scaffold or ()),
        "api_base": api_base,
        "judge_api_base": judge_api_base,
        "seed": seed,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "timeout_s": timeout,
        "retries": retries,
        "allow_same_family": allow_same_family,
        "producer_family": producer_family,
        "judge_family": judge_family,
        "producer_system": producer_system,
        "scaffolded_system": scaffolded_system,
        "judge_system": judge_system,
        "companion_judge": companion_judge,
    }
    sweeping = {
        "repeat": repeat,
        "order": order,
        "panel": panel,
        "controls": _words(controls),
        "concurrency": concurrency,
        "caps": _caps(cap or []),
        "budget": budget,
        "limit": limit,
        "sample": sample,
        "prompt_column": prompt_column,
        "id_column": id_column,
        "resume": resume,
        "retry_errors": retry_errors,
        "engine": engine,
    }
    folder = out or _folder_for(prompts)
    go_on = f"What was done is in {folder}; go on with the same command, --out {folder} and --resume."
    carry_out(
        lambda: _sweep(prompts, comparison, sweeping, folder, config, json, yes), json=json, debug=debug, resume=go_on
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
        SweepChoices.of(**sweeping),
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
        typer.echo(f"results in {out / 'results.csv'} and {out / 'summary.json'}; check it with: abjudge verify {out}")
    if stopped is not None:
        say(f"RunStopped ({stopped.reason}): {stopped} The rest is left: go on with --out {out} --resume.")
        return 3
    return 3 if summary["trials"] and summary["errors"] == summary["trials"] else 0


async def _run(prepared: "Prepared") -> "RunStopped | None":
    """Carry the run out to its end; what stopped it before, if anything did."""
    from abjudge.domain.errors import RunStopped

    progress = Progress(prepared.left, prepared.sweep.governor.spent)
    async with prepared.sweep.bench:
        with prepared.ledger:
            try:
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


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _caps(given: list[str]) -> dict[str, Any]:
    return {provider: number for provider, _, number in (cap.partition("=") for cap in given)}


def _folder_for(prompts: str) -> Path:
    """A folder under runs/ that is not there yet, named after the table."""
    stem = "stdin" if prompts == "-" else Path(prompts).stem or "sweep"
    number = 1
    while (folder := Path("runs") / (stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return folder


def judge(
    pairs: Annotated[str, typer.Argument(help="A CSV or JSONL file: prompt, response_1, response_2, and id, human.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N pairs.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="N pairs drawn by the seed.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Judge each pair N times.")] = 1,
    order: Annotated[str, typer.Option(help="swap: both orders; balanced: one each, half and half.")] = "swap",
    panel: Annotated[bool, typer.Option("--panel", help="Every judge on every pair, not in turns.")] = False,
    controls: Annotated[str, typer.Option(help="Mix in control pairs: null,degraded.")] = "",
    companion_judge: Annotated[str | None, typer.Option(help="A scaffold for a second judge beside the first.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Calls at once.")] = 32,
    cap: Annotated[list[str] | None, typer.Option(help="PROVIDER=N: calls at once for one provider.")] = None,
    budget: Annotated[float | None, typer.Option(help="US dollars that are never exceeded.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="With --resume: try failed pairs again.")
    ] = False,
    judge: options.Judges = None,
    seed: options.Seed = None,
    timeout: options.Timeout = None,
    retries: Annotated[int | None, typer.Option(min=0, help="Tries again after faults of transport (3).")] = None,
    judge_api_base: options.JudgeApiBase = None,
    producer_family: Annotated[str | None, typer.Option(help="Family of the model that wrote the responses.")] = None,
    judge_family: options.JudgeFamily = None,
    allow_same_family: options.AllowSameFamily = None,
    judge_system: options.JudgeSystem = None,
    out: options.Out = None,
    config: options.ConfigFile = None,
    json: options.Json = False,
    yes: options.Yes = False,
    debug: options.Debug = False,
) -> None:
    """Judge responses that exist already, blind and in both orders; response 2 is the one under test."""
    comparison = {
        "given": True,
        "judges": tuple(judge or ()),
        "seed": seed,
        "timeout_s": timeout,
        "retries": retries,
        "judge_api_base": judge_api_base,
        "producer_family": producer_family,
        "judge_family": judge_family,
        "allow_same_family": allow_same_family,
        "judge_system": judge_system,
        "companion_judge": companion_judge,
    }
    sweeping = {
        "repeat": repeat,
        "order": order,
        "panel": panel,
        "controls": _words(controls),
        "concurrency": concurrency,
        "caps": _caps(cap or []),
        "budget": budget,
        "limit": limit,
        "sample": sample,
        "resume": resume,
        "retry_errors": retry_errors,
    }
    folder = out or _folder_for(pairs)
    go_on = f"What was done is in {folder}; go on with the same command, --out {folder} and --resume."
    carry_out(
        lambda: _sweep(pairs, comparison, sweeping, folder, config, json, yes), json=json, debug=debug, resume=go_on
    )


def report(run: options.RunFolder, json: options.Json = False, debug: options.Debug = False) -> None:
    """Rebuild the reports of a run from its ledger, without a call."""
    carry_out(lambda: _report(run, json), json=json, debug=debug)


async def _report(run: Path, json: bool) -> int:
    from abjudge.reports.documents import to_json
    from abjudge.reports.run import render_run
    from abjudge.wiring import write_reports

    summary = write_reports(run)
    if json:
        emit(to_json(summary))
    else:
        typer.echo(render_run(summary))
    return 0
